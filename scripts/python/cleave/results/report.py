"""cleave.report, version 1, as dataclasses. Made by make_results.py from report.schema.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .common import Chain, ChainInit, ChainOrder, CoverageFlops, File, OpenDim, OpenNumber, Share, State, Value

ReportState = State
ReportShare = Share
ReportCoverageFlops = CoverageFlops
ReportOpenDim = OpenDim
ReportOpenNumber = OpenNumber
ReportValue = Value
ReportChainOrder = ChainOrder
ReportChainInit = ChainInit
ReportChain = Chain
ReportFile = File


@dataclass(frozen=True, kw_only=True)
class ReportModel:
    path: str
    format: Literal["json", "onnx", "pt2", "tflite"]
    name: str
    nodes: int
    values: int
    parameters: int
    parameter_bytes: int
    # Equal for models that have the same split under the same list and settings: 16 digits.
    fingerprint: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportModel:
        return cls(
            path=data["path"],
            format=data["format"],
            name=data["name"],
            nodes=data["nodes"],
            values=data["values"],
            parameters=data["parameters"],
            parameter_bytes=data["parameter_bytes"],
            fingerprint=data["fingerprint"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportSettings:
    # Where types of an ONNX model come from; native JSON states them.
    infer: Literal["off", "file", "full"]
    # What is done with what is known before the model runs.
    fold: Literal["off", "report", "write"] | None = None
    # Symbolic dims that were bound.
    dims: dict[str, int] | None = None
    # Shapes that inputs were given; null: a dim left open.
    input_shapes: dict[str, list[int | None]] | None = None
    # Values that inputs of one element were given.
    set_inputs: dict[str, str] | None = None
    # The signature of a TensorFlow Lite model, or the program of a torch.export archive, that was asked for.
    signature: str | None = None
    # Outputs of the model by the inputs whose next values they are, that were given.
    state: dict[str, str] | None = None
    min_acc_module_size: int
    skip_fusion: bool
    allow_non_tensor: bool
    move_non_tensor: bool
    keep_qdq: bool
    host_shapes: bool
    place: Literal["priority", "order", "cost", "energy"]
    min_gain: str
    residency: Literal["off", "on"]
    start: Literal["reference", "cpu", "acc", "fewest"]
    pack: Literal["early", "bytes"]
    keep_acc_subgraphs: int | None
    keep_by: Literal["flops", "time", "nodes", "latency"]
    extend: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportSettings:
        return cls(
            infer=data["infer"],
            fold=data.get("fold"),
            dims=data.get("dims"),
            input_shapes=data.get("input_shapes"),
            set_inputs=data.get("set_inputs"),
            signature=data.get("signature"),
            state=data.get("state"),
            min_acc_module_size=data["min_acc_module_size"],
            skip_fusion=data["skip_fusion"],
            allow_non_tensor=data["allow_non_tensor"],
            move_non_tensor=data["move_non_tensor"],
            keep_qdq=data["keep_qdq"],
            host_shapes=data["host_shapes"],
            place=data["place"],
            min_gain=data["min_gain"],
            residency=data["residency"],
            start=data["start"],
            pack=data["pack"],
            keep_acc_subgraphs=data["keep_acc_subgraphs"],
            keep_by=data["keep_by"],
            extend=data["extend"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportSupportRuntime:
    """Where a list is about ONNX Runtime's graph: what the runtime makes of what it accepts. Of several targets each
    has its own."""

    # Of its main graph.
    nodes: int
    # Of these.
    accepted: int
    # That the provider gets.
    partitions: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportSupportRuntime:
        return cls(
            nodes=data["nodes"],
            accepted=data["accepted"],
            partitions=data["partitions"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportSupport:
    name: str
    files: list[str]
    # Copies of the lists, for later comparisons.
    contents: list[str]
    # A node must be accepted by each list, not by any of them.
    all_of: bool
    # The graph that the lists were held against, where the user says so.
    as_: Literal["model", "onnxruntime"] | None = None
    # Where a list is about ONNX Runtime's graph: what the runtime makes of what it accepts. Of several targets each has
    # its own.
    runtime: ReportSupportRuntime | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportSupport:
        return cls(
            name=data["name"],
            files=data["files"],
            contents=data["contents"],
            all_of=data["all_of"],
            as_=data.get("as"),
            runtime=(ReportSupportRuntime.from_json(data["runtime"])) if "runtime" in data else None,
        )


@dataclass(frozen=True, kw_only=True)
class ReportCoverage:
    """Of the accelerator partitions."""

    nodes: ReportShare
    # Of nodes whose FLOPs are known.
    flops: ReportCoverageFlops
    # acc: read by the partitions or nodes that are there, perhaps also by others.
    parameter_bytes: ReportShare

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportCoverage:
        return cls(
            nodes=ReportShare.from_json(data["nodes"]),
            flops=ReportCoverageFlops.from_json(data["flops"]),
            parameter_bytes=ReportShare.from_json(data["parameter_bytes"]),
        )


@dataclass(frozen=True, kw_only=True)
class ReportVerdictCriteria:
    name: Literal["speedup", "work", "partitions", "flops_per_byte"]
    value: float
    # The least value of a yes; of partitions the most.
    yes: float
    # The same of a maybe.
    maybe: float
    answer: Literal["yes", "maybe", "no"]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportVerdictCriteria:
        return cls(
            name=data["name"],
            value=data["value"],
            yes=data["yes"],
            maybe=data["maybe"],
            answer=data["answer"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportVerdict:
    """Whether the split is worth it; null for a model without nodes. With times one criterion: `speedup` against the
    CPU alone. Without: the share of the `work` on the accelerator, accelerator `partitions` against the work in them,
    and `flops_per_byte` that crosses the link. The worst decides."""

    answer: Literal["yes", "maybe", "no"]
    why: str
    # What is counted as work: FLOPs, those at the first sizes of `open_sizes`, nodes where FLOPs are not known; nothing
    # where times are.
    basis: Literal["flops", "flops_at_first_sizes", "nodes", "times"]
    criteria: list[ReportVerdictCriteria]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportVerdict:
        return cls(
            answer=data["answer"],
            why=data["why"],
            basis=data["basis"],
            criteria=[ReportVerdictCriteria.from_json(item) for item in data["criteria"]],
        )


@dataclass(frozen=True, kw_only=True)
class ReportOpenSizesPartition:
    name: str
    flops: ReportOpenNumber
    input_bytes: ReportOpenNumber
    output_bytes: ReportOpenNumber

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportOpenSizesPartition:
        return cls(
            name=data["name"],
            flops=ReportOpenNumber.from_json(data["flops"]),
            input_bytes=ReportOpenNumber.from_json(data["input_bytes"]),
            output_bytes=ReportOpenNumber.from_json(data["output_bytes"]),
        )


@dataclass(frozen=True, kw_only=True)
class ReportOpenSizes:
    """How work and bytes depend on open dims; null where none is open or it is not known, and outside of preview."""

    # Open dims of the inputs, with the first size that was tried and the step to the others; 0: only that size fits the
    # model.
    dims: dict[str, ReportOpenDim]
    # Expressions hold at the sizes of the steps only: strides round.
    is_for_steps: bool
    flops: ReportOpenNumber
    acc_flops: ReportOpenNumber
    partitions: list[ReportOpenSizesPartition]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportOpenSizes:
        return cls(
            dims={key: ReportOpenDim.from_json(item) for key, item in data["dims"].items()},
            is_for_steps=data["is_for_steps"],
            flops=ReportOpenNumber.from_json(data["flops"]),
            acc_flops=ReportOpenNumber.from_json(data["acc_flops"]),
            partitions=[ReportOpenSizesPartition.from_json(item) for item in data["partitions"]],
        )


@dataclass(frozen=True, kw_only=True)
class ReportHostShapes:
    """Shape computations that follow the nodes that use them; null without --host-shapes."""

    nodes: list[str]
    # Those of them that are on the accelerator although no list accepts them.
    to_acc: int
    # Those on the CPU although a list accepts them.
    to_cpu: int
    # After merging small ones.
    subgraphs: int
    subgraphs_without: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportHostShapes:
        return cls(
            nodes=data["nodes"],
            to_acc=data["to_acc"],
            to_cpu=data["to_cpu"],
            subgraphs=data["subgraphs"],
            subgraphs_without=data["subgraphs_without"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportPattern:
    name: str
    file: str
    line: int
    nodes: list[str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportPattern:
        return cls(
            name=data["name"],
            file=data["file"],
            line=data["line"],
            nodes=data["nodes"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportSubgraphsBefore:
    is_acc: bool
    nodes: list[str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportSubgraphsBefore:
        return cls(
            is_acc=data["is_acc"],
            nodes=data["nodes"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportCap:
    """Subgraphs that went to the CPU because they exceeded the number to keep; null: none."""

    # Accelerator subgraphs.
    kept: int
    subgraphs: int
    nodes: int
    # Of nodes whose FLOPs are known.
    flops: float
    # Bytes that no longer cross.
    link_bytes: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportCap:
        return cls(
            kept=data["kept"],
            subgraphs=data["subgraphs"],
            nodes=data["nodes"],
            flops=data["flops"],
            link_bytes=data["link_bytes"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportPartLimits:
    """What limits of the support lists on a whole partition did; absent: nothing was beyond them."""

    # Accelerator subgraphs that were beyond a limit.
    subgraphs: int
    # Accelerator subgraphs made of them.
    pieces: int
    # Nodes that went to the CPU.
    nodes: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportPartLimits:
        return cls(
            subgraphs=data["subgraphs"],
            pieces=data["pieces"],
            nodes=data["nodes"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportExtensionsLeftOut:
    partition: str
    # Nodes that would have moved.
    nodes: int
    limit: Literal["max_nodes", "max_parameter_bytes", "max_inputs", "max_outputs", "max_activation_bytes"]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportExtensionsLeftOut:
        return cls(
            partition=data["partition"],
            nodes=data["nodes"],
            limit=data["limit"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportTargetRuntime:
    """What ONNX Runtime makes of it, as of one target in support."""

    # Of its main graph.
    nodes: int
    # Of these.
    accepted: int
    # That the provider gets.
    partitions: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportTargetRuntime:
        return cls(
            nodes=data["nodes"],
            accepted=data["accepted"],
            partitions=data["partitions"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportMachineCpuEnergy:
    pj_per_flop: float
    # Of its memory.
    pj_per_byte: float
    mj_per_launch: float

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportMachineCpuEnergy:
        return cls(
            pj_per_flop=data["pj_per_flop"],
            pj_per_byte=data["pj_per_byte"],
            mj_per_launch=data["mj_per_launch"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportMachineCpu:
    # A second; null: unknown.
    flops: float | None
    # Bytes a second of its memory; null: unknown.
    bandwidth: float | None
    # Of any node. Microseconds.
    node_us: float
    energy: ReportMachineCpuEnergy | None = None
    # Of a CPU partition. Microseconds.
    launch_us: float | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportMachineCpu:
        return cls(
            flops=data["flops"],
            bandwidth=data["bandwidth"],
            node_us=data["node_us"],
            energy=(ReportMachineCpuEnergy.from_json(data["energy"])) if "energy" in data else None,
            launch_us=data.get("launch_us"),
        )


@dataclass(frozen=True, kw_only=True)
class ReportMachineAccEnergy:
    pj_per_flop: float
    # Of its memory.
    pj_per_byte: float
    mj_per_launch: float

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportMachineAccEnergy:
        return cls(
            pj_per_flop=data["pj_per_flop"],
            pj_per_byte=data["pj_per_byte"],
            mj_per_launch=data["mj_per_launch"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportMachineAcc:
    # A second; null: unknown.
    flops: float | None
    # Bytes a second of its memory; null: unknown.
    bandwidth: float | None
    # Of any node. Microseconds.
    node_us: float
    energy: ReportMachineAccEnergy | None = None
    # Microseconds. null: not known.
    launch_us: float | None
    # Bytes; null: unknown.
    memory: int | None
    # null: no limit.
    max_subgraphs: int | None
    duplex: Literal["half", "full"]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportMachineAcc:
        return cls(
            flops=data["flops"],
            bandwidth=data["bandwidth"],
            node_us=data["node_us"],
            energy=(ReportMachineAccEnergy.from_json(data["energy"])) if "energy" in data else None,
            launch_us=data["launch_us"],
            memory=data["memory"],
            max_subgraphs=data["max_subgraphs"],
            duplex=data["duplex"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportMachine:
    cpu: ReportMachineCpu
    acc: ReportMachineAcc

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportMachine:
        return cls(
            cpu=ReportMachineCpu.from_json(data["cpu"]),
            acc=ReportMachineAcc.from_json(data["acc"]),
        )


@dataclass(frozen=True, kw_only=True)
class ReportTargetLatency:
    """What its partitions take of an inference."""

    # Microseconds. null: not known.
    compute_us: float | None
    # Microseconds. null: not known.
    link_us: float | None
    # Microseconds. null: not known.
    launch_us: float | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportTargetLatency:
        return cls(
            compute_us=data["compute_us"],
            link_us=data["link_us"],
            launch_us=data["launch_us"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportTarget:
    name: str
    # Its lists, by their places in support / files.
    lists: list[int]
    partitions: int
    nodes: int
    # Of nodes whose FLOPs are known; null: of none.
    flops: float | None
    # Read by its partitions, each once.
    parameter_bytes: int
    # What ONNX Runtime makes of it, as of one target in support.
    runtime: ReportTargetRuntime | None = None
    min_acc_module_size: int | None = None
    # The most partitions; null: no limit.
    keep_acc_subgraphs: int | None = None
    # Of its link, bytes per second, one direction.
    bandwidth: float | None = None
    # Inferences per second that its link allows; null: unknown, or no bound.
    qps: float | None = None
    # The most that it holds at once: weights, and values while they are used; null: sizes are not known.
    peak_bytes: int | None = None
    # Numbers of --target and of support lists.
    machine: ReportMachine | None = None
    # What its partitions take of an inference.
    latency: ReportTargetLatency | None = None
    # Target: bytes that this one makes and that one reads, for each partition that reads them, for the CPU once; null:
    # sizes are not known.
    bytes_to: dict[str, int | None]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportTarget:
        return cls(
            name=data["name"],
            lists=data["lists"],
            partitions=data["partitions"],
            nodes=data["nodes"],
            flops=data["flops"],
            parameter_bytes=data["parameter_bytes"],
            runtime=(ReportTargetRuntime.from_json(data["runtime"])) if "runtime" in data else None,
            min_acc_module_size=data.get("min_acc_module_size"),
            keep_acc_subgraphs=data.get("keep_acc_subgraphs"),
            bandwidth=data.get("bandwidth"),
            qps=data.get("qps"),
            peak_bytes=data.get("peak_bytes"),
            machine=(ReportMachine.from_json(data["machine"])) if "machine" in data else None,
            latency=(ReportTargetLatency.from_json(data["latency"])) if "latency" in data else None,
            bytes_to=data["bytes_to"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportPartitionLatency:
    """Of its nodes, of what crosses the link for it, of its launch."""

    # Microseconds. null: not known.
    compute_us: float | None
    # Microseconds. null: not known.
    link_us: float | None
    # Microseconds. null: not known.
    launch_us: float | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportPartitionLatency:
        return cls(
            compute_us=data["compute_us"],
            link_us=data["link_us"],
            launch_us=data["launch_us"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportPartition:
    name: str
    # The partition's file in the manifest's folder; null: none was written.
    file: str | None
    is_acc: bool
    # The target that runs it, or cpu; left out where the only one is acc.
    target: str | None = None
    # Several targets: the partitions whose outputs it reads.
    after: list[str] | None = None
    nodes: list[str]
    inputs: list[ReportValue]
    outputs: list[ReportValue]
    parameters: list[str]
    parameter_bytes: int
    # For tensors of known size.
    input_bytes: int
    output_bytes: int
    # Of nodes whose FLOPs are known.
    flops: float
    # null: on the CPU, or not limited by the link.
    qps: float | None
    # Of its nodes, of what crosses the link for it, of its launch.
    latency: ReportPartitionLatency | None = None
    # With residency: values that stay on the accelerator after the partition.
    keep: list[str] | None = None
    # Inputs that are there already.
    resident: list[str] | None = None
    # Values that no later partition there reads.
    free: list[str] | None = None
    # The first partition that differs in names and weights only; null: none before.
    same_shape_as: str | None
    hazards: list[str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportPartition:
        return cls(
            name=data["name"],
            file=data["file"],
            is_acc=data["is_acc"],
            target=data.get("target"),
            after=data.get("after"),
            nodes=data["nodes"],
            inputs=[ReportValue.from_json(item) for item in data["inputs"]],
            outputs=[ReportValue.from_json(item) for item in data["outputs"]],
            parameters=data["parameters"],
            parameter_bytes=data["parameter_bytes"],
            input_bytes=data["input_bytes"],
            output_bytes=data["output_bytes"],
            flops=data["flops"],
            qps=data["qps"],
            latency=(ReportPartitionLatency.from_json(data["latency"])) if "latency" in data else None,
            keep=data.get("keep"),
            resident=data.get("resident"),
            free=data.get("free"),
            same_shape_as=data["same_shape_as"],
            hazards=data["hazards"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportLink:
    """null: the link limits no accelerator partition, or bytes that cross it are unknown. Rates are inferences per
    second."""

    # Bytes per second, one direction.
    bandwidth: float
    name: str
    max_qps: float
    bottleneck: str
    max_qps_half_duplex: float
    # All partitions share the link.
    shared_qps: float
    shared_qps_half_duplex: float

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportLink:
        return cls(
            bandwidth=data["bandwidth"],
            name=data["name"],
            max_qps=data["max_qps"],
            bottleneck=data["bottleneck"],
            max_qps_half_duplex=data["max_qps_half_duplex"],
            shared_qps=data["shared_qps"],
            shared_qps_half_duplex=data["shared_qps_half_duplex"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportLatency:
    """Of one inference, part after part, with the residency of the settings."""

    # Microseconds. null: not known.
    total_us: float | None
    # Microseconds. null: not known.
    cpu_us: float | None
    # Microseconds. null: not known.
    acc_us: float | None
    # Microseconds. null: not known.
    link_us: float | None
    # Microseconds. null: not known.
    launch_us: float | None
    # Accelerator partitions.
    launches: int
    # Without an accelerator. Microseconds. null: not known.
    all_cpu_us: float | None
    # Of the best placement that a search found. Microseconds. null: not known.
    best_us: float | None
    # No placement is faster. Microseconds. null: not known.
    bound_us: float | None
    # Every node's time on its device was measured.
    is_measured: bool

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportLatency:
        return cls(
            total_us=data["total_us"],
            cpu_us=data["cpu_us"],
            acc_us=data["acc_us"],
            link_us=data["link_us"],
            launch_us=data["launch_us"],
            launches=data["launches"],
            all_cpu_us=data["all_cpu_us"],
            best_us=data["best_us"],
            bound_us=data["bound_us"],
            is_measured=data["is_measured"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportResidency:
    # In and out. null: not known.
    link_bytes: int | None
    # null: not known.
    shared_qps: float | None
    # Microseconds. null: not known.
    total_us: float | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportResidency:
        return cls(
            link_bytes=data["link_bytes"],
            shared_qps=data["shared_qps"],
            total_us=data["total_us"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportResidencyField:
    """The accelerator keeps values until their last reader there has run (on), or is sent them each time (off)."""

    is_on: bool
    off: ReportResidency
    on: ReportResidency
    # The most bytes of values that it holds at once. null: not known.
    peak_bytes: int | None
    # Where that is; null: nowhere.
    peak_partition: str | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportResidencyField:
        return cls(
            is_on=data["is_on"],
            off=ReportResidency.from_json(data["off"]),
            on=ReportResidency.from_json(data["on"]),
            peak_bytes=data["peak_bytes"],
            peak_partition=data["peak_partition"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportEnergy:
    """Several targets: millijoules of one inference; null: not known."""

    total_mj: float
    devices: dict[str, float]
    # null: not known.
    all_cpu_mj: float | None
    # No placement takes less; null: not placed for energy.
    bound_mj: float | None
    # With the targets asked in order; null: not placed for energy.
    in_order_mj: float | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportEnergy:
        return cls(
            total_mj=data["total_mj"],
            devices=data["devices"],
            all_cpu_mj=data["all_cpu_mj"],
            bound_mj=data["bound_mj"],
            in_order_mj=data["in_order_mj"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportDirectLink:
    from_: str
    to: str
    # Bytes a second; null: no limit.
    bandwidth: float | None
    # false: the way by the CPU's memory is as fast.
    is_used: bool

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportDirectLink:
        return cls(
            from_=data["from"],
            to=data["to"],
            bandwidth=data["bandwidth"],
            is_used=data["is_used"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportSchedulePartition:
    name: str
    # Microseconds.
    start_us: float
    # Microseconds.
    end_us: float

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportSchedulePartition:
        return cls(
            name=data["name"],
            start_us=data["start_us"],
            end_us=data["end_us"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportSchedule:
    """With --overlap: partitions of different devices run at the same time."""

    # Microseconds.
    total_us: float
    # Each waits for the one before it.
    critical: list[str]
    partitions: list[ReportSchedulePartition]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportSchedule:
        return cls(
            total_us=data["total_us"],
            critical=data["critical"],
            partitions=[ReportSchedulePartition.from_json(item) for item in data["partitions"]],
        )


@dataclass(frozen=True, kw_only=True)
class ReportCostInputDim:
    name: str
    size: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportCostInputDim:
        return cls(
            name=data["name"],
            size=data["size"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportCostLargestUnmatched:
    name: str
    op: str
    # Microseconds.
    us: float

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportCostLargestUnmatched:
        return cls(
            name=data["name"],
            op=data["op"],
            us=data["us"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportCost:
    target: str
    file: str
    format: str
    # That times are medians of.
    runs: int
    # Microseconds.
    total_us: float
    # Microseconds.
    matched_us: float
    us_by_rule: dict[str, float]
    measured_nodes: int
    # Of these, without a kernel of their own.
    fused_nodes: int
    # Values whose dims are those of the run.
    observed_shapes: int
    # Kernels whose shapes differ from the model's and were left out.
    contradicted_kernels: int
    # Dims of the model's inputs that the profile saw; they bind the symbolic ones.
    input_dims: list[ReportCostInputDim]
    calibrated_ops: int
    unmatched_kernels: int
    # At most 10.
    largest_unmatched: list[ReportCostLargestUnmatched]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportCost:
        return cls(
            target=data["target"],
            file=data["file"],
            format=data["format"],
            runs=data["runs"],
            total_us=data["total_us"],
            matched_us=data["matched_us"],
            us_by_rule=data["us_by_rule"],
            measured_nodes=data["measured_nodes"],
            fused_nodes=data["fused_nodes"],
            observed_shapes=data["observed_shapes"],
            contradicted_kernels=data["contradicted_kernels"],
            input_dims=[ReportCostInputDim.from_json(item) for item in data["input_dims"]],
            calibrated_ops=data["calibrated_ops"],
            unmatched_kernels=data["unmatched_kernels"],
            largest_unmatched=[ReportCostLargestUnmatched.from_json(item) for item in data["largest_unmatched"]],
        )


@dataclass(frozen=True, kw_only=True)
class ReportFailed:
    condition: Literal["type", "attribute", "shape", "opset", "constant", "given", "outputs_used", "rank", "max_rank", "dim", "inputs_all", "inputs_same", "input_shape", "values", "layout", "absent_attribute", "where", "quantized"]
    subject: str
    expected: str
    actual: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportFailed:
        return cls(
            condition=data["condition"],
            subject=data["subject"],
            expected=data["expected"],
            actual=data["actual"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportCpuReason:
    node: str
    code: Literal["no_rule", "rule_failed", "denied", "non_tensor_input", "non_tensor_output", "fusion_group", "small_subgraph", "host_shape", "qdq_group", "over_cap", "costs_more", "shared_memory", "part_limit", "pattern_failed", "pattern_group", "runtime_graph", "part_condition"]
    # The reason in words.
    detail: str
    # The node to blame; null: none.
    because: str | None
    # rule_failed: the conditions of the rule that the node does not meet.
    failed: list[ReportFailed] | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportCpuReason:
        return cls(
            node=data["node"],
            code=data["code"],
            detail=data["detail"],
            because=data["because"],
            failed=([ReportFailed.from_json(item) for item in data["failed"]]) if "failed" in data else None,
        )


@dataclass(frozen=True, kw_only=True)
class ReportTargetReason:
    node: str
    target: str
    code: Literal["no_rule", "rule_failed", "denied", "non_tensor_input", "non_tensor_output", "fusion_group", "small_subgraph", "host_shape", "qdq_group", "over_cap", "costs_more", "shared_memory", "part_limit", "pattern_failed", "pattern_group", "runtime_graph", "part_condition"]
    # The reason in words.
    detail: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportTargetReason:
        return cls(
            node=data["node"],
            target=data["target"],
            code=data["code"],
            detail=data["detail"],
        )


@dataclass(frozen=True, kw_only=True)
class ReportUnchecked:
    file: str
    # Index among the list's allow rules, or its patterns.
    rule: int
    is_pattern: bool
    line: int
    unchecked: str
    nodes: list[str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ReportUnchecked:
        return cls(
            file=data["file"],
            rule=data["rule"],
            is_pattern=data["is_pattern"],
            line=data["line"],
            unchecked=data["unchecked"],
            nodes=data["nodes"],
        )


@dataclass(frozen=True, kw_only=True)
class Report:
    """The result of a split: `preview --json`, and manifest.json of `split`. Names of nodes are in model order,
    partitions in call order."""

    format: Literal["cleave.report"]
    version: int
    name: str | None = None
    # Its sizes, besides those that all phases have.
    dims: dict[str, int] | None = None
    # The targets that it may use; empty: all.
    on: list[str] | None = None
    # The file that calls its partitions; null: none was written.
    root: str | None = None
    # That a run takes; null: not known.
    tokens: int | None = None
    # For the tokens of the report; null: not known.
    runs: int | None = None
    model: ReportModel
    # What one step of the model hands to the next.
    state: list[ReportState] | None = None
    settings: ReportSettings
    support: ReportSupport
    # Of the accelerator partitions.
    coverage: ReportCoverage
    # Whether the split is worth it; null for a model without nodes. With times one criterion: `speedup` against the CPU
    # alone. Without: the share of the `work` on the accelerator, accelerator `partitions` against the work in them, and
    # `flops_per_byte` that crosses the link. The worst decides.
    verdict: ReportVerdict | None
    # How work and bytes depend on open dims; null where none is open or it is not known, and outside of preview.
    open_sizes: ReportOpenSizes | None
    constants: list[str]
    # Shape computations that follow the nodes that use them; null without --host-shapes.
    host_shapes: ReportHostShapes | None
    # After the acc finder.
    acc_nodes_found: list[str]
    # After fusion groups and Q/DQ groups.
    acc_nodes: list[str]
    # Nodes that move together; with --keep-qdq also those of Q/DQ groups.
    fusion_groups: list[list[str]]
    # The groups DQ..op..Q of the model, whole on the accelerator or not; with --keep-qdq.
    qdq_groups: list[list[str]]
    # Matches of the lists' patterns, each with its nodes by op of the pattern.
    patterns: list[ReportPattern]
    # Before small ones were merged.
    subgraphs_before: list[ReportSubgraphsBefore]
    # Subgraphs that went to the CPU because they exceeded the number to keep; null: none.
    cap: ReportCap | None
    # What limits of the support lists on a whole partition did; absent: nothing was beyond them.
    part_limits: ReportPartLimits | None = None
    # Nodes that --extend moved.
    extended: list[str]
    # Accelerator partitions that --extend left as they are: with these nodes, a partition would be beyond this limit of
    # a support list; absent: none.
    extensions_left_out: list[ReportExtensionsLeftOut] | None = None
    # Accelerator partitions that differ in more than names and weights.
    distinct_acc_partitions: int
    # Several targets: each in the order in which it is asked, and last the CPU. Left out where there is one.
    targets: list[ReportTarget] | None = None
    partitions: list[ReportPartition]
    # Node: partition.
    node_map: dict[str, str]
    # null: the link limits no accelerator partition, or bytes that cross it are unknown. Rates are inferences per
    # second.
    link: ReportLink | None
    # Targets whose link nobody stated: their rates and times are at 100GiB/s.
    assumed_links: list[str]
    # Numbers of --target and of support lists.
    machine: ReportMachine | None = None
    # Of one inference, part after part, with the residency of the settings.
    latency: ReportLatency | None = None
    # The accelerator keeps values until their last reader there has run (on), or is sent them each time (off).
    residency: ReportResidencyField | None = None
    # Several targets that were placed for latency: with them asked in order instead; null: they were not. Microseconds.
    in_order_us: float | None = None
    # Several targets: millijoules of one inference; null: not known.
    energy: ReportEnergy | None = None
    # Several targets: links between two of them.
    direct_links: list[ReportDirectLink] | None = None
    # With --overlap: partitions of different devices run at the same time.
    schedule: ReportSchedule | None = None
    # The files of --costs.
    costs: list[ReportCost] | None = None
    # Every node on the CPU.
    cpu_reasons: list[ReportCpuReason]
    # Several targets: why each does not run the nodes that it was asked for.
    target_reasons: list[ReportTargetReason] | None = None
    # Nodes that are accepted by rules which leave a condition of the vendor's unchecked.
    unchecked: list[ReportUnchecked]
    # How to call the partitions of a torch.export program or a TensorFlow Lite model one after the other.
    chain: ReportChain | None = None
    notes: list[str]
    # Only of `lower --show preview`: a document of lowering.schema.json.
    lowering: Any = None
    # Only in manifest.json: the other files in its folder. --force removes only files that are listed here, by name and
    # size.
    files: list[ReportFile] | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Report:
        return cls(
            format=data["format"],
            version=data["version"],
            name=data.get("name"),
            dims=data.get("dims"),
            on=data.get("on"),
            root=data.get("root"),
            tokens=data.get("tokens"),
            runs=data.get("runs"),
            model=ReportModel.from_json(data["model"]),
            state=([ReportState.from_json(item) for item in data["state"]]) if "state" in data else None,
            settings=ReportSettings.from_json(data["settings"]),
            support=ReportSupport.from_json(data["support"]),
            coverage=ReportCoverage.from_json(data["coverage"]),
            verdict=None if data["verdict"] is None else ReportVerdict.from_json(data["verdict"]),
            open_sizes=None if data["open_sizes"] is None else ReportOpenSizes.from_json(data["open_sizes"]),
            constants=data["constants"],
            host_shapes=None if data["host_shapes"] is None else ReportHostShapes.from_json(data["host_shapes"]),
            acc_nodes_found=data["acc_nodes_found"],
            acc_nodes=data["acc_nodes"],
            fusion_groups=data["fusion_groups"],
            qdq_groups=data["qdq_groups"],
            patterns=[ReportPattern.from_json(item) for item in data["patterns"]],
            subgraphs_before=[ReportSubgraphsBefore.from_json(item) for item in data["subgraphs_before"]],
            cap=None if data["cap"] is None else ReportCap.from_json(data["cap"]),
            part_limits=(ReportPartLimits.from_json(data["part_limits"])) if "part_limits" in data else None,
            extended=data["extended"],
            extensions_left_out=([ReportExtensionsLeftOut.from_json(item) for item in data["extensions_left_out"]]) if "extensions_left_out" in data else None,
            distinct_acc_partitions=data["distinct_acc_partitions"],
            targets=([ReportTarget.from_json(item) for item in data["targets"]]) if "targets" in data else None,
            partitions=[ReportPartition.from_json(item) for item in data["partitions"]],
            node_map=data["node_map"],
            link=None if data["link"] is None else ReportLink.from_json(data["link"]),
            assumed_links=data["assumed_links"],
            machine=(ReportMachine.from_json(data["machine"])) if "machine" in data else None,
            latency=(ReportLatency.from_json(data["latency"])) if "latency" in data else None,
            residency=(ReportResidencyField.from_json(data["residency"])) if "residency" in data else None,
            in_order_us=data.get("in_order_us"),
            energy=(None if data["energy"] is None else ReportEnergy.from_json(data["energy"])) if "energy" in data else None,
            direct_links=([ReportDirectLink.from_json(item) for item in data["direct_links"]]) if "direct_links" in data else None,
            schedule=(ReportSchedule.from_json(data["schedule"])) if "schedule" in data else None,
            costs=([ReportCost.from_json(item) for item in data["costs"]]) if "costs" in data else None,
            cpu_reasons=[ReportCpuReason.from_json(item) for item in data["cpu_reasons"]],
            target_reasons=([ReportTargetReason.from_json(item) for item in data["target_reasons"]]) if "target_reasons" in data else None,
            unchecked=[ReportUnchecked.from_json(item) for item in data["unchecked"]],
            chain=(ReportChain.from_json(data["chain"])) if "chain" in data else None,
            notes=data["notes"],
            lowering=data.get("lowering"),
            files=([ReportFile.from_json(item) for item in data["files"]]) if "files" in data else None,
        )

    def __repr__(self) -> str:
        return (
            f"Report(model={self.model.name!r}, nodes={self.model.nodes}, acc_nodes={len(self.acc_nodes)}, "
            f"partitions={len(self.partitions)})"
        )

    def _repr_html_(self) -> str | None:
        from ..page import page_of

        return page_of(self)
