"""cleave.lint, version 1, as dataclasses. Made by make_results.py from lint.schema.json."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class LintFinding:
    kind: Literal["unknown_op", "unknown_domain", "unknown_attribute", "unused_condition", "contradiction", "impossible", "shadowed", "never_matched", "never_held", "no_rule", "allows_nothing", "removed_op", "absent_input", "unchecked", "unread"]
    severity: Literal["error", "warning", "note"]
    # From 1; null: it is of the whole list.
    line: int | None
    # From 1; null: as for `line`.
    column: int | None
    message: str
    note: str

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LintFinding:
        return cls(
            kind=data["kind"],
            severity=data["severity"],
            line=data["line"],
            column=data["column"],
            message=data["message"],
            note=data["note"],
        )


@dataclass(frozen=True, kw_only=True)
class Lint:
    """The output of `lists lint --json`."""

    format: Literal["cleave.lint"]
    version: int
    list_: str
    models: list[str]
    # Names of ops were compared with ONNX's.
    onnx: bool
    errors: int
    warnings: int
    # By line; those without a line last.
    findings: list[LintFinding]

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Lint:
        return cls(
            format=data["format"],
            version=data["version"],
            list_=data["list"],
            models=data["models"],
            onnx=data["onnx"],
            errors=data["errors"],
            warnings=data["warnings"],
            findings=[LintFinding.from_json(item) for item in data["findings"]],
        )
