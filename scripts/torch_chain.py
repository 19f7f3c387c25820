"""Runs split torch.export programs in torch, and compares them with the unsplit program, bit for bit: `cleave run` and `cleave
verify`.

Loads each partition with torch.export.load and calls them in the manifest's order. Every value is copied when it leaves a
partition, as between devices. The program is called several times with the same inputs, to test the state that it keeps.
root.pt2 (or the root in bundle.pt2) runs, too; it must compute the same, and have a submodule for each partition when it is
unflattened. A root that was written with --weights external gets its weights from the partitions.

The packages that an archive names are imported: those of classes of its inputs and outputs, and of operators. Needs torch 2.9 or
later.

As a library:  report = check_split("out", "model.pt2"); report.passed, report.lines()
"""

import contextlib
import copy
import importlib
import json
import logging
import shutil
import statistics
import sys
import tempfile
import time
import warnings
import zipfile
from functools import partial
from pathlib import Path

import torch
from torch.utils import _pytree as pytree

import child
import guard
from chains import CallChain, compare_calls, named, overlap_row, parts_of_targets, tell_outputs
from comparing import EXACT, chosen
from guard import BadFile, CannotRun, WrongUsage, counted
from reports import DIFFERS, NOT_RUN, Report, Row, time_text

sys.path.insert(1, str(Path(__file__).resolve().parent / "backends"))
import torch_programs
from worker import StageError

CALLS = 2


def content_of(value):
    """What is compared of a result: see comparing.py."""
    if isinstance(value, float):
        value = torch.tensor(value, dtype=torch.float64)
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach().cpu()
    layout = "" if value.layout == torch.strided else f", {value.layout}"
    value = value.int_repr() if value.is_quantized else value.to_dense() if layout else value
    kind = str(value.dtype).removeprefix("torch.")
    kind = {"float32": "float", "float64": "double"}.get(kind, kind)
    flat = value.resolve_conj().resolve_neg().contiguous().reshape(-1)
    data = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    return f"tensor({kind}{layout})", tuple(value.shape), data


def is_same(left, right):
    return content_of(left) == content_of(right)


def copied(value):
    """A copy with the same strides: kernels are chosen by them."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    if value.layout != torch.strided or any(
            stride == 0 and size > 1 for size, stride in zip(value.shape, value.stride())):
        return value.clone()
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype,
                               device=value.device).copy_(value)


def load_archive(path):
    """All programs of an archive, by name; archives of torch 2.7 and before have one. Raises BadFile."""
    failed = torch_programs.import_named(path)
    try:
        with zipfile.ZipFile(guard.regular(path)) as archive:
            is_old = "serialized_exported_program.json" in archive.namelist()
        if not is_old:
            with contextlib.suppress(ImportError):
                from torch.export.pt2_archive._package import load_pt2
                return dict(load_pt2(str(path)).exported_programs)
        return {"model": torch.export.load(str(path))}
    except guard.Fault:
        raise
    except Exception as error:  # whatever torch raises
        lacking = [one.name.partition(".")[0] for one in failed if isinstance(one, ModuleNotFoundError) and one.name]
        if lacking:
            raise guard.Missing(f"{path}: needs the Python module {lacking[0]} (pip install {lacking[0]}; --import MODULE registers "
                                "classes and operators of your own)") from error  # fmt: skip
        raise BadFile(f"{path}: torch does not load it: {type(error).__name__}: {guard.first_line(error)}; if it has operators or "
                      "classes of your own: --import MODULE names the Python module that registers them") from error  # fmt: skip


def program_of(path, folder):
    """The unsplit program of an archive: of several the one that the split in `folder` is of."""
    programs = load_archive(path)
    settings = guard.read_manifest(folder, guard.CHAIN).get("settings", {})
    wanted = settings.get("signature", "model")
    return programs[wanted] if wanted in programs else next(iter(programs.values()))


def lacking_records(archive):
    """Paths below the archive's folder of records that its tables name and that it does not have."""
    names = set(archive.namelist())
    top = archive.namelist()[0].partition("/")[0]
    for kind in ("weights", "constants"):
        config = f"{top}/data/{kind}/model_{kind}_config.json"
        if config not in names:
            continue
        for entry in json.loads(archive.read(config))["config"].values():
            path = f"data/{kind}/{entry['path_name']}"
            if f"{top}/{path}" not in names:
                yield path


