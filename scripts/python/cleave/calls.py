"""Calls of the program: arguments, errors, and its JSON."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from .results.check import Check
    from .results.report import Report
    from .results.stages import Stages

Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Sequence[Path]]
Option = Union[None, bool, int, float, Path, Sequence[Union[int, float, Path]], Mapping[str, object]]


class Error(Exception):
    """The program refused or failed. Exit codes: 1 a check or a search failed, 2 wrong usage, 3 an input is not valid,
    4 an output cannot be written, 5 an external program failed, 70 a bug, 71 out of memory; below 0: a signal."""

    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.message = message


class CleaveWarning(UserWarning):
    """What the program warned of."""


def preview(model: Path, support: Paths, **options: Option) -> Report:
    """How the model would be split by one or more support lists."""
    from .results.report import Report

    return Report.from_json(_run("preview", [model], {"support": support, **options}))


def split(model: Path, support: Paths, output: Path, **options: Option) -> Report:
    """Splits the model and writes the folder `output`; `force=True` replaces one that cleave wrote. Each partition of
    the result has its `file` in that folder."""
    from .results.report import Report

    return Report.from_json(_run("split", [model], {"support": support, "output": output, **options}))


def stage(model: Path, stages: int | None = None, *, output: Path | None = None, **options: Option) -> Stages:
    """Cuts the model into the stages of a pipeline; with `output` it writes them to that folder."""
    from .results.stages import Stages

    return Stages.from_json(_run("stage", [model], {"stages": stages, "output": output, **options}))


def check(models: Paths, support: Paths, **options: Option) -> Check:
    """Holds models against limits or a baseline. A gate that does not hold is no error: look at `passed`."""
    from .results.check import Check

    return Check.from_json(_run("check", _list(models), {"support": support, **options}, may_fail=True))


def _list(paths: Paths) -> list[Path]:
    return [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)


def _values(option: Option) -> list[str]:
    """What is written behind the option, each time that it is given."""
    if isinstance(option, Mapping):
        return [f"{name}={_text(value)}" for name, value in option.items()]
    if isinstance(option, (str, os.PathLike)) or not isinstance(option, Sequence):
        return [_text(option)]
    return [_text(value) for value in option]


def _text(value: object) -> str:
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if isinstance(value, (list, tuple)):  # input_shape={"x": [1, 3, None]}
        return ",".join("?" if item is None else str(item) for item in value)
    return str(value)


def _arguments(options: Mapping[str, Option]) -> list[str]:
    arguments: list[str] = []
    for name, option in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if option is True:
            arguments.append(flag)
        elif option is not None and option is not False:
            arguments += [f"{flag}={value}" for value in _values(option)]
    return arguments


def _model(path: Path) -> str:
    """The path as an argument, also where it begins as an option does."""
    text = os.fspath(path)
    return os.path.join(".", text) if text.startswith("-") else text


def _run(command: str, models: list[Path], options: Mapping[str, Option], may_fail: bool = False) -> dict[str, Any]:
    import subprocess

    from .program import environment, program

    arguments = [program(), command, *map(_model, models), "--json", "--log-level=warning", *_arguments(options)]
    result = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, env=environment(), check=False)
    said = result.stderr.decode(errors="replace").strip()
    if result.returncode != 0 and not (may_fail and result.returncode == 1 and result.stdout):
        raise Error(result.returncode, said or f"cleave ended with exit code {result.returncode}")
    if said:
        warnings.warn(said, CleaveWarning, stacklevel=3)
    document: dict[str, Any] = json.loads(result.stdout)
    return document
