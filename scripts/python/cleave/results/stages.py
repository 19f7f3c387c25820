"""cleave.stages, version 1, as dataclasses. Made by make_results.py from stages.schema.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .common import Chain, ChainInit, ChainOrder, File, State, Value

StagesState = State
StagesValue = Value
StagesChainOrder = ChainOrder
StagesChainInit = ChainInit
StagesChain = Chain
StagesFile = File


@dataclass(frozen=True, kw_only=True)
class StagesModel:
    path: str
    format: Literal["json", "onnx", "pt2", "tflite", "workload"]
    name: str
    nodes: int
    values: int
    parameters: int
    parameter_bytes: int
    # 16 digits; a workload has none.
    fingerprint: str | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StagesModel:
        return cls(
            path=data["path"],
            format=data["format"],
            name=data["name"],
            nodes=data["nodes"],
            values=data["values"],
            parameters=data["parameters"],
            parameter_bytes=data["parameter_bytes"],
            fingerprint=data.get("fingerprint"),
        )


@dataclass(frozen=True, kw_only=True)
class StagesStageCost:
    """The fields from `compute` on only if stages were balanced, and only these of a workload; compute, in, out and
    load in `unit`."""

    # Of nodes whose FLOPs are known.
    flops: float | None = None
    # Number of nodes with unknown FLOPs.
    unknown_flops: int | None = None
    # null: the size of a tensor is not known.
    input_bytes: int | None = None
    # null: the size of a tensor is not known.
    output_bytes: int | None = None
    compute: float | None = None
    in_: float | None = None
    out: float | None = None
    load: float | None = None
    # null: not known.
    memory_bytes: float | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StagesStageCost:
        return cls(
            flops=data.get("flops"),
            unknown_flops=data.get("unknown_flops"),
            input_bytes=data.get("input_bytes"),
            output_bytes=data.get("output_bytes"),
            compute=data.get("compute"),
            in_=data.get("in"),
            out=data.get("out"),
            load=data.get("load"),
            memory_bytes=data.get("memory_bytes"),
        )


@dataclass(frozen=True, kw_only=True)
class StagesStage:
    name: str
    # The stage's file in the manifest's folder; null: none was written. Absent for workloads.
    file: str | None = None
    nodes: list[str]
    inputs: list[StagesValue]
    outputs: list[StagesValue]
    parameters: list[str]
    parameter_bytes: int
    depends_on: list[str]
    # null: none was named.
    device: str | None
    # The fields from `compute` on only if stages were balanced, and only these of a workload; compute, in, out and load
    # in `unit`.
    cost: StagesStageCost

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StagesStage:
        return cls(
            name=data["name"],
            file=data.get("file"),
            nodes=data["nodes"],
            inputs=[StagesValue.from_json(item) for item in data["inputs"]],
            outputs=[StagesValue.from_json(item) for item in data["outputs"]],
            parameters=data["parameters"],
            parameter_bytes=data["parameter_bytes"],
            depends_on=data["depends_on"],
            device=data["device"],
            cost=StagesStageCost.from_json(data["cost"]),
        )


@dataclass(frozen=True, kw_only=True)
class StagesReplicatedParameter:
    # The parameter's path in the module that the model was made of.
    fqn: str
    # Stage -> the parameter's name there.
    stages: dict[str, str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StagesReplicatedParameter:
        return cls(
            fqn=data["fqn"],
            stages=data["stages"],
        )


@dataclass(frozen=True, kw_only=True)
class StagesSkipConnections:
    """Values that skip stages, and their cost when sent directly and when relayed; null for partitions."""

    way: Literal["direct", "relay"]
    values: int
    direct_transfers: int
    direct_bytes: int
    relay_transfers: int
    relay_bytes: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StagesSkipConnections:
        return cls(
            way=data["way"],
            values=data["values"],
            direct_transfers=data["direct_transfers"],
            direct_bytes=data["direct_bytes"],
            relay_transfers=data["relay_transfers"],
            relay_bytes=data["relay_bytes"],
        )


@dataclass(frozen=True, kw_only=True)
class StagesCurve:
    stages: int
    # The best objective with at most this many stages; null if none was found that fits.
    objective: float | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StagesCurve:
        return cls(
            stages=data["stages"],
            objective=data["objective"],
        )


@dataclass(frozen=True, kw_only=True)
class StagesScheduleCompared:
    name: Literal["gpipe", "1f1b", "interleaved", "zero-bubble"]
    ranks: int
    # The share of all ranks' time without work; null: not known.
    bubble: float | None
    # Microseconds. null: not known.
    batch_us: float | None
    # null: not known.
    microbatches_per_second: float | None
    # By rank; null: not known.
    peak_bytes: list[int | None]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StagesScheduleCompared:
        return cls(
            name=data["name"],
            ranks=data["ranks"],
            bubble=data["bubble"],
            batch_us=data["batch_us"],
            microbatches_per_second=data["microbatches_per_second"],
            peak_bytes=data["peak_bytes"],
        )


@dataclass(frozen=True, kw_only=True)
class StagesSchedule:
    """What --schedule asked for, beside the other schedules that the stages can take."""

    name: Literal["gpipe", "1f1b", "interleaved", "zero-bubble"]
    microbatches: int
    # The fastest that fits into --memory; null where none is known to, or times are not known.
    best: Literal["gpipe", "1f1b", "interleaved", "zero-bubble"] | None
    compared: list[StagesScheduleCompared]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StagesSchedule:
        return cls(
            name=data["name"],
            microbatches=data["microbatches"],
            best=data["best"],
            compared=[StagesScheduleCompared.from_json(item) for item in data["compared"]],
        )


@dataclass(frozen=True, kw_only=True)
class StagesRootCall:
    call: str
    inputs: list[str]
    outputs: list[str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StagesRootCall:
        return cls(
            call=data["call"],
            inputs=data["inputs"],
            outputs=data["outputs"],
        )


@dataclass(frozen=True, kw_only=True)
class StagesRootBackward:
    stage_backward: str | None = None
    outputs_with_grads_idxs: list[int] | None = None
    null_coalesce_accumulate: str | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StagesRootBackward:
        return cls(
            stage_backward=data.get("stage_backward"),
            outputs_with_grads_idxs=data.get("outputs_with_grads_idxs"),
            null_coalesce_accumulate=data.get("null_coalesce_accumulate"),
        )


@dataclass(frozen=True, kw_only=True)
class StagesRoot:
    inputs: list[str]
    calls: list[StagesRootCall]
    # Where there is a backward pass.
    loss: str | None = None
    # Its steps in order: a stage called backwards, or two gradients of a value added.
    backward: list[StagesRootBackward] | None = None
    outputs: list[str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StagesRoot:
        return cls(
            inputs=data["inputs"],
            calls=[StagesRootCall.from_json(item) for item in data["calls"]],
            loss=data.get("loss"),
            backward=([StagesRootBackward.from_json(item) for item in data["backward"]]) if "backward" in data else None,
            outputs=data["outputs"],
        )


@dataclass(frozen=True, kw_only=True)
class Stages:
    """The result of `stage`, `preview --map` and `split --map`: --json, and manifest.json of -o. Nodes are in model
    order, stages in call order."""

    format: Literal["cleave.stages"]
    version: int
    model: StagesModel
    # What one step of the model hands to the next.
    state: list[StagesState] | None = None
    stages: list[StagesStage]
    call_order: list[str]
    # The stage or partition of each node of a model, in model order; `--map` reads it.
    node_map: dict[str, str] | None = None
    # Parameters that several stages have copies of, which training must keep equal.
    replicated_parameters: list[StagesReplicatedParameter]
    # New qualified name -> the old one, of modules and of parameters that nodes read themselves.
    qualname_map: dict[str, str]
    # Values that skip stages, and their cost when sent directly and when relayed; null for partitions.
    skip_connections: StagesSkipConnections | None
    # Load of the slowest stage, in `unit`; null if stages were not balanced.
    objective: float | None
    # No assignment has a lower objective; null: not known.
    bound: float | None
    # objective / bound - 1; null: not known, or stages were not balanced.
    gap: float | None
    # The proof of the bound; null: there is none.
    certificate: str | None
    # us, ms, or the unit that is counted; null: none.
    unit: str | None
    curve: list[StagesCurve]
    # What --schedule asked for, beside the other schedules that the stages can take.
    schedule: StagesSchedule | None = None
    has_loss_and_backward: bool
    root: StagesRoot
    # How to call the partitions of a torch.export program or a TensorFlow Lite model one after the other.
    chain: StagesChain | None = None
    notes: list[str]
    # Only in manifest.json: the other files in its folder. --force removes only files that are listed here, by name and
    # size.
    files: list[StagesFile] | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Stages:
        return cls(
            format=data["format"],
            version=data["version"],
            model=StagesModel.from_json(data["model"]),
            state=([StagesState.from_json(item) for item in data["state"]]) if "state" in data else None,
            stages=[StagesStage.from_json(item) for item in data["stages"]],
            call_order=data["call_order"],
            node_map=data.get("node_map"),
            replicated_parameters=[StagesReplicatedParameter.from_json(item) for item in data["replicated_parameters"]],
            qualname_map=data["qualname_map"],
            skip_connections=None if data["skip_connections"] is None else StagesSkipConnections.from_json(data["skip_connections"]),
            objective=data["objective"],
            bound=data["bound"],
            gap=data["gap"],
            certificate=data["certificate"],
            unit=data["unit"],
            curve=[StagesCurve.from_json(item) for item in data["curve"]],
            schedule=(StagesSchedule.from_json(data["schedule"])) if "schedule" in data else None,
            has_loss_and_backward=data["has_loss_and_backward"],
            root=StagesRoot.from_json(data["root"]),
            chain=(StagesChain.from_json(data["chain"])) if "chain" in data else None,
            notes=data["notes"],
            files=([StagesFile.from_json(item) for item in data["files"]]) if "files" in data else None,
        )

    def __repr__(self) -> str:
        return (
            f"Stages(model={self.model.name!r}, nodes={self.model.nodes}, stages={len(self.stages)})"
        )
