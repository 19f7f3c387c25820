"""cleave.explain, version 1, as dataclasses. Made by make_results.py from explain.schema.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class ExplainNodeTarget:
    name: str
    # null: it takes the node.
    code: Literal["no_rule", "rule_failed", "denied", "non_tensor_input", "non_tensor_output", "fusion_group", "small_subgraph", "host_shape", "qdq_group", "over_cap", "costs_more", "shared_memory", "part_limit", "pattern_failed", "pattern_group", "runtime_graph", "part_condition"] | None
    detail: str
    # Microseconds; null: not known.
    us: float | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ExplainNodeTarget:
        return cls(
            name=data["name"],
            code=data["code"],
            detail=data["detail"],
            us=data.get("us"),
        )


@dataclass(frozen=True, kw_only=True)
class ExplainNodePattern:
    """The match of a pattern that contains the node, if there is one."""

    name: str
    file: str
    line: int
    # By op of the pattern.
    nodes: list[str]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ExplainNodePattern:
        return cls(
            name=data["name"],
            file=data["file"],
            line=data["line"],
            nodes=data["nodes"],
        )


@dataclass(frozen=True, kw_only=True)
class ExplainNode:
    node: str
    op: str
    domain: str
    # null for a constant.
    partition: str | None
    # null for a constant.
    is_acc: bool | None
    # Of several, the one that runs the node, or cpu.
    target: str | None = None
    # What each of several says about the node, in the order in which they are asked.
    targets: list[ExplainNodeTarget] | None = None
    # null on the accelerator and for a constant.
    code: Literal["no_rule", "rule_failed", "denied", "non_tensor_input", "non_tensor_output", "fusion_group", "small_subgraph", "host_shape", "qdq_group", "over_cap", "costs_more", "shared_memory", "part_limit", "pattern_failed", "pattern_group", "runtime_graph", "part_condition"] | None
    detail: str
    # The match of a pattern that contains the node, if there is one.
    pattern: ExplainNodePattern | None = None
    # The node to blame; null: none.
    because: str | None
    # An option with which a list accepts the node; null: none is known.
    try_: str | None
    # Microseconds; null: not known.
    cpu_us: float | None = None
    # Microseconds; null: not known.
    acc_us: float | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ExplainNode:
        return cls(
            node=data["node"],
            op=data["op"],
            domain=data["domain"],
            partition=data["partition"],
            is_acc=data["is_acc"],
            target=data.get("target"),
            targets=([ExplainNodeTarget.from_json(item) for item in data["targets"]]) if "targets" in data else None,
            code=data["code"],
            detail=data["detail"],
            pattern=(ExplainNodePattern.from_json(data["pattern"])) if "pattern" in data else None,
            because=data["because"],
            try_=data["try"],
            cpu_us=data.get("cpu_us"),
            acc_us=data.get("acc_us"),
        )


@dataclass(frozen=True, kw_only=True)
class Explain:
    """`explain --json`: where given nodes run, and why."""

    format: Literal["cleave.explain"]
    version: int
    nodes: list[ExplainNode]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Explain:
        return cls(
            format=data["format"],
            version=data["version"],
            nodes=[ExplainNode.from_json(item) for item in data["nodes"]],
        )
