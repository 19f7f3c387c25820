"""A function for each command that reports. Made by make_functions.py from what `cleave COMMAND --help` prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union

from .calls import Model, Number, Option, Path, Paths, listed, models_of, named, run
from .page import with_page
from .program import library

if TYPE_CHECKING:
    from .results.advice import Advice
    from .results.check import Check
    from .results.diff import Diff
    from .results.explain import Explain
    from .results.inspect import Inspect
    from .results.lint import Lint
    from .results.lowering import Lowering
    from .results.reduction import Reduction
    from .results.report import Report
    from .results.stages import Stages
    from .results.support_report import SupportReport


def preview(
    model: Model,
    support: Paths,
    *,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    state: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    deny: Option = None,
    verdicts: Option = None,
    combine: Literal["any", "all"] | None = None,
    as_: Literal["model", "onnxruntime"] | None = None,
    min_acc_module_size: Option = None,
    skip_fusion: bool = False,
    allow_non_tensor: bool = False,
    move_non_tensor: bool = False,
    keep_qdq: bool = False,
    host_shapes: bool = False,
    place: Literal["priority", "order", "cost", "energy"] | None = None,
    min_gain: Option = None,
    residency: Literal["off", "on"] | None = None,
    start: Literal["reference", "cpu", "acc", "fewest"] | None = None,
    pack: Literal["early", "bytes"] | None = None,
    keep_acc_subgraphs: Option = None,
    keep_by: Literal["flops", "time", "nodes", "latency"] | None = None,
    extend: Option = None,
    prefix: Option = None,
    non_acc_prefix: Option = None,
    require: Option = None,
    keep_original_order: bool = False,
    phase: Option = None,
    tokens: Option = None,
    target: Option = None,
    pcie_bw: Option = None,
    link: Option = None,
    overlap: bool = False,
    costs: Option = None,
    force: bool = False,
    html: Path | None = None,
    viewer: Option = None,
    config: Path | None = None,
) -> Report:
    """How the model would be split by one or more support lists.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    state: the output OUT of one step is the input IN of the next, e.g. past.*=present.*; repeatable; without it found
        by names; IN= never changes; off: no state
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: layout-time=20s: processor time for laying out drawings, which are made coarser or left out then; of the
        model's size nodes=5000 (cleave help limits); repeatable
    deny: keep an op or a node on the CPU, whatever the lists say: a name or a glob; repeatable
    verdicts: JSON or CSV that decides single nodes and overrides all rules: node, true or false, why; repeatable
    combine: a node must be accepted by any of several lists, or by all of them; without it by any, and check takes each
        list alone
    as_: judge the nodes of the model, or the graph that ONNX Runtime makes of it before it asks a provider; without it
        as each list says
    min_acc_module_size: smaller accelerator subgraphs go to the CPU; auto: the size with the fastest inference [1]
    skip_fusion: let nodes that exchange other data than tensors run apart: form no fusion groups of them
    allow_non_tensor: let non-tensor data cross between accelerator and CPU
    move_non_tensor: move nodes whose non-tensor data leaves an accelerator partition to the one partition that reads
        it, as FX's move_non_tensor_nodes_on_boundary
    keep_qdq: keep quantised operators whole: DequantizeLinear, operator, QuantizeLinear in one partition
    host_shapes: let shape computations follow the nodes that use them, whatever the support list says, so that a
        Reshape does not cut a partition
    place: put nodes on the accelerator wherever lists allow it (priority), on the first of several targets that takes
        them (order), for the fastest inference (cost), or its least energy (energy) [priority]
    min_gain: with --place cost or energy: move nodes to the CPU only if an inference takes at least this much less;
        auto: 3%, and 0% where all times are measured
    residency: whether the accelerator keeps values that it made or received until their last reader there has run [off]
    start: side to start on: reference, cpu, acc, or the one with the fewest subgraphs [reference]
    pack: where a node goes that fits in several accelerator subgraphs: in the first (early), or where the fewest bytes
        cross the link, with as many subgraphs (bytes) [early]
    keep_acc_subgraphs: keep at most this many accelerator subgraphs, the most valuable ones; or unlimited; or auto:
        those that make an inference faster [unlimited]
    keep_by: what makes a subgraph valuable: its FLOPs or its time on the CPU, less what the link takes; its nodes; or
        the time that an inference gains by it [flops]
    extend: extend accelerator subgraphs backwards: a subgraph's number or name, all, or auto (only where fewer bytes
        cross the link)
    prefix: what names of accelerator partitions begin with [_run_on_acc_]; of one of several targets npu=_npu_;
        repeatable
    non_acc_prefix: what names of CPU partitions begin with [_run_on_cpu_]
    require: node (a name or glob) or op that --place cost leaves on the accelerator, and that check wants there, or
        with npu: on that one of several targets; repeatable
    keep_original_order: with --map: call partitions in the order in which they first appear in the model
    phase: split the model at these sizes, on these targets, with others of --phase into one folder with its weights
        once: prompt:T=64,P=0,on=npu; repeatable (ONNX models)
    tokens: with --phase: for how many tokens the report says times [1024+128]
    target: numbers of a device, such as acc:launch=100us,flops=4TFLOP/s; or cpu:bandwidth=50GB/s (samples/README.md);
        repeatable
    pcie_bw: link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16; of stages: between devices
        without a link of their own
    link: a direct link between two of several targets, such as npu-gpu=16GB/s, or npu-gpu=shared where they share their
        memory; repeatable
    overlap: of several targets: also report the time in which their partitions run at the same time
    costs: times and shapes of a run: a profile of ONNX Runtime, OpenVINO or TensorRT, CSV node,time_us, or
        cleave.costs; of the CPU, or acc=FILE of the accelerator; repeatable
    force: replace files that exist, and a folder that cleave wrote
    html: also write the report as one page for a browser
    viewer: also write what a viewer shows beside the model: FILE.json an attachment for Netron, DIR node data for Model
        Explorer; repeatable
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    from .results.report import Report

    flags: dict[str, bool] = {"skip_fusion": skip_fusion, "allow_non_tensor": allow_non_tensor,
        "move_non_tensor": move_non_tensor, "keep_qdq": keep_qdq, "host_shapes": host_shapes,
        "keep_original_order": keep_original_order, "overlap": overlap, "force": force}
    options: dict[str, Option] = {"support": support, "dim": dim, "input_shape": input_shape, "set_input": set_input,
        "infer": infer, "fold": fold, "signature": signature, "state": state, "op_schemas": op_schemas, "limit": limit,
        "deny": deny, "verdicts": verdicts, "combine": combine, "as_": as_, "min_acc_module_size": min_acc_module_size,
        "place": place, "min_gain": min_gain, "residency": residency, "start": start, "pack": pack,
        "keep_acc_subgraphs": keep_acc_subgraphs, "keep_by": keep_by, "extend": extend, "prefix": prefix,
        "non_acc_prefix": non_acc_prefix, "require": require, "phase": phase, "tokens": tokens, "target": target,
        "pcie_bw": pcie_bw, "link": link, "costs": costs, "html": html, "viewer": viewer, "config": config}
    return with_page(Report.from_json(run("preview", [model], flags, options)), model, flags, options)