def load_root(folder):
    """The programs of root.pt2 or bundle.pt2, by name: the root is "model". Records that a root of --weights external
    lacks come from the partitions."""
    folder = Path(folder)
    path = folder / "root.pt2"
    if not path.exists():
        return load_archive(folder / "bundle.pt2")
    with zipfile.ZipFile(path) as root:
        lacking = set(lacking_records(root))
        if not lacking:
            return load_archive(path)
        with tempfile.TemporaryDirectory() as scratch:
            whole = Path(scratch) / "root.pt2"
            with zipfile.ZipFile(whole, "w", zipfile.ZIP_STORED) as out:
                for name in root.namelist():
                    copy_record(root, name, out, name)
                top = root.namelist()[0].partition("/")[0]
                for part in sorted(folder.glob("*.pt2")):
                    if part != path and part.is_file():
                        take_records(part, lacking, out, top)
            if lacking:
                raise ValueError(f"{path}: no partition has the record {min(lacking)}")
            return load_archive(whole)


def copy_record(source, name, out, wanted):
    with source.open(name) as taken, out.open(wanted, "w", force_zip64=True) as given:
        shutil.copyfileobj(taken, given, 1 << 20)


def take_records(part, lacking, out, top):
    """Copies the records that a partition has of those that are lacking, and removes them from these."""
    with zipfile.ZipFile(part) as archive:
        for name in archive.namelist():
            path = name.partition("/")[2]
            if path in lacking:
                copy_record(archive, name, out, f"{top}/{path}")
                lacking.discard(path)


class Chain(CallChain):
    """The partitions of a split in torch, with the state that several of them use."""

    def __init__(self, folder, chain, program):
        super().__init__(chain)
        bundles = {}
        self.modules = []
        for part in chain["order"]:
            path = folder / part["file"]
            if path not in bundles or "model" not in part:
                bundles[path] = load_archive(path)
            programs = bundles[path]
            name = part.get("model", "model" if "model" in programs else next(iter(programs)))
            if name not in programs:
                raise BadFile(f'{path}: has no program "{name}"')
            self.modules.append(programs[name].module())
        for held in chain["state"]:
            target = held["target"]
            held_tensors = program.state_dict if target in program.state_dict else program.constants
            self.state[held["name"]] = copied(held_tensors[target])

    def call(self, i, values):
        part, own = self.chain["order"][i], set(self.chain["order"][i]["writes_inputs"])
        results = self.modules[i](*(values[name] if name in own else copied(values[name]) for name in part["inputs"]))
        if len(results) != len(part["outputs"]):
            raise BadFile(f'{part["name"]} makes {counted(len(results), "value")}, and the manifest says {len(part["outputs"])}')
        return {name: copied(value) for name, value in zip(part["outputs"], results)}

    def write_back(self, values):
        super().write_back(values)
        self.state = {name: copied(value) for name, value in self.state.items()}
        for mutation in self.chain["mutations"]:
            if mutation["kind"] == "user_input":
                values[mutation["target"]].copy_(values[mutation["value"]])

    def result(self, output, values):
        if isinstance(output, str):
            return values[output]
        [(kind, constant)] = output.items()
        return None if kind == "as_none" else constant


def inputs_of(program, options=None):
    """Arguments and keywords: the given ones, else those of the archive where the sizes agree, else random."""
    request = {}
    if options is not None:
        bound = guard.read_manifest(options.folder, guard.CHAIN).get("settings", {}).get("dims", {})
        guard.check_dims(dict(options.dim), bound)
        if options.inputs and not options.inputs.is_dir():
            guard.npz_file(options.inputs)
        request = {"given": options.inputs, "seed": options.seed, "dims": {**bound, **dict(options.dim)},
                   "texts": {name: guard.number_in(text) for name, text in options.set_input}}
        check_names(program, options)
    try:
        values, _ = torch_programs.find_inputs(request, program)
    except StageError as error:
        raise WrongUsage(str(error)) from error
    flat = iter(values)
    specs = [one.arg for one in program.graph_signature.input_specs if one.kind.name == "USER_INPUT"]
    leaves = [one.value if hasattr(one, "value") else next(flat) for one in specs]
    return pytree.tree_unflatten(leaves, program.call_spec.in_spec)


