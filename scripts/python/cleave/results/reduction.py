"""cleave.reduction, version 1, as dataclasses. Made by make_results.py from reduction.schema.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Reduction:
    """What `reduce --json` prints."""

    format: Literal["cleave.reduction"]
    version: int
    model: str
    backend: str
    # What the backend says of its version.
    identity: str
    # That were asked about.
    nodes: int
    # The backend takes them all: there is nothing to reduce.
    lowered: bool
    verdict: Literal["lowered", "nothing to lower", "partly lowered", "refused", "no output", "crashed", "timed out", "out of memory", "too large", "wrong values", "lower precision", "order of ties", "one quantisation step", "not run", "flaky", "lost", "no room", "driver"]
    # The backend's own words.
    message: str
    # Nodes that are to blame.
    culprits: list[str]
    # Nodes of the smallest piece that was seen to fail.
    piece: list[str]
    # No node of the piece can be left out.
    minimal: bool
    compiler_runs: int
    seconds: float

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Reduction:
        return cls(
            format=data["format"],
            version=data["version"],
            model=data["model"],
            backend=data["backend"],
            identity=data["identity"],
            nodes=data["nodes"],
            lowered=data["lowered"],
            verdict=data["verdict"],
            message=data["message"],
            culprits=data["culprits"],
            piece=data["piece"],
            minimal=data["minimal"],
            compiler_runs=data["compiler_runs"],
            seconds=data["seconds"],
        )