def split(
    model: Model,
    support: Paths,
    output: Path,
    *,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    state: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    deny: Option = None,
    verdicts: Option = None,
    combine: Literal["any", "all"] | None = None,
    as_: Literal["model", "onnxruntime"] | None = None,
    min_acc_module_size: Option = None,
    skip_fusion: bool = False,
    allow_non_tensor: bool = False,
    move_non_tensor: bool = False,
    keep_qdq: bool = False,
    host_shapes: bool = False,
    place: Literal["priority", "order", "cost", "energy"] | None = None,
    min_gain: Option = None,
    residency: Literal["off", "on"] | None = None,
    start: Literal["reference", "cpu", "acc", "fewest"] | None = None,
    pack: Literal["early", "bytes"] | None = None,
    keep_acc_subgraphs: Option = None,
    keep_by: Literal["flops", "time", "nodes", "latency"] | None = None,
    extend: Option = None,
    prefix: Option = None,
    non_acc_prefix: Option = None,
    require: Option = None,
    keep_original_order: bool = False,
    phase: Option = None,
    tokens: Option = None,
    pipeline: Option = None,
    target: Option = None,
    pcie_bw: Option = None,
    link: Option = None,
    overlap: bool = False,
    costs: Option = None,
    seed: Number | None = None,
    force: bool = False,
    html: Path | None = None,
    viewer: Option = None,
    drawings: Literal["none", "summary", "all"] | None = None,
    weights: Literal["external", "inline", "shared", "reference"] | None = None,
    annotate: bool = False,
    bundle: bool = False,
    lift_state: bool = False,
    opset: Number | None = None,
    capture: bool = False,
    inputs: Option = None,
    config: Path | None = None,
) -> Report:
    """Splits the model and writes the folder `output`; `force=True` replaces one that cleave wrote. Each partition of
    the result has its `file` in that folder.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    state: the output OUT of one step is the input IN of the next, e.g. past.*=present.*; repeatable; without it found
        by names; IN= never changes; off: no state
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: layout-time=20s: processor time for laying out drawings, which are made coarser or left out then; of the
        model's size nodes=5000 (cleave help limits); repeatable
    deny: keep an op or a node on the CPU, whatever the lists say: a name or a glob; repeatable
    verdicts: JSON or CSV that decides single nodes and overrides all rules: node, true or false, why; repeatable
    combine: a node must be accepted by any of several lists, or by all of them; without it by any, and check takes each
        list alone
    as_: judge the nodes of the model, or the graph that ONNX Runtime makes of it before it asks a provider; without it
        as each list says
    min_acc_module_size: smaller accelerator subgraphs go to the CPU; auto: the size with the fastest inference [1]
    skip_fusion: let nodes that exchange other data than tensors run apart: form no fusion groups of them
    allow_non_tensor: let non-tensor data cross between accelerator and CPU
    move_non_tensor: move nodes whose non-tensor data leaves an accelerator partition to the one partition that reads
        it, as FX's move_non_tensor_nodes_on_boundary
    keep_qdq: keep quantised operators whole: DequantizeLinear, operator, QuantizeLinear in one partition
    host_shapes: let shape computations follow the nodes that use them, whatever the support list says, so that a
        Reshape does not cut a partition
    place: put nodes on the accelerator wherever lists allow it (priority), on the first of several targets that takes
        them (order), for the fastest inference (cost), or its least energy (energy) [priority]
    min_gain: with --place cost or energy: move nodes to the CPU only if an inference takes at least this much less;
        auto: 3%, and 0% where all times are measured
    residency: whether the accelerator keeps values that it made or received until their last reader there has run [off]
    start: side to start on: reference, cpu, acc, or the one with the fewest subgraphs [reference]
    pack: where a node goes that fits in several accelerator subgraphs: in the first (early), or where the fewest bytes
        cross the link, with as many subgraphs (bytes) [early]
    keep_acc_subgraphs: keep at most this many accelerator subgraphs, the most valuable ones; or unlimited; or auto:
        those that make an inference faster [unlimited]
    keep_by: what makes a subgraph valuable: its FLOPs or its time on the CPU, less what the link takes; its nodes; or
        the time that an inference gains by it [flops]
    extend: extend accelerator subgraphs backwards: a subgraph's number or name, all, or auto (only where fewer bytes
        cross the link)
    prefix: what names of accelerator partitions begin with [_run_on_acc_]; of one of several targets npu=_npu_;
        repeatable
    non_acc_prefix: what names of CPU partitions begin with [_run_on_cpu_]
    require: node (a name or glob) or op that --place cost leaves on the accelerator, and that check wants there, or
        with npu: on that one of several targets; repeatable
    keep_original_order: with --map: call partitions in the order in which they first appear in the model
    phase: split the model at these sizes, on these targets, with others of --phase into one folder with its weights
        once: prompt:T=64,P=0,on=npu; repeatable (ONNX models)
    tokens: with --phase: for how many tokens the report says times [1024+128]
    pipeline: also write genai_config.json: the phases as a decoder-pipeline of onnxruntime-genai, with its
        bos_token_id, eos_token_id, pad_token_id and context_length
    target: numbers of a device, such as acc:launch=100us,flops=4TFLOP/s; or cpu:bandwidth=50GB/s (samples/README.md);
        repeatable
    pcie_bw: link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16; of stages: between devices
        without a link of their own
    link: a direct link between two of several targets, such as npu-gpu=16GB/s, or npu-gpu=shared where they share their
        memory; repeatable
    overlap: of several targets: also report the time in which their partitions run at the same time
    costs: times and shapes of a run: a profile of ONNX Runtime, OpenVINO or TensorRT, CSV node,time_us, or
        cleave.costs; of the CPU, or acc=FILE of the accelerator; repeatable
    seed: seed of random numbers: of a search, or of inputs that are drawn
    force: replace files that exist, and a folder that cleave wrote
    html: also write the report as one page for a browser
    viewer: also write what a viewer shows beside the model: FILE.json an attachment for Netron, DIR node data for Model
        Explorer; repeatable
    drawings: which drawings to write: none, of the model and of the split only, or also of each partition; without it
        each of up to 200 partitions is drawn
    weights: where the root has its weights: external (in the partitions' files beside it; ONNX), inline (torch.export),
        shared (once, in weights.bin) or reference (in the model's files; DIR is its folder)
    annotate: also write annotated.onnx: the whole model, each node with its partition as layer_ann, by which ONNX
        Runtime can place it
    bundle: write all partitions into one file, which has their weights once: bundle.pt2 for torch.export models,
        bundle.tflite for TensorFlow Lite models
    lift_state: variables are inputs and outputs of the partitions, and the caller keeps them, also those that one
        partition alone uses (TensorFlow Lite models)
    opset: write the model, or parts and root.onnx, in this opset, by ONNX's version converter; needs Python with onnx
        (ONNX models)
    capture: also run the parts, in ONNX Runtime or torch, and write what each takes and makes, as test data in the
        folder captured; needs Python with the runtime and numpy
    inputs: inputs of the model: a .npz file or a folder of input_0.pb, ...; repeatable where compilers run; without it
        random, or those that a torch.export archive has
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    from .results.report import Report

    flags: dict[str, bool] = {"skip_fusion": skip_fusion, "allow_non_tensor": allow_non_tensor,
        "move_non_tensor": move_non_tensor, "keep_qdq": keep_qdq, "host_shapes": host_shapes,
        "keep_original_order": keep_original_order, "overlap": overlap, "force": force, "annotate": annotate,
        "bundle": bundle, "lift_state": lift_state, "capture": capture}
    options: dict[str, Option] = {"support": support, "output": output, "dim": dim, "input_shape": input_shape,
        "set_input": set_input, "infer": infer, "fold": fold, "signature": signature, "state": state,
        "op_schemas": op_schemas, "limit": limit, "deny": deny, "verdicts": verdicts, "combine": combine, "as_": as_,
        "min_acc_module_size": min_acc_module_size, "place": place, "min_gain": min_gain, "residency": residency,
        "start": start, "pack": pack, "keep_acc_subgraphs": keep_acc_subgraphs, "keep_by": keep_by, "extend": extend,
        "prefix": prefix, "non_acc_prefix": non_acc_prefix, "require": require, "phase": phase, "tokens": tokens,
        "pipeline": pipeline, "target": target, "pcie_bw": pcie_bw, "link": link, "costs": costs, "seed": seed,
        "html": html, "viewer": viewer, "drawings": drawings, "weights": weights, "opset": opset, "inputs": inputs,
        "config": config}
    return with_page(Report.from_json(run("split", [model], flags, options)), model, flags, options)


def stage(
    model: Model,
    stages: int | str | None = None,
    *,
    output: Path | None = None,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    state: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    support: Option = None,
    deny: Option = None,
    verdicts: Option = None,
    combine: Literal["any", "all"] | None = None,
    as_: Literal["model", "onnxruntime"] | None = None,
    map: Path | None = None,
    map_option: Option = None,
    split_at: Option = None,
    balance: Literal["time", "flops", "params", "bytes", "nodes", "params-greedy"] | None = None,
    cut_at: Literal["nodes", "scopes"] | None = None,
    shared_params: Option = None,
    relay: bool = False,
    device_map: Option = None,
    loss_output: Option = None,
    schedule: Option = None,
    target: Option = None,
    pcie_bw: Option = None,
    costs: Option = None,
    devices: Path | None = None,
    comm: Literal["serial", "overlap", "duplex", "none"] | None = None,
    memory: Option = None,
    target_latency: Option = None,
    effort: Literal["low", "normal", "high"] | None = None,
    seed: Number | None = None,
    force: bool = False,
    html: Path | None = None,
    weights: Literal["external", "inline", "shared", "reference"] | None = None,
    annotate: bool = False,
    bundle: bool = False,
    lift_state: bool = False,
    config: Path | None = None,
) -> Stages:
    """Cuts the model into the stages of a pipeline; with `output` it writes them to that folder.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    state: the output OUT of one step is the input IN of the next, e.g. past.*=present.*; repeatable; without it found
        by names; IN= never changes; off: no state
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: time=5min: of the search, whose result may then differ from run to run; layout-time=20s: of drawings; of the
        model's size nodes=5000 (cleave help limits); repeatable
    support: support list: JSON, plain text or ONNX Runtime config; repeatable: any list may accept a node (check takes
        each alone); with NAME=, of that target
    deny: keep an op or a node on the CPU, whatever the lists say: a name or a glob; repeatable
    verdicts: JSON or CSV that decides single nodes and overrides all rules: node, true or false, why; repeatable
    combine: a node must be accepted by any of several lists, or by all of them; without it by any, and check takes each
        list alone
    as_: judge the nodes of the model, or the graph that ONNX Runtime makes of it before it asks a provider; without it
        as each list says
    map: cut by a map instead: the partition or stage of each node, as JSON, CSV, TSV, or a folder that cleave wrote
    map_option: with --map: default=NAME, the stage of nodes that the map does not name
    split_at: end a stage before or after a module, layers.3=begin (of one call: layers.3=end@last), or a node,
        node:/Add_7=end; layers=each: each module directly inside is one; . is the model
    balance: what to balance over the stages: time, flops, params, bytes, nodes; or params-greedy, as FairScale cuts
        [time]
    cut_at: where balanced stages may end: at any node, or only where a block ends (model.layers.N of names) [nodes]
    shared_params: parameters that several stages use: replicate (default; each holds a copy) or transmit (the first
        holds it and passes it on); NAME=... for one of them; repeatable
    relay: pass values that skip stages through the stages in between
    device_map: devices of stages: 0=cuda:0,1=cuda:1
    loss_output: add the backward pass of this output: its name, or JSON of what the model returns with true at the loss
        (default: the output "loss")
    schedule: train in microbatches, such as 1f1b:microbatches=8,ranks=4,backward=2; or gpipe, interleaved, zero-bubble;
        -o writes schedule.csv, which torch's pipeline runtime loads
    target: numbers of a device, such as acc:launch=100us,flops=4TFLOP/s; or cpu:bandwidth=50GB/s (samples/README.md);
        repeatable
    pcie_bw: link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16; of stages: between devices
        without a link of their own
    costs: times and shapes of a run: a profile of ONNX Runtime, OpenVINO or TensorRT, CSV node,time_us, or
        cleave.costs; of the CPU, or acc=FILE of the accelerator; repeatable
    devices: the devices in the order of stages: CSV name,target,memory,speed,link
    comm: what transfers add to a stage's time: serial (compute + in + out), overlap (the longer of compute and in +
        out), duplex (the longest of the three), none [serial]
    memory: of a device, 24GiB: parameters, optimizer=4 times (Adam; else 1), and the peak of live activations; none:
        unlimited; params=1GiB: of parameters alone, in the fewest stages or N
    target_latency: use the fewest stages that each take at most this time, such as 5ms; when balancing something other
        than time, that each hold at most this number
    effort: how long to search, counted in moves [normal]
    seed: seed of random numbers: of a search, or of inputs that are drawn
    force: replace files that exist, and a folder that cleave wrote
    html: also write the report as one page for a browser
    weights: where the root has its weights: external (in the partitions' files beside it; ONNX), inline (torch.export),
        shared (once, in weights.bin) or reference (in the model's files; DIR is its folder)
    annotate: also write annotated.onnx: the whole model, each node with its partition as layer_ann, by which ONNX
        Runtime can place it
    bundle: write all partitions into one file, which has their weights once: bundle.pt2 for torch.export models,
        bundle.tflite for TensorFlow Lite models
    lift_state: variables are inputs and outputs of the partitions, and the caller keeps them, also those that one
        partition alone uses (TensorFlow Lite models)
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    from .results.stages import Stages

    flags: dict[str, bool] = {"relay": relay, "force": force, "annotate": annotate, "bundle": bundle,
        "lift_state": lift_state}
    options: dict[str, Option] = {"stages": stages, "output": output, "dim": dim, "input_shape": input_shape,
        "set_input": set_input, "infer": infer, "fold": fold, "signature": signature, "state": state,
        "op_schemas": op_schemas, "limit": limit, "support": support, "deny": deny, "verdicts": verdicts,
        "combine": combine, "as_": as_, "map": map, "map_option": map_option, "split_at": split_at, "balance": balance,
        "cut_at": cut_at, "shared_params": shared_params, "device_map": device_map, "loss_output": loss_output,
        "schedule": schedule, "target": target, "pcie_bw": pcie_bw, "costs": costs, "devices": devices, "comm": comm,
        "memory": memory, "target_latency": target_latency, "effort": effort, "seed": seed, "html": html,
        "weights": weights, "config": config}
    return Stages.from_json(run("stage", [model], flags, options))


def check(
    models: Paths,
    support: Paths,
    *,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    state: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    deny: Option = None,
    verdicts: Option = None,
    combine: Literal["any", "all"] | None = None,
    as_: Literal["model", "onnxruntime"] | None = None,
    min_acc_module_size: Option = None,
    skip_fusion: bool = False,
    allow_non_tensor: bool = False,
    move_non_tensor: bool = False,
    keep_qdq: bool = False,
    host_shapes: bool = False,
    place: Literal["priority", "order", "cost", "energy"] | None = None,
    min_gain: Option = None,
    residency: Literal["off", "on"] | None = None,
    start: Literal["reference", "cpu", "acc", "fewest"] | None = None,
    pack: Literal["early", "bytes"] | None = None,
    keep_acc_subgraphs: Option = None,
    keep_by: Literal["flops", "time", "nodes", "latency"] | None = None,
    extend: Option = None,
    prefix: Option = None,
    non_acc_prefix: Option = None,
    require: Option = None,
    target: Option = None,
    pcie_bw: Option = None,
    link: Option = None,
    overlap: bool = False,
    costs: Option = None,
    output: Path | None = None,
    force: bool = False,
    html: Path | None = None,
    ci: Option = None,
    min: Option = None,
    max: Option = None,
    baseline: Path | None = None,
    exit_zero: bool = False,
    config: Path | None = None,
) -> Check:
    """Holds models against limits or a baseline. A gate that does not hold is no error: look at `passed`.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    state: the output OUT of one step is the input IN of the next, e.g. past.*=present.*; repeatable; without it found
        by names; IN= never changes; off: no state
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: set a limit on the input's size, e.g. --limit nodes=5000; utf8=lenient reads an ONNX model with names that
        are not UTF-8; repeatable
    deny: keep an op or a node on the CPU, whatever the lists say: a name or a glob; repeatable
    verdicts: JSON or CSV that decides single nodes and overrides all rules: node, true or false, why; repeatable
    combine: a node must be accepted by any of several lists, or by all of them; without it by any, and check takes each
        list alone
    as_: judge the nodes of the model, or the graph that ONNX Runtime makes of it before it asks a provider; without it
        as each list says
    min_acc_module_size: smaller accelerator subgraphs go to the CPU; auto: the size with the fastest inference [1]
    skip_fusion: let nodes that exchange other data than tensors run apart: form no fusion groups of them
    allow_non_tensor: let non-tensor data cross between accelerator and CPU
    move_non_tensor: move nodes whose non-tensor data leaves an accelerator partition to the one partition that reads
        it, as FX's move_non_tensor_nodes_on_boundary
    keep_qdq: keep quantised operators whole: DequantizeLinear, operator, QuantizeLinear in one partition
    host_shapes: let shape computations follow the nodes that use them, whatever the support list says, so that a
        Reshape does not cut a partition
    place: put nodes on the accelerator wherever lists allow it (priority), on the first of several targets that takes
        them (order), for the fastest inference (cost), or its least energy (energy) [priority]
    min_gain: with --place cost or energy: move nodes to the CPU only if an inference takes at least this much less;
        auto: 3%, and 0% where all times are measured
    residency: whether the accelerator keeps values that it made or received until their last reader there has run [off]
    start: side to start on: reference, cpu, acc, or the one with the fewest subgraphs [reference]
    pack: where a node goes that fits in several accelerator subgraphs: in the first (early), or where the fewest bytes
        cross the link, with as many subgraphs (bytes) [early]
    keep_acc_subgraphs: keep at most this many accelerator subgraphs, the most valuable ones; or unlimited; or auto:
        those that make an inference faster [unlimited]
    keep_by: what makes a subgraph valuable: its FLOPs or its time on the CPU, less what the link takes; its nodes; or
        the time that an inference gains by it [flops]
    extend: extend accelerator subgraphs backwards: a subgraph's number or name, all, or auto (only where fewer bytes
        cross the link)
    prefix: what names of accelerator partitions begin with [_run_on_acc_]; of one of several targets npu=_npu_;
        repeatable
    non_acc_prefix: what names of CPU partitions begin with [_run_on_cpu_]
    require: node (a name or glob) or op that --place cost leaves on the accelerator, and that check wants there, or
        with npu: on that one of several targets; repeatable
    target: numbers of a device, such as acc:launch=100us,flops=4TFLOP/s; or cpu:bandwidth=50GB/s (samples/README.md);
        repeatable
    pcie_bw: link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16; of stages: between devices
        without a link of their own
    link: a direct link between two of several targets, such as npu-gpu=16GB/s, or npu-gpu=shared where they share their
        memory; repeatable
    overlap: of several targets: also report the time in which their partitions run at the same time
    costs: times and shapes of a run: a profile of ONNX Runtime, OpenVINO or TensorRT, CSV node,time_us, or
        cleave.costs; of the CPU, or acc=FILE of the accelerator; repeatable
    output: file to write: the results, for --baseline later; gzip compresses FILE.gz
    force: replace files that exist, and a folder that cleave wrote
    html: also write the report as one page for a browser
    ci: what CI servers read, by the ending: .xml JUnit, .sarif SARIF, .md Markdown; github: annotations and the step
        summary of GitHub Actions; repeatable
    min: at least: coverage=95%, coverage-flops=95%, coverage-params=95%, qps; npu:coverage of one of several targets;
        repeatable
    max: at most: acc-subgraphs, cpu-nodes, unchecked, boundary-bytes=1MiB, latency=20ms|cpu, unknown-shapes,
        new-cpu-nodes, regression=1%; repeatable
    baseline: earlier results: a baseline, or one report; without other limits no node may be new on the CPU
    exit_zero: exit 0 even when a gate fails
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    from .results.check import Check

    flags: dict[str, bool] = {"skip_fusion": skip_fusion, "allow_non_tensor": allow_non_tensor,
        "move_non_tensor": move_non_tensor, "keep_qdq": keep_qdq, "host_shapes": host_shapes, "overlap": overlap,
        "force": force, "exit_zero": exit_zero}
    options: dict[str, Option] = {"support": support, "dim": dim, "input_shape": input_shape, "set_input": set_input,
        "infer": infer, "fold": fold, "signature": signature, "state": state, "op_schemas": op_schemas, "limit": limit,
        "deny": deny, "verdicts": verdicts, "combine": combine, "as_": as_, "min_acc_module_size": min_acc_module_size,
        "place": place, "min_gain": min_gain, "residency": residency, "start": start, "pack": pack,
        "keep_acc_subgraphs": keep_acc_subgraphs, "keep_by": keep_by, "extend": extend, "prefix": prefix,
        "non_acc_prefix": non_acc_prefix, "require": require, "target": target, "pcie_bw": pcie_bw, "link": link,
        "costs": costs, "output": output, "html": html, "ci": ci, "min": min, "max": max, "baseline": baseline,
        "config": config}
    return Check.from_json(run("check", listed(models), flags, options, may_fail=True))


def partition(
    model: Model,
    map: Path,
    *,
    output: Path | None = None,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    state: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    map_option: Option = None,
    force: bool = False,
    html: Path | None = None,
    weights: Literal["external", "inline", "shared", "reference"] | None = None,
    annotate: bool = False,
    bundle: bool = False,
    lift_state: bool = False,
    opset: Number | None = None,
    inputs: Option = None,
    config: Path | None = None,
) -> Stages:
    """Divides the model as a map of nodes says; with `output` it writes the partitions to that folder.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    state: the output OUT of one step is the input IN of the next, e.g. past.*=present.*; repeatable; without it found
        by names; IN= never changes; off: no state
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: layout-time=20s: processor time for laying out drawings, which are made coarser or left out then; of the
        model's size nodes=5000 (cleave help limits); repeatable
    map_option: with --map: default=NAME, of nodes that it does not name; affix=TEXT: submod_TEXT_<id>; parameters=copy:
        each partition has its own; repeatable
    force: replace files that exist, and a folder that cleave wrote
    html: also write the report as one page for a browser
    weights: where the root has its weights: external (in the partitions' files beside it; ONNX), inline (torch.export),
        shared (once, in weights.bin) or reference (in the model's files; DIR is its folder)
    annotate: also write annotated.onnx: the whole model, each node with its partition as layer_ann, by which ONNX
        Runtime can place it
    bundle: write all partitions into one file, which has their weights once: bundle.pt2 for torch.export models,
        bundle.tflite for TensorFlow Lite models
    lift_state: variables are inputs and outputs of the partitions, and the caller keeps them, also those that one
        partition alone uses (TensorFlow Lite models)
    opset: write the model, or parts and root.onnx, in this opset, by ONNX's version converter; needs Python with onnx
        (ONNX models)
    inputs: inputs of the model: a .npz file or a folder of input_0.pb, ...; repeatable where compilers run; without it
        random, or those that a torch.export archive has
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    from .results.stages import Stages

    flags: dict[str, bool] = {"force": force, "annotate": annotate, "bundle": bundle, "lift_state": lift_state}
    options: dict[str, Option] = {"map": map, "output": output, "dim": dim, "input_shape": input_shape,
        "set_input": set_input, "infer": infer, "fold": fold, "signature": signature, "state": state,
        "op_schemas": op_schemas, "limit": limit, "map_option": map_option, "html": html, "weights": weights,
        "opset": opset, "inputs": inputs, "config": config}
    return Stages.from_json(run("preview" if output is None else "split", [model], flags, options))


def inspect(
    model: Model,
    *,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    state: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    config: Path | None = None,
) -> Inspect:
    """What the model is made of, and how much of it each known list accepts.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    state: the output OUT of one step is the input IN of the next, e.g. past.*=present.*; repeatable; without it found
        by names; IN= never changes; off: no state
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: set a limit on the input's size, e.g. --limit nodes=5000; utf8=lenient reads an ONNX model with names that
        are not UTF-8; repeatable
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    from .results.inspect import Inspect

    flags: dict[str, bool] = {}
    options: dict[str, Option] = {"dim": dim, "input_shape": input_shape, "set_input": set_input, "infer": infer,
        "fold": fold, "signature": signature, "state": state, "op_schemas": op_schemas, "limit": limit,
        "config": config}
    return Inspect.from_json(run("inspect", [model], flags, options))


def explain(
    model: Model,
    nodes: str | Iterable[str] = (),
    *,
    support: Paths,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    state: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    deny: Option = None,
    verdicts: Option = None,
    combine: Literal["any", "all"] | None = None,
    as_: Literal["model", "onnxruntime"] | None = None,
    min_acc_module_size: Option = None,
    skip_fusion: bool = False,
    allow_non_tensor: bool = False,
    move_non_tensor: bool = False,
    keep_qdq: bool = False,
    host_shapes: bool = False,
    place: Literal["priority", "order", "cost", "energy"] | None = None,
    min_gain: Option = None,
    residency: Literal["off", "on"] | None = None,
    start: Literal["reference", "cpu", "acc", "fewest"] | None = None,
    pack: Literal["early", "bytes"] | None = None,
    keep_acc_subgraphs: Option = None,
    keep_by: Literal["flops", "time", "nodes", "latency"] | None = None,
    extend: Option = None,
    prefix: Option = None,
    non_acc_prefix: Option = None,
    require: Option = None,
    target: Option = None,
    pcie_bw: Option = None,
    link: Option = None,
    overlap: bool = False,
    costs: Option = None,
    config: Path | None = None,
) -> Explain:
    """Why nodes are where they are: those named, by name or pattern, else all on the CPU.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    state: the output OUT of one step is the input IN of the next, e.g. past.*=present.*; repeatable; without it found
        by names; IN= never changes; off: no state
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: set a limit on the input's size, e.g. --limit nodes=5000; utf8=lenient reads an ONNX model with names that
        are not UTF-8; repeatable
    deny: keep an op or a node on the CPU, whatever the lists say: a name or a glob; repeatable
    verdicts: JSON or CSV that decides single nodes and overrides all rules: node, true or false, why; repeatable
    combine: a node must be accepted by any of several lists, or by all of them; without it by any, and check takes each
        list alone
    as_: judge the nodes of the model, or the graph that ONNX Runtime makes of it before it asks a provider; without it
        as each list says
    min_acc_module_size: smaller accelerator subgraphs go to the CPU; auto: the size with the fastest inference [1]
    skip_fusion: let nodes that exchange other data than tensors run apart: form no fusion groups of them
    allow_non_tensor: let non-tensor data cross between accelerator and CPU
    move_non_tensor: move nodes whose non-tensor data leaves an accelerator partition to the one partition that reads
        it, as FX's move_non_tensor_nodes_on_boundary
    keep_qdq: keep quantised operators whole: DequantizeLinear, operator, QuantizeLinear in one partition
    host_shapes: let shape computations follow the nodes that use them, whatever the support list says, so that a
        Reshape does not cut a partition
    place: put nodes on the accelerator wherever lists allow it (priority), on the first of several targets that takes
        them (order), for the fastest inference (cost), or its least energy (energy) [priority]
    min_gain: with --place cost or energy: move nodes to the CPU only if an inference takes at least this much less;
        auto: 3%, and 0% where all times are measured
    residency: whether the accelerator keeps values that it made or received until their last reader there has run [off]
    start: side to start on: reference, cpu, acc, or the one with the fewest subgraphs [reference]
    pack: where a node goes that fits in several accelerator subgraphs: in the first (early), or where the fewest bytes
        cross the link, with as many subgraphs (bytes) [early]
    keep_acc_subgraphs: keep at most this many accelerator subgraphs, the most valuable ones; or unlimited; or auto:
        those that make an inference faster [unlimited]
    keep_by: what makes a subgraph valuable: its FLOPs or its time on the CPU, less what the link takes; its nodes; or
        the time that an inference gains by it [flops]
    extend: extend accelerator subgraphs backwards: a subgraph's number or name, all, or auto (only where fewer bytes
        cross the link)
    prefix: what names of accelerator partitions begin with [_run_on_acc_]; of one of several targets npu=_npu_;
        repeatable
    non_acc_prefix: what names of CPU partitions begin with [_run_on_cpu_]
    require: node (a name or glob) or op that --place cost leaves on the accelerator, and that check wants there, or
        with npu: on that one of several targets; repeatable
    target: numbers of a device, such as acc:launch=100us,flops=4TFLOP/s; or cpu:bandwidth=50GB/s (samples/README.md);
        repeatable
    pcie_bw: link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16; of stages: between devices
        without a link of their own
    link: a direct link between two of several targets, such as npu-gpu=16GB/s, or npu-gpu=shared where they share their
        memory; repeatable
    overlap: of several targets: also report the time in which their partitions run at the same time
    costs: times and shapes of a run: a profile of ONNX Runtime, OpenVINO or TensorRT, CSV node,time_us, or
        cleave.costs; of the CPU, or acc=FILE of the accelerator; repeatable
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    from .results.explain import Explain

    flags: dict[str, bool] = {"skip_fusion": skip_fusion, "allow_non_tensor": allow_non_tensor,
        "move_non_tensor": move_non_tensor, "keep_qdq": keep_qdq, "host_shapes": host_shapes, "overlap": overlap}
    options: dict[str, Option] = {"support": support, "dim": dim, "input_shape": input_shape, "set_input": set_input,
        "infer": infer, "fold": fold, "signature": signature, "state": state, "op_schemas": op_schemas, "limit": limit,
        "deny": deny, "verdicts": verdicts, "combine": combine, "as_": as_, "min_acc_module_size": min_acc_module_size,
        "place": place, "min_gain": min_gain, "residency": residency, "start": start, "pack": pack,
        "keep_acc_subgraphs": keep_acc_subgraphs, "keep_by": keep_by, "extend": extend, "prefix": prefix,
        "non_acc_prefix": non_acc_prefix, "require": require, "target": target, "pcie_bw": pcie_bw, "link": link,
        "costs": costs, "config": config}
    return Explain.from_json(run("explain", [model], flags, options, words=named(nodes)))


def ops(
    model: Model,
    support: Paths,
    *,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    state: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    deny: Option = None,
    verdicts: Option = None,
    combine: Literal["any", "all"] | None = None,
    as_: Literal["model", "onnxruntime"] | None = None,
    min_acc_module_size: Option = None,
    skip_fusion: bool = False,
    allow_non_tensor: bool = False,
    move_non_tensor: bool = False,
    keep_qdq: bool = False,
    host_shapes: bool = False,
    place: Literal["priority", "order", "cost", "energy"] | None = None,
    min_gain: Option = None,
    residency: Literal["off", "on"] | None = None,
    start: Literal["reference", "cpu", "acc", "fewest"] | None = None,
    pack: Literal["early", "bytes"] | None = None,
    keep_acc_subgraphs: Option = None,
    keep_by: Literal["flops", "time", "nodes", "latency"] | None = None,
    extend: Option = None,
    prefix: Option = None,
    non_acc_prefix: Option = None,
    require: Option = None,
    keep_original_order: bool = False,
    phase: Option = None,
    tokens: Option = None,
    target: Option = None,
    pcie_bw: Option = None,
    link: Option = None,
    overlap: bool = False,
    costs: Option = None,
    force: bool = False,
    html: Path | None = None,
    viewer: Option = None,
    config: Path | None = None,
) -> SupportReport:
    """Which operators of the model the lists accept.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    state: the output OUT of one step is the input IN of the next, e.g. past.*=present.*; repeatable; without it found
        by names; IN= never changes; off: no state
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: layout-time=20s: processor time for laying out drawings, which are made coarser or left out then; of the
        model's size nodes=5000 (cleave help limits); repeatable
    deny: keep an op or a node on the CPU, whatever the lists say: a name or a glob; repeatable
    verdicts: JSON or CSV that decides single nodes and overrides all rules: node, true or false, why; repeatable
    combine: a node must be accepted by any of several lists, or by all of them; without it by any, and check takes each
        list alone
    as_: judge the nodes of the model, or the graph that ONNX Runtime makes of it before it asks a provider; without it
        as each list says
    min_acc_module_size: smaller accelerator subgraphs go to the CPU; auto: the size with the fastest inference [1]
    skip_fusion: let nodes that exchange other data than tensors run apart: form no fusion groups of them
    allow_non_tensor: let non-tensor data cross between accelerator and CPU
    move_non_tensor: move nodes whose non-tensor data leaves an accelerator partition to the one partition that reads
        it, as FX's move_non_tensor_nodes_on_boundary
    keep_qdq: keep quantised operators whole: DequantizeLinear, operator, QuantizeLinear in one partition
    host_shapes: let shape computations follow the nodes that use them, whatever the support list says, so that a
        Reshape does not cut a partition
    place: put nodes on the accelerator wherever lists allow it (priority), on the first of several targets that takes
        them (order), for the fastest inference (cost), or its least energy (energy) [priority]
    min_gain: with --place cost or energy: move nodes to the CPU only if an inference takes at least this much less;
        auto: 3%, and 0% where all times are measured
    residency: whether the accelerator keeps values that it made or received until their last reader there has run [off]
    start: side to start on: reference, cpu, acc, or the one with the fewest subgraphs [reference]
    pack: where a node goes that fits in several accelerator subgraphs: in the first (early), or where the fewest bytes
        cross the link, with as many subgraphs (bytes) [early]
    keep_acc_subgraphs: keep at most this many accelerator subgraphs, the most valuable ones; or unlimited; or auto:
        those that make an inference faster [unlimited]
    keep_by: what makes a subgraph valuable: its FLOPs or its time on the CPU, less what the link takes; its nodes; or
        the time that an inference gains by it [flops]
    extend: extend accelerator subgraphs backwards: a subgraph's number or name, all, or auto (only where fewer bytes
        cross the link)
    prefix: what names of accelerator partitions begin with [_run_on_acc_]; of one of several targets npu=_npu_;
        repeatable
    non_acc_prefix: what names of CPU partitions begin with [_run_on_cpu_]
    require: node (a name or glob) or op that --place cost leaves on the accelerator, and that check wants there, or
        with npu: on that one of several targets; repeatable
    keep_original_order: with --map: call partitions in the order in which they first appear in the model
    phase: split the model at these sizes, on these targets, with others of --phase into one folder with its weights
        once: prompt:T=64,P=0,on=npu; repeatable (ONNX models)
    tokens: with --phase: for how many tokens the report says times [1024+128]
    target: numbers of a device, such as acc:launch=100us,flops=4TFLOP/s; or cpu:bandwidth=50GB/s (samples/README.md);
        repeatable
    pcie_bw: link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16; of stages: between devices
        without a link of their own
    link: a direct link between two of several targets, such as npu-gpu=16GB/s, or npu-gpu=shared where they share their
        memory; repeatable
    overlap: of several targets: also report the time in which their partitions run at the same time
    costs: times and shapes of a run: a profile of ONNX Runtime, OpenVINO or TensorRT, CSV node,time_us, or
        cleave.costs; of the CPU, or acc=FILE of the accelerator; repeatable
    force: replace files that exist, and a folder that cleave wrote
    html: also write the report as one page for a browser
    viewer: also write what a viewer shows beside the model: FILE.json an attachment for Netron, DIR node data for Model
        Explorer; repeatable
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    from .results.support_report import SupportReport

    flags: dict[str, bool] = {"skip_fusion": skip_fusion, "allow_non_tensor": allow_non_tensor,
        "move_non_tensor": move_non_tensor, "keep_qdq": keep_qdq, "host_shapes": host_shapes,
        "keep_original_order": keep_original_order, "overlap": overlap, "force": force}
    options: dict[str, Option] = {"support": support, "dim": dim, "input_shape": input_shape, "set_input": set_input,
        "infer": infer, "fold": fold, "signature": signature, "state": state, "op_schemas": op_schemas, "limit": limit,
        "deny": deny, "verdicts": verdicts, "combine": combine, "as_": as_, "min_acc_module_size": min_acc_module_size,
        "place": place, "min_gain": min_gain, "residency": residency, "start": start, "pack": pack,
        "keep_acc_subgraphs": keep_acc_subgraphs, "keep_by": keep_by, "extend": extend, "prefix": prefix,
        "non_acc_prefix": non_acc_prefix, "require": require, "phase": phase, "tokens": tokens, "target": target,
        "pcie_bw": pcie_bw, "link": link, "costs": costs, "html": html, "viewer": viewer, "config": config}
    return SupportReport.from_json(run("preview --show ops", [model], flags, options))


def advise(
    models: Any,
    support: Paths,
    *,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    state: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    deny: Option = None,
    verdicts: Option = None,
    combine: Literal["any", "all"] | None = None,
    as_: Literal["model", "onnxruntime"] | None = None,
    min_acc_module_size: Option = None,
    skip_fusion: bool = False,
    allow_non_tensor: bool = False,
    move_non_tensor: bool = False,
    keep_qdq: bool = False,
    host_shapes: bool = False,
    place: Literal["priority", "order", "cost", "energy"] | None = None,
    min_gain: Option = None,
    residency: Literal["off", "on"] | None = None,
    start: Literal["reference", "cpu", "acc", "fewest"] | None = None,
    pack: Literal["early", "bytes"] | None = None,
    keep_acc_subgraphs: Option = None,
    keep_by: Literal["flops", "time", "nodes", "latency"] | None = None,
    extend: Option = None,
    prefix: Option = None,
    non_acc_prefix: Option = None,
    require: Option = None,
    target: Option = None,
    pcie_bw: Option = None,
    link: Option = None,
    overlap: bool = False,
    costs: Option = None,
    goal: Literal["subgraphs", "bytes", "qps", "flops", "latency"] | None = None,
    for_: Option = None,
    force: bool = False,
    html: Path | None = None,
    config: Path | None = None,
) -> Advice:
    """What to support next: `models` is one or a list of them.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    state: the output OUT of one step is the input IN of the next, e.g. past.*=present.*; repeatable; without it found
        by names; IN= never changes; off: no state
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: steps=5: that are shown in the best order; of the model's size nodes=5000 (cleave help limits); repeatable
    deny: keep an op or a node on the CPU, whatever the lists say: a name or a glob; repeatable
    verdicts: JSON or CSV that decides single nodes and overrides all rules: node, true or false, why; repeatable
    combine: a node must be accepted by any of several lists, or by all of them; without it by any, and check takes each
        list alone
    as_: judge the nodes of the model, or the graph that ONNX Runtime makes of it before it asks a provider; without it
        as each list says
    min_acc_module_size: smaller accelerator subgraphs go to the CPU; auto: the size with the fastest inference [1]
    skip_fusion: let nodes that exchange other data than tensors run apart: form no fusion groups of them
    allow_non_tensor: let non-tensor data cross between accelerator and CPU
    move_non_tensor: move nodes whose non-tensor data leaves an accelerator partition to the one partition that reads
        it, as FX's move_non_tensor_nodes_on_boundary
    keep_qdq: keep quantised operators whole: DequantizeLinear, operator, QuantizeLinear in one partition
    host_shapes: let shape computations follow the nodes that use them, whatever the support list says, so that a
        Reshape does not cut a partition
    place: put nodes on the accelerator wherever lists allow it (priority), on the first of several targets that takes
        them (order), for the fastest inference (cost), or its least energy (energy) [priority]
    min_gain: with --place cost or energy: move nodes to the CPU only if an inference takes at least this much less;
        auto: 3%, and 0% where all times are measured
    residency: whether the accelerator keeps values that it made or received until their last reader there has run [off]
    start: side to start on: reference, cpu, acc, or the one with the fewest subgraphs [reference]
    pack: where a node goes that fits in several accelerator subgraphs: in the first (early), or where the fewest bytes
        cross the link, with as many subgraphs (bytes) [early]
    keep_acc_subgraphs: keep at most this many accelerator subgraphs, the most valuable ones; or unlimited; or auto:
        those that make an inference faster [unlimited]
    keep_by: what makes a subgraph valuable: its FLOPs or its time on the CPU, less what the link takes; its nodes; or
        the time that an inference gains by it [flops]
    extend: extend accelerator subgraphs backwards: a subgraph's number or name, all, or auto (only where fewer bytes
        cross the link)
    prefix: what names of accelerator partitions begin with [_run_on_acc_]; of one of several targets npu=_npu_;
        repeatable
    non_acc_prefix: what names of CPU partitions begin with [_run_on_cpu_]
    require: node (a name or glob) or op that --place cost leaves on the accelerator, and that check wants there, or
        with npu: on that one of several targets; repeatable
    target: numbers of a device, such as acc:launch=100us,flops=4TFLOP/s; or cpu:bandwidth=50GB/s (samples/README.md);
        repeatable
    pcie_bw: link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16; of stages: between devices
        without a link of their own
    link: a direct link between two of several targets, such as npu-gpu=16GB/s, or npu-gpu=shared where they share their
        memory; repeatable
    overlap: of several targets: also report the time in which their partitions run at the same time
    costs: times and shapes of a run: a profile of ONNX Runtime, OpenVINO or TensorRT, CSV node,time_us, or
        cleave.costs; of the CPU, or acc=FILE of the accelerator; repeatable
    goal: what to gain: fewer accelerator subgraphs, fewer bytes over the link, a higher QPS that it bounds, more FLOPs
        on the accelerator, or less time of an inference [subgraphs]
    for_: the one of several targets whose lists the additions are for; a node that another target takes anyway gains
        less than one that only the CPU takes
    force: replace files that exist, and a folder that cleave wrote
    html: also write the report as one page for a browser
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    from .results.advice import Advice

    flags: dict[str, bool] = {"skip_fusion": skip_fusion, "allow_non_tensor": allow_non_tensor,
        "move_non_tensor": move_non_tensor, "keep_qdq": keep_qdq, "host_shapes": host_shapes, "overlap": overlap,
        "force": force}
    options: dict[str, Option] = {"support": support, "dim": dim, "input_shape": input_shape, "set_input": set_input,
        "infer": infer, "fold": fold, "signature": signature, "state": state, "op_schemas": op_schemas, "limit": limit,
        "deny": deny, "verdicts": verdicts, "combine": combine, "as_": as_, "min_acc_module_size": min_acc_module_size,
        "place": place, "min_gain": min_gain, "residency": residency, "start": start, "pack": pack,
        "keep_acc_subgraphs": keep_acc_subgraphs, "keep_by": keep_by, "extend": extend, "prefix": prefix,
        "non_acc_prefix": non_acc_prefix, "require": require, "target": target, "pcie_bw": pcie_bw, "link": link,
        "costs": costs, "goal": goal, "for_": for_, "html": html, "config": config}
    return Advice.from_json(run("advise", models_of(models), flags, options))


def diff(
    model: Model,
    other: Model | None = None,
    *,
    support: Paths,
    to: Mapping[str, Option] | None = None,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    state: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    deny: Option = None,
    verdicts: Option = None,
    combine: Literal["any", "all"] | None = None,
    as_: Literal["model", "onnxruntime"] | None = None,
    min_acc_module_size: Option = None,
    skip_fusion: bool = False,
    allow_non_tensor: bool = False,
    move_non_tensor: bool = False,
    keep_qdq: bool = False,
    host_shapes: bool = False,
    place: Literal["priority", "order", "cost", "energy"] | None = None,
    min_gain: Option = None,
    residency: Literal["off", "on"] | None = None,
    start: Literal["reference", "cpu", "acc", "fewest"] | None = None,
    pack: Literal["early", "bytes"] | None = None,
    keep_acc_subgraphs: Option = None,
    keep_by: Literal["flops", "time", "nodes", "latency"] | None = None,
    extend: Option = None,
    prefix: Option = None,
    non_acc_prefix: Option = None,
    require: Option = None,
    target: Option = None,
    pcie_bw: Option = None,
    link: Option = None,
    overlap: bool = False,
    costs: Option = None,
    force: bool = False,
    html: Path | None = None,
    config: Path | None = None,
) -> Diff:
    """The nodes that moved between two splits, and the change to blame: of another model, or under other options, which
    are those of `to`: {"support": "new.json"}.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    state: the output OUT of one step is the input IN of the next, e.g. past.*=present.*; repeatable; without it found
        by names; IN= never changes; off: no state
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: layout-time=20s: processor time for laying out drawings, which are made coarser or left out then; of the
        model's size nodes=5000 (cleave help limits); repeatable
    deny: keep an op or a node on the CPU, whatever the lists say: a name or a glob; repeatable
    verdicts: JSON or CSV that decides single nodes and overrides all rules: node, true or false, why; repeatable
    combine: a node must be accepted by any of several lists, or by all of them; without it by any, and check takes each
        list alone
    as_: judge the nodes of the model, or the graph that ONNX Runtime makes of it before it asks a provider; without it
        as each list says
    min_acc_module_size: smaller accelerator subgraphs go to the CPU; auto: the size with the fastest inference [1]
    skip_fusion: let nodes that exchange other data than tensors run apart: form no fusion groups of them
    allow_non_tensor: let non-tensor data cross between accelerator and CPU
    move_non_tensor: move nodes whose non-tensor data leaves an accelerator partition to the one partition that reads
        it, as FX's move_non_tensor_nodes_on_boundary
    keep_qdq: keep quantised operators whole: DequantizeLinear, operator, QuantizeLinear in one partition
    host_shapes: let shape computations follow the nodes that use them, whatever the support list says, so that a
        Reshape does not cut a partition
    place: put nodes on the accelerator wherever lists allow it (priority), on the first of several targets that takes
        them (order), for the fastest inference (cost), or its least energy (energy) [priority]
    min_gain: with --place cost or energy: move nodes to the CPU only if an inference takes at least this much less;
        auto: 3%, and 0% where all times are measured
    residency: whether the accelerator keeps values that it made or received until their last reader there has run [off]
    start: side to start on: reference, cpu, acc, or the one with the fewest subgraphs [reference]
    pack: where a node goes that fits in several accelerator subgraphs: in the first (early), or where the fewest bytes
        cross the link, with as many subgraphs (bytes) [early]
    keep_acc_subgraphs: keep at most this many accelerator subgraphs, the most valuable ones; or unlimited; or auto:
        those that make an inference faster [unlimited]
    keep_by: what makes a subgraph valuable: its FLOPs or its time on the CPU, less what the link takes; its nodes; or
        the time that an inference gains by it [flops]
    extend: extend accelerator subgraphs backwards: a subgraph's number or name, all, or auto (only where fewer bytes
        cross the link)
    prefix: what names of accelerator partitions begin with [_run_on_acc_]; of one of several targets npu=_npu_;
        repeatable
    non_acc_prefix: what names of CPU partitions begin with [_run_on_cpu_]
    require: node (a name or glob) or op that --place cost leaves on the accelerator, and that check wants there, or
        with npu: on that one of several targets; repeatable
    target: numbers of a device, such as acc:launch=100us,flops=4TFLOP/s; or cpu:bandwidth=50GB/s (samples/README.md);
        repeatable
    pcie_bw: link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16; of stages: between devices
        without a link of their own
    link: a direct link between two of several targets, such as npu-gpu=16GB/s, or npu-gpu=shared where they share their
        memory; repeatable
    overlap: of several targets: also report the time in which their partitions run at the same time
    costs: times and shapes of a run: a profile of ONNX Runtime, OpenVINO or TensorRT, CSV node,time_us, or
        cleave.costs; of the CPU, or acc=FILE of the accelerator; repeatable
    force: replace files that exist, and a folder that cleave wrote
    html: also write the report as one page for a browser
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    from .results.diff import Diff

    flags: dict[str, bool] = {"skip_fusion": skip_fusion, "allow_non_tensor": allow_non_tensor,
        "move_non_tensor": move_non_tensor, "keep_qdq": keep_qdq, "host_shapes": host_shapes, "overlap": overlap,
        "force": force}
    options: dict[str, Option] = {"support": support, "dim": dim, "input_shape": input_shape, "set_input": set_input,
        "infer": infer, "fold": fold, "signature": signature, "state": state, "op_schemas": op_schemas, "limit": limit,
        "deny": deny, "verdicts": verdicts, "combine": combine, "as_": as_, "min_acc_module_size": min_acc_module_size,
        "place": place, "min_gain": min_gain, "residency": residency, "start": start, "pack": pack,
        "keep_acc_subgraphs": keep_acc_subgraphs, "keep_by": keep_by, "extend": extend, "prefix": prefix,
        "non_acc_prefix": non_acc_prefix, "require": require, "target": target, "pcie_bw": pcie_bw, "link": link,
        "costs": costs, "html": html, "config": config}
    return Diff.from_json(run("diff", [model] if other is None else [model, other], flags, options, to=to))


def lower(
    model: Model,
    support: Paths,
    backend: Paths,
    *,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    state: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    deny: Option = None,
    verdicts: Option = None,
    combine: Literal["any", "all"] | None = None,
    as_: Literal["model", "onnxruntime"] | None = None,
    min_acc_module_size: Option = None,
    skip_fusion: bool = False,
    allow_non_tensor: bool = False,
    move_non_tensor: bool = False,
    keep_qdq: bool = False,
    host_shapes: bool = False,
    place: Literal["priority", "order", "cost", "energy"] | None = None,
    min_gain: Option = None,
    residency: Literal["off", "on"] | None = None,
    start: Literal["reference", "cpu", "acc", "fewest"] | None = None,
    pack: Literal["early", "bytes"] | None = None,
    keep_acc_subgraphs: Option = None,
    keep_by: Literal["flops", "time", "nodes", "latency"] | None = None,
    extend: Option = None,
    prefix: Option = None,
    non_acc_prefix: Option = None,
    require: Option = None,
    target: Option = None,
    pcie_bw: Option = None,
    link: Option = None,
    overlap: bool = False,
    costs: Option = None,
    seed: Number | None = None,
    output: Path | None = None,
    force: bool = False,
    bundle: Literal["none", "files", "ep", "ep-embedded"] | None = None,
    inputs: Option = None,
    ci: Option = None,
    reference: Option = None,
    launcher: Option = None,
    jobs: Number | None = None,
    cache: Option = None,
    culprit: Literal["none", "hint", "node", "minimal"] | None = None,
    pin_shapes: Literal["off", "boundary", "values"] | None = None,
    compare: bool = False,
    tolerance: Option = None,
    until_clean: bool = False,
    deny_out: Path | None = None,
    config: Path | None = None,
) -> Lowering:
    """Has a compiler try each partition. One that is refused is no error: look at `clean`.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    state: the output OUT of one step is the input IN of the next, e.g. past.*=present.*; repeatable; without it found
        by names; IN= never changes; off: no state
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: rounds=20: splits of --until-clean; search-runs=N and time=5min: of the search for the cause; of the model's
        size nodes=5000 (cleave help limits); repeatable
    deny: keep an op or a node on the CPU, whatever the lists say: a name or a glob; repeatable
    verdicts: JSON or CSV that decides single nodes and overrides all rules: node, true or false, why; repeatable
    combine: a node must be accepted by any of several lists, or by all of them; without it by any, and check takes each
        list alone
    as_: judge the nodes of the model, or the graph that ONNX Runtime makes of it before it asks a provider; without it
        as each list says
    min_acc_module_size: smaller accelerator subgraphs go to the CPU; auto: the size with the fastest inference [1]
    skip_fusion: let nodes that exchange other data than tensors run apart: form no fusion groups of them
    allow_non_tensor: let non-tensor data cross between accelerator and CPU
    move_non_tensor: move nodes whose non-tensor data leaves an accelerator partition to the one partition that reads
        it, as FX's move_non_tensor_nodes_on_boundary
    keep_qdq: keep quantised operators whole: DequantizeLinear, operator, QuantizeLinear in one partition
    host_shapes: let shape computations follow the nodes that use them, whatever the support list says, so that a
        Reshape does not cut a partition
    place: put nodes on the accelerator wherever lists allow it (priority), on the first of several targets that takes
        them (order), for the fastest inference (cost), or its least energy (energy) [priority]
    min_gain: with --place cost or energy: move nodes to the CPU only if an inference takes at least this much less;
        auto: 3%, and 0% where all times are measured
    residency: whether the accelerator keeps values that it made or received until their last reader there has run [off]
    start: side to start on: reference, cpu, acc, or the one with the fewest subgraphs [reference]
    pack: where a node goes that fits in several accelerator subgraphs: in the first (early), or where the fewest bytes
        cross the link, with as many subgraphs (bytes) [early]
    keep_acc_subgraphs: keep at most this many accelerator subgraphs, the most valuable ones; or unlimited; or auto:
        those that make an inference faster [unlimited]
    keep_by: what makes a subgraph valuable: its FLOPs or its time on the CPU, less what the link takes; its nodes; or
        the time that an inference gains by it [flops]
    extend: extend accelerator subgraphs backwards: a subgraph's number or name, all, or auto (only where fewer bytes
        cross the link)
    prefix: what names of accelerator partitions begin with [_run_on_acc_]; of one of several targets npu=_npu_;
        repeatable
    non_acc_prefix: what names of CPU partitions begin with [_run_on_cpu_]
    require: node (a name or glob) or op that --place cost leaves on the accelerator, and that check wants there, or
        with npu: on that one of several targets; repeatable
    target: numbers of a device, such as acc:launch=100us,flops=4TFLOP/s; or cpu:bandwidth=50GB/s (samples/README.md);
        repeatable
    pcie_bw: link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16; of stages: between devices
        without a link of their own
    link: a direct link between two of several targets, such as npu-gpu=16GB/s, or npu-gpu=shared where they share their
        memory; repeatable
    overlap: of several targets: also report the time in which their partitions run at the same time
    costs: times and shapes of a run: a profile of ONNX Runtime, OpenVINO or TensorRT, CSV node,time_us, or
        cleave.costs; of the CPU, or acc=FILE of the accelerator; repeatable
    seed: seed of random numbers: of a search, or of inputs that are drawn
    output: folder for lowering.json, lowering.txt, learned.json (of targets learned_NAME.json) and a folder for each
        finding; a killed run is continued by the next one
    force: replace files that exist, and a folder that cleave wrote
    bundle: what is kept of what was compiled: none, its files in DIR/artefacts, also root_ep.onnx, one model for ONNX
        Runtime with EPContext nodes that name these (ep) or hold them (ep-embedded) [files]
    inputs: inputs of the model: a .npz file or a folder of input_0.pb, ...; repeatable where compilers run; without it
        random, or those that a torch.export archive has
    ci: what CI servers read, by the ending: .xml JUnit, .sarif SARIF, .md Markdown; github: annotations and the step
        summary of GitHub Actions; repeatable
    reference: the backend whose values and shapes are right: onnxruntime, litert, torch; the default where shapes are
        open, none turns it off; runs the whole model once
    launcher: command that starts each command of a backend: 'srun --ntasks=1'
    jobs: compilers at once; default, and 0: half of the cores, and 1 for NAME='...'
    cache: folder of known verdicts; off: ask the compiler again, even about these; failures: also keep timeouts,
        crashes and out-of-memory as verdicts; repeatable
    culprit: how far to search for the cause: none; nodes that the message names; a node (default of lower); the
        smallest set of nodes that still fails (of reduce)
    pin_shapes: open shapes at a partition's boundary may be set to those of the reference's run (boundary), and small
        integers there become constants, too (values) [boundary]
    compare: also run the partitions, and compare with the reference
    tolerance: of --compare: int=N, by how much 8-bit integers may differ, for quantised outputs, else as the backend's
        file says; ties=strict: equal values in another order are wrong
    until_clean: deny what is refused and split again until everything lowers
    deny_out: write the list with what was learned
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    from .results.lowering import Lowering

    flags: dict[str, bool] = {"skip_fusion": skip_fusion, "allow_non_tensor": allow_non_tensor,
        "move_non_tensor": move_non_tensor, "keep_qdq": keep_qdq, "host_shapes": host_shapes, "overlap": overlap,
        "force": force, "compare": compare, "until_clean": until_clean}
    options: dict[str, Option] = {"support": support, "backend": backend, "dim": dim, "input_shape": input_shape,
        "set_input": set_input, "infer": infer, "fold": fold, "signature": signature, "state": state,
        "op_schemas": op_schemas, "limit": limit, "deny": deny, "verdicts": verdicts, "combine": combine, "as_": as_,
        "min_acc_module_size": min_acc_module_size, "place": place, "min_gain": min_gain, "residency": residency,
        "start": start, "pack": pack, "keep_acc_subgraphs": keep_acc_subgraphs, "keep_by": keep_by, "extend": extend,
        "prefix": prefix, "non_acc_prefix": non_acc_prefix, "require": require, "target": target, "pcie_bw": pcie_bw,
        "link": link, "costs": costs, "seed": seed, "output": output, "bundle": bundle, "inputs": inputs, "ci": ci,
        "reference": reference, "launcher": launcher, "jobs": jobs, "cache": cache, "culprit": culprit,
        "pin_shapes": pin_shapes, "tolerance": tolerance, "deny_out": deny_out, "config": config}
    return Lowering.from_json(run("lower", [model], flags, options, may_fail=True))


def reduce(
    model: Model,
    backend: Path,
    *,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    state: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    nodes: Path | None = None,
    partition: Option = None,
    support: Option = None,
    deny: Option = None,
    verdicts: Option = None,
    combine: Literal["any", "all"] | None = None,
    as_: Literal["model", "onnxruntime"] | None = None,
    min_acc_module_size: Option = None,
    skip_fusion: bool = False,
    allow_non_tensor: bool = False,
    move_non_tensor: bool = False,
    keep_qdq: bool = False,
    host_shapes: bool = False,
    place: Literal["priority", "order", "cost", "energy"] | None = None,
    min_gain: Option = None,
    residency: Literal["off", "on"] | None = None,
    start: Literal["reference", "cpu", "acc", "fewest"] | None = None,
    pack: Literal["early", "bytes"] | None = None,
    keep_acc_subgraphs: Option = None,
    keep_by: Literal["flops", "time", "nodes", "latency"] | None = None,
    extend: Option = None,
    prefix: Option = None,
    non_acc_prefix: Option = None,
    require: Option = None,
    target: Option = None,
    pcie_bw: Option = None,
    link: Option = None,
    overlap: bool = False,
    costs: Option = None,
    seed: Number | None = None,
    output: Path | None = None,
    force: bool = False,
    inputs: Option = None,
    reference: Option = None,
    launcher: Option = None,
    jobs: Number | None = None,
    cache: Option = None,
    culprit: Literal["none", "hint", "node", "minimal"] | None = None,
    pin_shapes: Literal["off", "boundary", "values"] | None = None,
    compare: bool = False,
    tolerance: Option = None,
    config: Path | None = None,
) -> Reduction:
    """Finds the fewest nodes of the model that a compiler refuses.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    state: the output OUT of one step is the input IN of the next, e.g. past.*=present.*; repeatable; without it found
        by names; IN= never changes; off: no state
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: search-runs=N and time=5min: of the search for the cause; of the model's size nodes=5000 (cleave help
        limits); repeatable
    nodes: which nodes: a name a line, or a JSON list of names; - is standard input; reduce takes all if not given
    partition: which nodes: those of this partition of the split by --support
    support: support list: JSON, plain text or ONNX Runtime config; repeatable: any list may accept a node (check takes
        each alone); with NAME=, of that target
    deny: keep an op or a node on the CPU, whatever the lists say: a name or a glob; repeatable
    verdicts: JSON or CSV that decides single nodes and overrides all rules: node, true or false, why; repeatable
    combine: a node must be accepted by any of several lists, or by all of them; without it by any, and check takes each
        list alone
    as_: judge the nodes of the model, or the graph that ONNX Runtime makes of it before it asks a provider; without it
        as each list says
    min_acc_module_size: smaller accelerator subgraphs go to the CPU; auto: the size with the fastest inference [1]
    skip_fusion: let nodes that exchange other data than tensors run apart: form no fusion groups of them
    allow_non_tensor: let non-tensor data cross between accelerator and CPU
    move_non_tensor: move nodes whose non-tensor data leaves an accelerator partition to the one partition that reads
        it, as FX's move_non_tensor_nodes_on_boundary
    keep_qdq: keep quantised operators whole: DequantizeLinear, operator, QuantizeLinear in one partition
    host_shapes: let shape computations follow the nodes that use them, whatever the support list says, so that a
        Reshape does not cut a partition
    place: put nodes on the accelerator wherever lists allow it (priority), on the first of several targets that takes
        them (order), for the fastest inference (cost), or its least energy (energy) [priority]
    min_gain: with --place cost or energy: move nodes to the CPU only if an inference takes at least this much less;
        auto: 3%, and 0% where all times are measured
    residency: whether the accelerator keeps values that it made or received until their last reader there has run [off]
    start: side to start on: reference, cpu, acc, or the one with the fewest subgraphs [reference]
    pack: where a node goes that fits in several accelerator subgraphs: in the first (early), or where the fewest bytes
        cross the link, with as many subgraphs (bytes) [early]
    keep_acc_subgraphs: keep at most this many accelerator subgraphs, the most valuable ones; or unlimited; or auto:
        those that make an inference faster [unlimited]
    keep_by: what makes a subgraph valuable: its FLOPs or its time on the CPU, less what the link takes; its nodes; or
        the time that an inference gains by it [flops]
    extend: extend accelerator subgraphs backwards: a subgraph's number or name, all, or auto (only where fewer bytes
        cross the link)
    prefix: what names of accelerator partitions begin with [_run_on_acc_]; of one of several targets npu=_npu_;
        repeatable
    non_acc_prefix: what names of CPU partitions begin with [_run_on_cpu_]
    require: node (a name or glob) or op that --place cost leaves on the accelerator, and that check wants there, or
        with npu: on that one of several targets; repeatable
    target: numbers of a device, such as acc:launch=100us,flops=4TFLOP/s; or cpu:bandwidth=50GB/s (samples/README.md);
        repeatable
    pcie_bw: link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16; of stages: between devices
        without a link of their own
    link: a direct link between two of several targets, such as npu-gpu=16GB/s, or npu-gpu=shared where they share their
        memory; repeatable
    overlap: of several targets: also report the time in which their partitions run at the same time
    costs: times and shapes of a run: a profile of ONNX Runtime, OpenVINO or TensorRT, CSV node,time_us, or
        cleave.costs; of the CPU, or acc=FILE of the accelerator; repeatable
    seed: seed of random numbers: of a search, or of inputs that are drawn
    output: folder to write; written completely or not at all
    force: replace files that exist, and a folder that cleave wrote
    inputs: inputs of the model: a .npz file or a folder of input_0.pb, ...; repeatable where compilers run; without it
        random, or those that a torch.export archive has
    reference: the backend whose values and shapes are right: onnxruntime, litert, torch; the default where shapes are
        open, none turns it off; runs the whole model once
    launcher: command that starts each command of a backend: 'srun --ntasks=1'
    jobs: compilers at once; default, and 0: half of the cores, and 1 for NAME='...'
    cache: folder of known verdicts; off: ask the compiler again, even about these; failures: also keep timeouts,
        crashes and out-of-memory as verdicts; repeatable
    culprit: how far to search for the cause: none; nodes that the message names; a node (default of lower); the
        smallest set of nodes that still fails (of reduce)
    pin_shapes: open shapes at a partition's boundary may be set to those of the reference's run (boundary), and small
        integers there become constants, too (values) [boundary]
    compare: also run the partitions, and compare with the reference
    tolerance: of --compare: int=N, by how much 8-bit integers may differ, for quantised outputs, else as the backend's
        file says; ties=strict: equal values in another order are wrong
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    from .results.reduction import Reduction

    flags: dict[str, bool] = {"skip_fusion": skip_fusion, "allow_non_tensor": allow_non_tensor,
        "move_non_tensor": move_non_tensor, "keep_qdq": keep_qdq, "host_shapes": host_shapes, "overlap": overlap,
        "force": force, "compare": compare}
    options: dict[str, Option] = {"backend": backend, "dim": dim, "input_shape": input_shape, "set_input": set_input,
        "infer": infer, "fold": fold, "signature": signature, "state": state, "op_schemas": op_schemas, "limit": limit,
        "nodes": nodes, "partition": partition, "support": support, "deny": deny, "verdicts": verdicts,
        "combine": combine, "as_": as_, "min_acc_module_size": min_acc_module_size, "place": place,
        "min_gain": min_gain, "residency": residency, "start": start, "pack": pack,
        "keep_acc_subgraphs": keep_acc_subgraphs, "keep_by": keep_by, "extend": extend, "prefix": prefix,
        "non_acc_prefix": non_acc_prefix, "require": require, "target": target, "pcie_bw": pcie_bw, "link": link,
        "costs": costs, "seed": seed, "output": output, "inputs": inputs, "reference": reference, "launcher": launcher,
        "jobs": jobs, "cache": cache, "culprit": culprit, "pin_shapes": pin_shapes, "tolerance": tolerance,
        "config": config}
    return Reduction.from_json(run("reduce", [model], flags, options, may_fail=True))


def lint(
    list: Path,
    models: Any = (),
    *,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    strict: bool = False,
    config: Path | None = None,
) -> Lint:
    """What is wrong with a support list, by itself and for models. Errors of the list are no error: look at `errors`.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: set a limit on the input's size, e.g. --limit nodes=5000; utf8=lenient reads an ONNX model with names that
        are not UTF-8; repeatable
    strict: exit 1 on warnings of lint, too
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    from .results.lint import Lint

    flags: dict[str, bool] = {"strict": strict}
    options: dict[str, Option] = {"dim": dim, "input_shape": input_shape, "set_input": set_input, "infer": infer,
        "fold": fold, "signature": signature, "op_schemas": op_schemas, "limit": limit, "config": config}
    return Lint.from_json(run("lists lint", [list, *models_of(models)], flags, options, may_fail=True))


def split_module(
    module: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    support: Union[Paths,
    Mapping[str, Any]],
    output: Path | None = None,
    dynamic_shapes: Any = None,
    dim: Option = None,
    input_shape: Option = None,
    set_input: Option = None,
    infer: Literal["off", "file", "full"] | None = None,
    fold: Literal["off", "report", "write"] | None = None,
    signature: Option = None,
    state: Option = None,
    op_schemas: Path | None = None,
    limit: Option = None,
    deny: Option = None,
    verdicts: Option = None,
    combine: Literal["any", "all"] | None = None,
    as_: Literal["model", "onnxruntime"] | None = None,
    min_acc_module_size: Option = None,
    skip_fusion: bool = False,
    allow_non_tensor: bool = False,
    move_non_tensor: bool = False,
    keep_qdq: bool = False,
    host_shapes: bool = False,
    place: Literal["priority", "order", "cost", "energy"] | None = None,
    min_gain: Option = None,
    residency: Literal["off", "on"] | None = None,
    start: Literal["reference", "cpu", "acc", "fewest"] | None = None,
    pack: Literal["early", "bytes"] | None = None,
    keep_acc_subgraphs: Option = None,
    keep_by: Literal["flops", "time", "nodes", "latency"] | None = None,
    extend: Option = None,
    prefix: Option = None,
    non_acc_prefix: Option = None,
    require: Option = None,
    keep_original_order: bool = False,
    phase: Option = None,
    tokens: Option = None,
    pipeline: Option = None,
    target: Option = None,
    pcie_bw: Option = None,
    link: Option = None,
    overlap: bool = False,
    costs: Option = None,
    seed: Number | None = None,
    force: bool = False,
    html: Path | None = None,
    viewer: Option = None,
    drawings: Literal["none", "summary", "all"] | None = None,
    weights: Literal["external", "inline", "shared", "reference"] | None = None,
    annotate: bool = False,
    bundle: bool = False,
    lift_state: bool = False,
    opset: Number | None = None,
    capture: bool = False,
    inputs: Option = None,
    config: Path | None = None,
) -> Any:
    """cleave.torch.split(): exports the module with these arguments, splits the program, and returns a torch.nn.Module
    that is called as the module is; its children are the partitions, `report` is that of cleave.split(). A program of
    torch.export.export() is taken as it is. `support`: lists, or the content of one as a dict. `output`: a folder for
    the partitions, which else go with the module.

    dim: bind symbolic dims, e.g. --dim N=8, or --dim N=8,T=16; of preview also a range, P=0..4096; repeatable
    input_shape: set the shape of an input, e.g. --input-shape x=1,3,224,224; ? leaves a dim open
    set_input: set the value of an input with one element, e.g. --set-input sr=16000, so that an If or a shape which it
        decides is known
    infer: types and shapes of an ONNX model: off (declared inputs and outputs only), file (also its value_info) or full
        (also what follows from its operators) [full]
    fold: what is known before an ONNX model runs: report (its branch replaces an If that is decided), write (nodes of
        known integers become constants, too) or off [report]
    signature: which signature of a TensorFlow Lite model, or program of a torch.export archive, to read, of several;
        else the first with nodes, or "model"
    state: the output OUT of one step is the input IN of the next, e.g. past.*=present.*; repeatable; without it found
        by names; IN= never changes; off: no state
    op_schemas: what operators of your own write, as torch prints their schemas, one a line (torch.export models)
    limit: layout-time=20s: processor time for laying out drawings, which are made coarser or left out then; of the
        model's size nodes=5000 (cleave help limits); repeatable
    deny: keep an op or a node on the CPU, whatever the lists say: a name or a glob; repeatable
    verdicts: JSON or CSV that decides single nodes and overrides all rules: node, true or false, why; repeatable
    combine: a node must be accepted by any of several lists, or by all of them; without it by any, and check takes each
        list alone
    as_: judge the nodes of the model, or the graph that ONNX Runtime makes of it before it asks a provider; without it
        as each list says
    min_acc_module_size: smaller accelerator subgraphs go to the CPU; auto: the size with the fastest inference [1]
    skip_fusion: let nodes that exchange other data than tensors run apart: form no fusion groups of them
    allow_non_tensor: let non-tensor data cross between accelerator and CPU
    move_non_tensor: move nodes whose non-tensor data leaves an accelerator partition to the one partition that reads
        it, as FX's move_non_tensor_nodes_on_boundary
    keep_qdq: keep quantised operators whole: DequantizeLinear, operator, QuantizeLinear in one partition
    host_shapes: let shape computations follow the nodes that use them, whatever the support list says, so that a
        Reshape does not cut a partition
    place: put nodes on the accelerator wherever lists allow it (priority), on the first of several targets that takes
        them (order), for the fastest inference (cost), or its least energy (energy) [priority]
    min_gain: with --place cost or energy: move nodes to the CPU only if an inference takes at least this much less;
        auto: 3%, and 0% where all times are measured
    residency: whether the accelerator keeps values that it made or received until their last reader there has run [off]
    start: side to start on: reference, cpu, acc, or the one with the fewest subgraphs [reference]
    pack: where a node goes that fits in several accelerator subgraphs: in the first (early), or where the fewest bytes
        cross the link, with as many subgraphs (bytes) [early]
    keep_acc_subgraphs: keep at most this many accelerator subgraphs, the most valuable ones; or unlimited; or auto:
        those that make an inference faster [unlimited]
    keep_by: what makes a subgraph valuable: its FLOPs or its time on the CPU, less what the link takes; its nodes; or
        the time that an inference gains by it [flops]
    extend: extend accelerator subgraphs backwards: a subgraph's number or name, all, or auto (only where fewer bytes
        cross the link)
    prefix: what names of accelerator partitions begin with [_run_on_acc_]; of one of several targets npu=_npu_;
        repeatable
    non_acc_prefix: what names of CPU partitions begin with [_run_on_cpu_]
    require: node (a name or glob) or op that --place cost leaves on the accelerator, and that check wants there, or
        with npu: on that one of several targets; repeatable
    keep_original_order: with --map: call partitions in the order in which they first appear in the model
    phase: split the model at these sizes, on these targets, with others of --phase into one folder with its weights
        once: prompt:T=64,P=0,on=npu; repeatable (ONNX models)
    tokens: with --phase: for how many tokens the report says times [1024+128]
    pipeline: also write genai_config.json: the phases as a decoder-pipeline of onnxruntime-genai, with its
        bos_token_id, eos_token_id, pad_token_id and context_length
    target: numbers of a device, such as acc:launch=100us,flops=4TFLOP/s; or cpu:bandwidth=50GB/s (samples/README.md);
        repeatable
    pcie_bw: link bandwidth: 100GiB/s (default), 16GB/s, or a link's name such as gen4x16; of stages: between devices
        without a link of their own
    link: a direct link between two of several targets, such as npu-gpu=16GB/s, or npu-gpu=shared where they share their
        memory; repeatable
    overlap: of several targets: also report the time in which their partitions run at the same time
    costs: times and shapes of a run: a profile of ONNX Runtime, OpenVINO or TensorRT, CSV node,time_us, or
        cleave.costs; of the CPU, or acc=FILE of the accelerator; repeatable
    seed: seed of random numbers: of a search, or of inputs that are drawn
    force: replace files that exist, and a folder that cleave wrote
    html: also write the report as one page for a browser
    viewer: also write what a viewer shows beside the model: FILE.json an attachment for Netron, DIR node data for Model
        Explorer; repeatable
    drawings: which drawings to write: none, of the model and of the split only, or also of each partition; without it
        each of up to 200 partitions is drawn
    weights: where the root has its weights: external (in the partitions' files beside it; ONNX), inline (torch.export),
        shared (once, in weights.bin) or reference (in the model's files; DIR is its folder)
    annotate: also write annotated.onnx: the whole model, each node with its partition as layer_ann, by which ONNX
        Runtime can place it
    bundle: write all partitions into one file, which has their weights once: bundle.pt2 for torch.export models,
        bundle.tflite for TensorFlow Lite models
    lift_state: variables are inputs and outputs of the partitions, and the caller keeps them, also those that one
        partition alone uses (TensorFlow Lite models)
    opset: write the model, or parts and root.onnx, in this opset, by ONNX's version converter; needs Python with onnx
        (ONNX models)
    capture: also run the parts, in ONNX Runtime or torch, and write what each takes and makes, as test data in the
        folder captured; needs Python with the runtime and numpy
    inputs: inputs of the model: a .npz file or a folder of input_0.pb, ...; repeatable where compilers run; without it
        random, or those that a torch.export archive has
    config: TOML file of options: a table for each command, [check]; [[model]] for a model's shapes
    """
    flags: dict[str, bool] = {"skip_fusion": skip_fusion, "allow_non_tensor": allow_non_tensor,
        "move_non_tensor": move_non_tensor, "keep_qdq": keep_qdq, "host_shapes": host_shapes,
        "keep_original_order": keep_original_order, "overlap": overlap, "force": force, "annotate": annotate,
        "bundle": bundle, "lift_state": lift_state, "capture": capture}
    options: dict[str, Option] = {"dim": dim, "input_shape": input_shape, "set_input": set_input, "infer": infer,
        "fold": fold, "signature": signature, "state": state, "op_schemas": op_schemas, "limit": limit, "deny": deny,
        "verdicts": verdicts, "combine": combine, "as_": as_, "min_acc_module_size": min_acc_module_size,
        "place": place, "min_gain": min_gain, "residency": residency, "start": start, "pack": pack,
        "keep_acc_subgraphs": keep_acc_subgraphs, "keep_by": keep_by, "extend": extend, "prefix": prefix,
        "non_acc_prefix": non_acc_prefix, "require": require, "phase": phase, "tokens": tokens, "pipeline": pipeline,
        "target": target, "pcie_bw": pcie_bw, "link": link, "costs": costs, "seed": seed, "html": html,
        "viewer": viewer, "drawings": drawings, "weights": weights, "opset": opset, "inputs": inputs, "config": config}
    return library("torch_module").split_module(split, module, args, kwargs, support, output, dynamic_shapes, {**flags, **options})
