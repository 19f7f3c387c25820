"""cleave.advice, version 1, as dataclasses. Made by make_results.py from advice.schema.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .common import State

AdviceState = State


@dataclass(frozen=True, kw_only=True)
class AdviceModel:
    path: str
    name: str
    nodes: int
    # What one step of the model hands to the next.
    state: list[AdviceState] | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceModel:
        return cls(
            path=data["path"],
            name=data["name"],
            nodes=data["nodes"],
            state=([AdviceState.from_json(item) for item in data["state"]]) if "state" in data else None,
        )


@dataclass(frozen=True, kw_only=True)
class AdviceSupport:
    name: str
    # The one of several targets whose lists these are.
    target: str | None = None
    files: list[str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceSupport:
        return cls(
            name=data["name"],
            target=data.get("target"),
            files=data["files"],
        )


@dataclass(frozen=True, kw_only=True)
class AdviceLink:
    # Bytes per second, one direction.
    bandwidth: float
    name: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceLink:
        return cls(
            bandwidth=data["bandwidth"],
            name=data["name"],
        )


@dataclass(frozen=True, kw_only=True)
class AdviceShare:
    acc: float
    total: float
    # 1 where the total is 0; null where most FLOPs are not known.
    ratio: float | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceShare:
        return cls(
            acc=data["acc"],
            total=data["total"],
            ratio=data["ratio"],
        )


@dataclass(frozen=True, kw_only=True)
class AdviceOutcome:
    acc_subgraphs: int
    subgraphs: int
    # Into and out of accelerator subgraphs, for tensors of known size.
    link_bytes: int
    values_of_unknown_bytes: int
    # The rate of running every model once; null: the link does not limit it.
    qps: float | None
    # The same where all subgraphs of a model share the link; null: as for `qps`.
    shared_qps: float | None
    # Of an inference of every model; null: not known. Microseconds.
    latency_us: float | None
    # Nodes that the lists accept.
    supported_nodes: int
    nodes: AdviceShare
    # Of nodes whose FLOPs are known.
    flops: AdviceShare

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceOutcome:
        return cls(
            acc_subgraphs=data["acc_subgraphs"],
            subgraphs=data["subgraphs"],
            link_bytes=data["link_bytes"],
            values_of_unknown_bytes=data["values_of_unknown_bytes"],
            qps=data["qps"],
            shared_qps=data["shared_qps"],
            latency_us=data["latency_us"],
            supported_nodes=data["supported_nodes"],
            nodes=AdviceShare.from_json(data["nodes"]),
            flops=AdviceShare.from_json(data["flops"]),
        )


@dataclass(frozen=True, kw_only=True)
class AdviceGapSignature:
    # By position; without nulls at the end. null: not a tensor, or a literal.
    args: list[str | None]
    kwargs: dict[str, str | None]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceGapSignature:
        return cls(
            args=data["args"],
            kwargs=data["kwargs"],
        )


@dataclass(frozen=True, kw_only=True)
class AdviceGapRefusedBy:
    file: str
    rules: Literal["allow", "deny"]
    # Among these rules, from 0.
    index: int
    # From 1; 0: not known.
    line: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceGapRefusedBy:
        return cls(
            file=data["file"],
            rules=data["rules"],
            index=data["index"],
            line=data["line"],
        )


@dataclass(frozen=True, kw_only=True)
class AdviceGapFailed:
    subject: str
    expected: str
    actual: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceGapFailed:
        return cls(
            subject=data["subject"],
            expected=data["expected"],
            actual=data["actual"],
        )


@dataclass(frozen=True, kw_only=True)
class AdviceGap:
    # No rule names the op; the conditions of a rule fail; a deny rule matches.
    kind: Literal["op", "condition", "denied"]
    # The first node's signature.
    op: str
    domain: str
    # Dtypes of the first node's inputs; null: none, or not a tensor.
    signature: AdviceGapSignature
    # The rule that refuses the node; null: there is none.
    refused_by: AdviceGapRefusedBy | None
    # Conditions of that rule that fail for the first node.
    failed: list[AdviceGapFailed]
    # The opset in which the list already accepts the nodes: `cleave convert --opset` converts the model. null: the
    # opset is not all that is in the way.
    newer_opset: int | None
    # An allow rule for one more support list, or for a list itself that is about ONNX Runtime's graph; null: remove the
    # deny rule, or convert the model to `newer_opset`.
    remedy: dict[str, Any] | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceGap:
        return cls(
            kind=data["kind"],
            op=data["op"],
            domain=data["domain"],
            signature=AdviceGapSignature.from_json(data["signature"]),
            refused_by=None if data["refused_by"] is None else AdviceGapRefusedBy.from_json(data["refused_by"]),
            failed=[AdviceGapFailed.from_json(item) for item in data["failed"]],
            newer_opset=data["newer_opset"],
            remedy=data["remedy"],
        )


@dataclass(frozen=True, kw_only=True)
class AdviceRemedy:
    # No rule names the op; the conditions of a rule fail; a deny rule matches.
    kind: Literal["op", "condition", "denied"]
    # The first node's signature.
    op: str
    domain: str
    # Dtypes of the first node's inputs; null: none, or not a tensor.
    signature: AdviceGapSignature
    # The rule that refuses the node; null: there is none.
    refused_by: AdviceGapRefusedBy | None
    # Conditions of that rule that fail for the first node.
    failed: list[AdviceGapFailed]
    # The opset in which the list already accepts the nodes: `cleave convert --opset` converts the model. null: the
    # opset is not all that is in the way.
    newer_opset: int | None
    # An allow rule for one more support list, or for a list itself that is about ONNX Runtime's graph; null: remove the
    # deny rule, or convert the model to `newer_opset`.
    remedy: dict[str, Any] | None
    # Closed together with it: the op in other types, or a second gap.
    with_: list[AdviceGap]
    # Nodes that become accepted.
    nodes: int
    # Models that have the gap.
    models: list[str]
    then: AdviceOutcome

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceRemedy:
        return cls(
            kind=data["kind"],
            op=data["op"],
            domain=data["domain"],
            signature=AdviceGapSignature.from_json(data["signature"]),
            refused_by=None if data["refused_by"] is None else AdviceGapRefusedBy.from_json(data["refused_by"]),
            failed=[AdviceGapFailed.from_json(item) for item in data["failed"]],
            newer_opset=data["newer_opset"],
            remedy=data["remedy"],
            with_=[AdviceGap.from_json(item) for item in data["with"]],
            nodes=data["nodes"],
            models=data["models"],
            then=AdviceOutcome.from_json(data["then"]),
        )


@dataclass(frozen=True, kw_only=True)
class AdviceOutOfReach:
    op: str
    domain: str
    nodes: int
    flops: float
    nodes_of_unknown_flops: int
    bytes: float

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceOutOfReach:
        return cls(
            op=data["op"],
            domain=data["domain"],
            nodes=data["nodes"],
            flops=data["flops"],
            nodes_of_unknown_flops=data["nodes_of_unknown_flops"],
            bytes=data["bytes"],
        )


@dataclass(frozen=True, kw_only=True)
class AdviceSetting:
    min_acc_module_size: int
    start: Literal["reference", "cpu", "acc"]
    outcome: AdviceOutcome

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceSetting:
        return cls(
            min_acc_module_size=data["min_acc_module_size"],
            start=data["start"],
            outcome=AdviceOutcome.from_json(data["outcome"]),
        )


@dataclass(frozen=True, kw_only=True)
class AdviceKnee:
    """The setting beyond which fewer subgraphs cost too much of the work; null: of several targets no settings are
    tried."""

    min_acc_module_size: int
    start: Literal["reference", "cpu", "acc"]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceKnee:
        return cls(
            min_acc_module_size=data["min_acc_module_size"],
            start=data["start"],
        )


@dataclass(frozen=True, kw_only=True)
class AdviceOption:
    option: str
    # Less time, more work on the accelerator, or fewer subgraphs or bytes.
    gains: bool
    outcome: AdviceOutcome

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AdviceOption:
        return cls(
            option=data["option"],
            gains=data["gains"],
            outcome=AdviceOutcome.from_json(data["outcome"]),
        )


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What to support next: `advise --json`. Numbers are sums over the models."""

    format: Literal["cleave.advice"]
    version: int
    models: list[AdviceModel]
    support: AdviceSupport
    link: AdviceLink
    goal: Literal["subgraphs", "bytes", "qps", "flops", "latency"]
    # Sizes in place of open dims, at which bytes and FLOPs are counted; absent: none is open, or none is known to fit.
    at_sizes: str | None = None
    # Nodes that the lists refuse while sizes are open, and accept at these: no gaps.
    lack_sizes: int | None = None
    now: AdviceOutcome
    # Every gap of the lists that was tried, each closed alone, the best first; before them what the first step closes
    # together, where that is more than one.
    each: list[AdviceRemedy]
    # Number of gaps that were not tried because there are too many: those of the fewest nodes.
    untried_gaps: int
    # Gaps closed one after the other, each time the best; outcomes after each.
    steps: list[AdviceRemedy]
    # Ops of the nodes that are refused after all steps; most FLOPs first.
    out_of_reach: list[AdviceOutOfReach]
    # Results of the present lists under other settings, by minimum size, then by side.
    settings: list[AdviceSetting]
    # The setting beyond which fewer subgraphs cost too much of the work; null: of several targets no settings are
    # tried.
    knee: AdviceKnee | None
    # Options of a split, each tried by itself, the best first.
    options: list[AdviceOption]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Advice:
        return cls(
            format=data["format"],
            version=data["version"],
            models=[AdviceModel.from_json(item) for item in data["models"]],
            support=AdviceSupport.from_json(data["support"]),
            link=AdviceLink.from_json(data["link"]),
            goal=data["goal"],
            at_sizes=data.get("at_sizes"),
            lack_sizes=data.get("lack_sizes"),
            now=AdviceOutcome.from_json(data["now"]),
            each=[AdviceRemedy.from_json(item) for item in data["each"]],
            untried_gaps=data["untried_gaps"],
            steps=[AdviceRemedy.from_json(item) for item in data["steps"]],
            out_of_reach=[AdviceOutOfReach.from_json(item) for item in data["out_of_reach"]],
            settings=[AdviceSetting.from_json(item) for item in data["settings"]],
            knee=None if data["knee"] is None else AdviceKnee.from_json(data["knee"]),
            options=[AdviceOption.from_json(item) for item in data["options"]],
        )