def check_names(program, options):
    known = {str(symbol) for symbol in program.range_constraints}
    for name, _ in options.dim:
        if name not in known:
            raise WrongUsage(f'the model has no symbolic dim "{name}" (it has: {", ".join(sorted(known)) or "none"})')


def run_once(function, inputs, flat):
    """Results, the inputs afterwards, and the seconds it took."""
    arguments, keywords = copy.deepcopy(inputs)
    torch.manual_seed(1)
    begin = time.perf_counter()
    with torch.no_grad():  # kernels are chosen by it: copies between parts carry no gradients
        results = function(pytree.tree_leaves((arguments, keywords))) if flat else function(*arguments, **keywords)
    seconds = time.perf_counter() - begin
    kept = [copied(value) for value in pytree.tree_flatten(results)[0]]
    return kept, pytree.tree_leaves((arguments, keywords)), seconds


def compare_runs(row, wanted, got, names, tolerance):
    """Fills in the row: the runs of several calls, with what they made of their inputs."""
    names = names if len(names) == len(wanted[0][0]) else [f"output {i}" for i in range(len(wanted[0][0]))]
    compare_calls(row, names, [one[0] for one in wanted], [one[0] for one in got], content_of, tolerance)
    after, inputs = Row(""), [f"input {i}, afterwards" for i in range(len(wanted[0][1]))]
    compare_calls(after, inputs, [one[1] for one in wanted], [one[1] for one in got], content_of, tolerance)
    row.faults += after.faults
    if row.faults:
        row.remarks += hints(wanted, got)


def hints(wanted, got):
    """What says that a difference in any call may be torch's own."""
    pairs = [pair for want, have in zip(wanted, got) for pair in zip(want[0], have[0])]
    pairs = [(a.double(), b.double()) for a, b in pairs if is_real(a) and is_real(b) and a.shape == b.shape and a.numel()]
    gaps = [torch.max(torch.abs(a - b) / (1 + torch.abs(a))).item() for a, b in pairs]
    if not gaps or not max(gaps) < 1e-4:
        return []
    return ["so small a difference may be torch's own: the order of its sums depends on the layout of what they read, and a partition "
            "that reads a copy, or that is compiled alone, may have another; --tolerance rtol=1e-4,atol=1e-5 allows it"]  # fmt: skip


def is_real(value):
    return isinstance(value, torch.Tensor) and value.dtype.is_floating_point and value.layout == torch.strided


def root_row(folder, chain, inputs, wanted, tolerance):
    row = Row("root.pt2" if (folder / "root.pt2").exists() else "the root in bundle.pt2")
    row.source = row.what
    child.tell(f"running {row.what}")
    try:
        program = load_root(folder)["model"]
        module = program.module()
        compare_runs(row, wanted, [run_once(module, inputs, False) for _ in wanted], names_of(chain), tolerance)
        children = dict(torch.export.unflatten(program).named_children())
        if len(children) < len(chain["order"]):
            row.fault(DIFFERS, f"unflattened it has {counted(len(children), 'submodule')} for {len(chain['order'])} partitions")
    except Exception as error:
        row.ran = "no"
        row.fault(NOT_RUN, refusal(error))
    return row


def names_of(chain):
    """Of the outputs; those that are constants have numbers."""
    return [one if isinstance(one, str) else f"output {i}" for i, one in enumerate(chain["outputs"])]


def open_chain(folder, chain_json, program):
    """The Chain, or why torch refuses it. Before the program runs, which may change the state that the chain begins with."""
    child.tell("running the chain")
    try:
        return Chain(folder, chain_json, program)
    except guard.Fault:
        raise
    except Exception as error:
        return refusal(error)


def call_in_thread(chain, i, values):
    """Chain.call() in any thread: each has settings of its own, by which kernels are chosen."""
    torch.set_num_threads(1)
    with torch.no_grad():
        return chain.call(i, values)


def refusal(error):
    return f"torch refuses it: {type(error).__name__}: {guard.first_line(error)}"


def chain_row(chain_json, chain, inputs, wanted, tolerance):
    """The row about what open_chain() gave; and its runs, none where it does not run."""
    parts = counted(len(chain_json["order"]), "partition")
    row, got = Row(f"chain of {parts}", source=f"the chain of {parts}", ran="no"), []
    if isinstance(chain, str):
        row.fault(NOT_RUN, chain)
        return row, got
    child.tell("running the chain")
    try:
        got = [run_once(chain, inputs, True) for _ in wanted]
    except guard.Fault:
        raise
    except Exception as error:
        row.fault(NOT_RUN, refusal(error))
        return row, got
    row.time = time_text(statistics.median(seconds for *_, seconds in got))
    compare_runs(row, wanted, got, names_of(chain_json), tolerance)
    return row, got


