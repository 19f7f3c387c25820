"""cleave.support_report, version 1, as dataclasses. Made by make_results.py from support_report.schema.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .common import CoverageFlops, Share

SupportReportShare = Share
SupportReportCoverageFlops = CoverageFlops


@dataclass(frozen=True, kw_only=True)
class SupportReportOpSignature:
    # By position; without nulls at the end. null: not a tensor, or a literal.
    args: list[str | None]
    kwargs: dict[str, str | None]
    count: int
    # Of the first node that has the signature.
    reason: str | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> SupportReportOpSignature:
        return cls(
            args=data["args"],
            kwargs=data["kwargs"],
            count=data["count"],
            reason=data.get("reason"),
        )


@dataclass(frozen=True, kw_only=True)
class SupportReportOp:
    op: str
    domain: str
    count: int
    signatures: list[SupportReportOpSignature]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> SupportReportOp:
        return cls(
            op=data["op"],
            domain=data["domain"],
            count=data["count"],
            signatures=[SupportReportOpSignature.from_json(item) for item in data["signatures"]],
        )


@dataclass(frozen=True, kw_only=True)
class SupportReportPattern:
    name: str
    file: str
    line: int
    matches: int
    nodes: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> SupportReportPattern:
        return cls(
            name=data["name"],
            file=data["file"],
            line=data["line"],
            matches=data["matches"],
            nodes=data["nodes"],
        )


@dataclass(frozen=True, kw_only=True)
class SupportReportCoverage:
    """What the list accepts."""

    nodes: SupportReportShare
    # Of nodes whose FLOPs are known.
    flops: SupportReportCoverageFlops
    # acc: read by the partitions or nodes that are there, perhaps also by others.
    parameter_bytes: SupportReportShare

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> SupportReportCoverage:
        return cls(
            nodes=SupportReportShare.from_json(data["nodes"]),
            flops=SupportReportCoverageFlops.from_json(data["flops"]),
            parameter_bytes=SupportReportShare.from_json(data["parameter_bytes"]),
        )


@dataclass(frozen=True, kw_only=True)
class SupportReport:
    """`preview --show ops --json`: the op types of a model with the dtypes that they occur with, and whether the list
    supports them, before any pass moves an accepted node to the CPU. In order of first use."""

    format: Literal["cleave.support_report"]
    version: int
    supported: list[SupportReportOp]
    unsupported: list[SupportReportOp]
    # Patterns of the lists that match: how often, and how many nodes they accept.
    patterns: list[SupportReportPattern]
    # What the list accepts.
    coverage: SupportReportCoverage

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> SupportReport:
        return cls(
            format=data["format"],
            version=data["version"],
            supported=[SupportReportOp.from_json(item) for item in data["supported"]],
            unsupported=[SupportReportOp.from_json(item) for item in data["unsupported"]],
            patterns=[SupportReportPattern.from_json(item) for item in data["patterns"]],
            coverage=SupportReportCoverage.from_json(data["coverage"]),
        )
