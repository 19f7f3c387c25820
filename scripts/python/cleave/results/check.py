"""cleave.check, version 1, as dataclasses. Made by make_results.py from check.schema.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .common import Shares

CheckShares = Shares


@dataclass(frozen=True, kw_only=True)
class CheckRunTarget:
    name: str
    # Shares from 0 to 1.
    coverage: CheckShares
    partitions: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CheckRunTarget:
        return cls(
            name=data["name"],
            coverage=CheckShares.from_json(data["coverage"]),
            partitions=data["partitions"],
        )


@dataclass(frozen=True, kw_only=True)
class CheckRun:
    model: str
    list_: str
    passed: bool
    # Shares from 0 to 1.
    coverage: CheckShares
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
    targets: list[CheckRunTarget] | None = None
    # It was compared with a baseline.
    baseline: bool
    settings_changed: list[str]
    # What one step of the model hands to the next, in words.
    state: str | None = None
    # Nodes that the list refuses for the model's opset alone: whether the device takes them was not measured.
    other_opset: int | None = None
    # Nodes of the baseline that the model no longer has.
    removed_nodes: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CheckRun:
        return cls(
            model=data["model"],
            list_=data["list"],
            passed=data["passed"],
            coverage=CheckShares.from_json(data["coverage"]),
            acc_subgraphs=data["acc_subgraphs"],
            cpu_nodes=data["cpu_nodes"],
            boundary_bytes=data["boundary_bytes"],
            boundary_known=data["boundary_known"],
            qps=data["qps"],
            latency_us=data["latency_us"],
            all_cpu_us=data["all_cpu_us"],
            targets=([CheckRunTarget.from_json(item) for item in data["targets"]]) if "targets" in data else None,
            baseline=data["baseline"],
            settings_changed=data["settings_changed"],
            state=data.get("state"),
            other_opset=data.get("other_opset"),
            removed_nodes=data["removed_nodes"],
        )


@dataclass(frozen=True, kw_only=True)
class CheckGate:
    name: str
    model: str
    list_: str
    # The minimum or maximum; null: the baseline has none.
    limit: float | None
    # null: unknown, unlimited, or there is no such node.
    actual: float | None
    # The baseline's value that the limit comes from; null: none.
    baseline: float | None
    passed: bool
    verdict: Literal["holds", "fails", "not_known", "not_applicable"]
    detail: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CheckGate:
        return cls(
            name=data["name"],
            model=data["model"],
            list_=data["list"],
            limit=data["limit"],
            actual=data["actual"],
            baseline=data["baseline"],
            passed=data["passed"],
            verdict=data["verdict"],
            detail=data["detail"],
        )


@dataclass(frozen=True, kw_only=True)
class CheckError:
    model: str
    message: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> CheckError:
        return cls(
            model=data["model"],
            message=data["message"],
        )


@dataclass(frozen=True, kw_only=True)
class CheckMove:
    model: str
    list_: str
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
    def from_json(cls, data: dict[str, Any]) -> CheckMove:
        return cls(
            model=data["model"],
            list_=data["list"],
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
class Check:
    """The output of `check --json`. A run is a model with a support list, named as on the command line."""

    format: Literal["cleave.check"]
    version: int
    # All gates hold, and all models were checked.
    passed: bool
    runs: list[CheckRun]
    gates: list[CheckGate]
    # Models that could not be read or split.
    errors: list[CheckError]
    # On the CPU now, but not in the baseline.
    regressions: list[CheckMove]
    # From the CPU to the accelerator.
    improvements: list[CheckMove]
    # From one of several targets to another; left out where there is one.
    moved: list[CheckMove] | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Check:
        return cls(
            format=data["format"],
            version=data["version"],
            passed=data["passed"],
            runs=[CheckRun.from_json(item) for item in data["runs"]],
            gates=[CheckGate.from_json(item) for item in data["gates"]],
            errors=[CheckError.from_json(item) for item in data["errors"]],
            regressions=[CheckMove.from_json(item) for item in data["regressions"]],
            improvements=[CheckMove.from_json(item) for item in data["improvements"]],
            moved=([CheckMove.from_json(item) for item in data["moved"]]) if "moved" in data else None,
        )

    def __repr__(self) -> str:
        return (
            f"Check(passed={self.passed}, runs={len(self.runs)}, gates={len(self.gates)}, "
            f"regressions={len(self.regressions)})"
        )