def check_split(folder, model=None, calls=CALLS, with_root=True, tolerance=EXACT, options=None, others=()):
    """The Report on a split; without a model its root stands for it. `options`: of inputs; `others`: functions of the program
    and its inputs that give more inputs, for a row each, or None."""
    folder = Path(folder)
    chain_json = guard.read_chain(folder, guard.TORCH)
    child.tell(child.ORIGINAL)
    program = program_of(model, folder) if model else load_root(folder)["model"]
    check_original(program, chain_json, model or folder)
    chain = open_chain(folder, chain_json, program)
    whole, inputs = program.module(), inputs_of(program, options)
    original = Row("original", ran="yes")
    child.tell(child.ORIGINAL)
    try:
        wanted = [run_once(whole, inputs, False) for _ in range(calls)]
    except Exception as error:
        raise CannotRun(f"torch does not run it: {type(error).__name__}: {guard.first_line(error)}") from error
    original.time = time_text(statistics.median(seconds for *_, seconds in wanted))
    row, got = chain_row(chain_json, chain, inputs, wanted, tolerance)
    rows = [original, *([root_row(folder, chain_json, inputs, wanted, tolerance)] if with_root and model else []), row]
    for number, other in enumerate((one(program, inputs) for one in others if got), 1):
        if other is not None:
            row = Row(f"chain, other inputs {number}")
            compare_runs(row, [run_once(whole, other, False)], [run_once(chain, other, True)], names_of(chain_json), tolerance)
            rows.append(row)
    return Report(rows, len(chain_json["outputs"]), calls=calls)


def check_original(program, chain, path):
    """Raises BadFile where the program is another than the one that was split."""
    names = [one.arg.name for one in program.graph_signature.input_specs if one.kind.name == "USER_INPUT"]
    known = [name for name in chain["inputs"] if name is not None]
    if len(names) != len(chain["inputs"]) or not set(known) <= set(names):
        raise BadFile(f"{path}: takes {names}, and the model that was split takes {known}: it is another model")


def import_modules(options):
    if options.ep:
        raise WrongUsage("--ep is for ONNX Runtime, and this is a program of torch")
    if options.modules:
        sys.path.insert(0, "")  # modules of the folder that one works in
    for module in options.modules:
        importlib.import_module(module)


def verify(options):
    """The Report of `cleave verify`."""
    import_modules(options)
    be_quiet()
    return check_split(options.folder, options.model, options.times or CALLS, tolerance=chosen(options), options=options)


def run(options):
    """The Report of `cleave run`: the chain against the root."""
    import_modules(options)
    be_quiet()
    folder, times = options.folder, options.times or 1
    chain_json = guard.read_chain(folder, guard.TORCH)
    targets = parts_of_targets(folder) if options.overlap else []
    child.tell(f"{child.ORIGINAL}, the root")
    program = load_root(folder)["model"]
    inputs = inputs_of(program, options)
    chain = open_chain(folder, chain_json, program)
    whole, order = program.module(), chain_json["order"]
    child.tell(f"{child.ORIGINAL}, the root")
    wanted = [run_once(whole, inputs, False) for _ in range(times)]
    row, got = chain_row(chain_json, chain, inputs, wanted, chosen(options))
    row.source = "the root and the chain"
    report = Report([row], len(chain_json["outputs"]), f"ran: {counted(len(order), 'partition')}", times)
    if not got:
        return report
    report.rows[:0] = chain.rows()
    first = named(names_of(chain_json), got[0][0], content_of)
    if options.overlap:
        again = Chain(folder, chain_json, load_root(folder)["model"])
        steps = {part["name"]: partial(call_in_thread, again, i) for i, part in enumerate(order)}
        given = again.given(pytree.tree_leaves(copy.deepcopy(inputs)))
        compared = {name: one for name, one in first.items() if name in chain_json["outputs"]}
        report.rows.append(overlap_row(targets, steps, given, compared, content_of, report.facts))
    tell_outputs(report, options, first)
    return report


def be_quiet():
    """One thread, so that the same kernels compute, and no warnings."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
