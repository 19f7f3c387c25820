"""cleave.diff, version 1, as dataclasses. Made by make_results.py from diff.schema.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .common import Shares

DiffShares = Shares


@dataclass(frozen=True, kw_only=True)
class DiffSideOpset:
    # The default domain is empty.
    domain: str
    version: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> DiffSideOpset:
        return cls(
            domain=data["domain"],
            version=data["version"],
        )


@dataclass(frozen=True, kw_only=True)
class DiffSideTarget:
    name: str
    # Shares from 0 to 1.
    coverage: DiffShares
    partitions: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> DiffSideTarget:
        return cls(
            name=data["name"],
            coverage=DiffShares.from_json(data["coverage"]),
            partitions=data["partitions"],
        )


@dataclass(frozen=True, kw_only=True)
class DiffSide:
    model: str
    list_: str
    # Those that the model imports; the default domain is "".
    opsets: list[DiffSideOpset]
    # Shares from 0 to 1.
    coverage: DiffShares
    acc_subgraphs: int
    cpu_nodes: int
    # Into and out of accelerator subgraphs, for tensors of known size. null: of none it is known.
    boundary_bytes: int | None
    # All sizes are known.
    boundary_known: bool
    # When all partitions share the link. null: it does not limit it, or sizes are not known.
    qps: float | None
    # Microseconds. null: not known.
    latency_us: float | None
    # Without an accelerator; null: not known. Microseconds.
    all_cpu_us: float | None
    # Of several targets: what each has of the model.
    targets: list[DiffSideTarget] | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> DiffSide:
        return cls(
            model=data["model"],
            list_=data["list"],
            opsets=[DiffSideOpset.from_json(item) for item in data["opsets"]],
            coverage=DiffShares.from_json(data["coverage"]),
            acc_subgraphs=data["acc_subgraphs"],
            cpu_nodes=data["cpu_nodes"],
            boundary_bytes=data["boundary_bytes"],
            boundary_known=data["boundary_known"],
            qps=data["qps"],
            latency_us=data["latency_us"],
            all_cpu_us=data["all_cpu_us"],
            targets=([DiffSideTarget.from_json(item) for item in data["targets"]]) if "targets" in data else None,
        )


@dataclass(frozen=True, kw_only=True)
class DiffMove:
    node: str
    op: str
    # absent, cpu, acc, or the name of one of several targets.
    from_: str
    # cpu, acc, or the name of one of several targets.
    to: str
    # The change to blame; program: another version of cleave.
    cause: Literal["model", "list", "settings", "model_or_list", "program"]
    # Why it is on the CPU, or why the target that it left does not run it; null: there is none to give.
    code: Literal["no_rule", "rule_failed", "denied", "non_tensor_input", "non_tensor_output", "fusion_group", "small_subgraph", "host_shape", "qdq_group", "over_cap", "costs_more", "shared_memory", "part_limit", "pattern_failed", "pattern_group", "runtime_graph", "part_condition"] | None
    # Why it is, or was, on the CPU; empty: it never was.
    detail: str
    # The node to blame; null: none.
    because: str | None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> DiffMove:
        return cls(
            node=data["node"],
            op=data["op"],
            from_=data["from"],
            to=data["to"],
            cause=data["cause"],
            code=data["code"],
            detail=data["detail"],
            because=data["because"],
        )


@dataclass(frozen=True, kw_only=True)
class DiffRemoved:
    node: str
    # cpu, acc, or the name of one of several targets.
    from_: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> DiffRemoved:
        return cls(
            node=data["node"],
            from_=data["from"],
        )


@dataclass(frozen=True, kw_only=True)
class Diff:
    """The output of `diff --json`: nodes that moved between two splits, and the change to blame."""

    format: Literal["cleave.diff"]
    version: int
    before: DiffSide
    after: DiffSide
    model_changed: bool
    list_changed: bool
    settings_changed: list[str]
    # Nodes moved to the CPU, then from it to an accelerator, then between targets, then added nodes; each in model
    # order.
    moves: list[DiffMove]
    # Nodes that only the first model has, by name.
    removed: list[DiffRemoved]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Diff:
        return cls(
            format=data["format"],
            version=data["version"],
            before=DiffSide.from_json(data["before"]),
            after=DiffSide.from_json(data["after"]),
            model_changed=data["model_changed"],
            list_changed=data["list_changed"],
            settings_changed=data["settings_changed"],
            moves=[DiffMove.from_json(item) for item in data["moves"]],
            removed=[DiffRemoved.from_json(item) for item in data["removed"]],
        )
