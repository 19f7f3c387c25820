"""Calls of the program: arguments, errors, and its JSON."""

from __future__ import annotations

import contextlib
import json
import numbers
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from .results.advice import Advice
    from .results.check import Check
    from .results.diff import Diff
    from .results.explain import Explain
    from .results.inspect import Inspect
    from .results.lint import Lint
    from .results.lowering import Lowering
    from .results.reduction import Reduction
    from .results.report import Report
    from .results.stages import Stages
    from .results.support_report import SupportReport

# A model: a file, or an onnx.ModelProto or torch.export.ExportedProgram, which is saved in a temporary folder.
Model = Any
Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Iterable[Path]]
Option = Union[None, bool, int, float, Path, Iterable[int | float | Path], Mapping[str, object]]

# Options without a value.
FLAGS = frozenset({
    "allow-non-tensor", "annotate", "bundle", "capture", "compare", "deploy", "embed",
    "exact-stages", "exit-zero", "force", "github", "host-shapes",
    "keep-original-order", "keep-qdq", "lift-state", "move-non-tensor", "no-artefacts", "no-cache",
    "no-unknown-shapes", "quiet", "relay", "skip-fusion", "strict", "strict-ties", "table", "trust-failures",
    "until-clean", "update-baseline",
})


class Error(Exception):
    """The program refused or failed. Exit codes: 1 a check or a search failed, 2 wrong usage, 3 an input is not valid,
    4 an output cannot be written, 5 an external program failed, 70 a bug, 71 out of memory; below 0: a signal."""

    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(exit_code, message)  # with these pickle makes it again
        self.exit_code = exit_code
        self.message = message

    def __str__(self) -> str:
        return self.message


class CleaveWarning(UserWarning):
    """What the program warned of."""


def preview(model: Model, support: Paths, **options: Option) -> Report:
    """How the model would be split by one or more support lists."""
    from .results.report import Report

    return Report.from_json(_run("preview", [model], {"support": support, **options}))


def split(model: Model, support: Paths, output: Path, **options: Option) -> Report:
    """Splits the model and writes the folder `output`; `force=True` replaces one that cleave wrote. Each partition of
    the result has its `file` in that folder."""
    from .results.report import Report

    return Report.from_json(_run("split", [model], {"support": support, "output": output, **options}))


def stage(model: Model, stages: int | None = None, *, output: Path | None = None, **options: Option) -> Stages:
    """Cuts the model into the stages of a pipeline; with `output` it writes them to that folder."""
    from .results.stages import Stages

    return Stages.from_json(_run("stage", [model], {"stages": stages, "output": output, **options}))


def check(models: Paths, support: Paths, **options: Option) -> Check:
    """Holds models against limits or a baseline. A gate that does not hold is no error: look at `passed`."""
    from .results.check import Check

    return Check.from_json(_run("check", _list(models), {"support": support, **options}, may_fail=True))


def partition(model: Model, map: Path, *, output: Path | None = None, **options: Option) -> Stages:
    """Divides the model as a map of nodes says; with `output` it writes the partitions to that folder."""
    from .results.stages import Stages

    command = "preview" if output is None else "split"
    return Stages.from_json(_run(command, [model], {"map": map, "output": output, **options}))


def inspect(model: Model, **options: Option) -> Inspect:
    """What the model is made of, and how much of it each known list accepts."""
    from .results.inspect import Inspect

    return Inspect.from_json(_run("inspect", [model], options))


def explain(model: Model, nodes: str | Iterable[str] = (), *, support: Paths, **options: Option) -> Explain:
    """Why nodes are where they are: those named, by name or pattern, else all on the CPU."""
    from .results.explain import Explain

    named = [nodes] if isinstance(nodes, str) else list(nodes)
    return Explain.from_json(_run("explain", [model], {"support": support, **options}, words=named))


def ops(model: Model, support: Paths, **options: Option) -> SupportReport:
    """Which operators of the model the lists accept."""
    from .results.support_report import SupportReport

    return SupportReport.from_json(_run("preview --ops", [model], {"support": support, **options}))


def advise(models: Any, support: Paths, **options: Option) -> Advice:
    """What to support next: `models` is one or a list of them."""
    from .results.advice import Advice

    return Advice.from_json(_run("advise", _models(models), {"support": support, **options}))


def diff(model: Model, other: Model | None = None, *, support: Paths, **options: Option) -> Diff:
    """The nodes that moved between two splits, and the change to blame: of another model, or under other options, which
    are those of the command: `to_support`."""
    from .results.diff import Diff

    both = [model] if other is None else [model, other]
    return Diff.from_json(_run("diff", both, {"support": support, **options}))


def lower(model: Model, support: Paths, backend: Paths, **options: Option) -> Lowering:
    """Has a compiler try each partition. One that is refused is no error: look at `clean`."""
    from .results.lowering import Lowering

    given = {"support": support, "backend": backend, **options}
    return Lowering.from_json(_run("lower", [model], given, may_fail=True))


def reduce(model: Model, backend: Path, **options: Option) -> Reduction:
    """Finds the fewest nodes of the model that a compiler refuses."""
    from .results.reduction import Reduction

    return Reduction.from_json(_run("reduce", [model], {"backend": backend, **options}, may_fail=True))


def lint(list: Path, models: Any = (), **options: Option) -> Lint:
    """What is wrong with a support list, by itself and for models. Errors of the list are no error: look at `errors`."""
    from .results.lint import Lint

    return Lint.from_json(_run("lists lint", [list, *_models(models)], options, may_fail=True))


def _models(models: Any) -> list[Model]:
    return list(models) if isinstance(models, (list, tuple)) else [models]


def _list(paths: Paths) -> list[Path]:
    return [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)


def _path(name: str, path: object) -> str:
    """The path as text. Raises TypeError, naming the argument."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        raise TypeError(f"{name}: a path is a str or an os.PathLike of str, not {type(text).__name__}")
    return text


@contextlib.contextmanager
def _files(models: Sequence[object]) -> Iterator[list[str]]:
    """The models as arguments: paths as they are, models in memory as files of a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="cleave-") as folder:
        yield [_model(_saved(model, folder, i)) for i, model in enumerate(models)]


def _saved(model: object, folder: str, number: int) -> object:
    """The path of a file of the model. Raises TypeError for an object that is none, ValueError for what no file can hold."""
    name = os.path.join(folder, f"model_{number}" if number else "model")
    if type(model).__module__.startswith("torch.export"):
        from .program import library

        library("torch_module").save(model, name + ".pt2")
        return name + ".pt2"
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        with open(name + ".onnx", "wb") as file:
            file.write(model.SerializeToString())
        return name + ".onnx"
    return model


def _model(path: object) -> str:
    """The path as an argument, also where it begins as an option does."""
    text = _path("model", path)
    return os.path.join(".", text) if text.startswith("-") else text


def _text(name: str, value: object) -> str:
    """One value. Raises TypeError for what has no such text: bool, bytes, None and other objects."""
    if isinstance(value, os.PathLike):
        return _path(name, value)
    if isinstance(value, bool) or not isinstance(value, (str, numbers.Real)):
        raise TypeError(f"{name}: a value is a str, a number or a path, not {type(value).__name__}")
    return str(value)


def _item(name: str, value: object) -> str:
    """The value behind the key of a mapping."""
    if isinstance(value, bool):  # set_input={"training": True}
        return str(value).lower()
    if isinstance(value, (list, tuple)):  # input_shape={"x": [1, 3, None]}
        return ",".join("?" if item is None else _text(name, item) for item in value)
    if isinstance(value, Mapping):  # target={"acc": {"launch": "100us", "flops": 4e12}}
        return ",".join(f"{key}={_text(name, item)}" for key, item in value.items())
    return _text(name, value)


def _values(name: str, option: Option) -> list[str]:
    """What is written behind the option, each time that it is given."""
    if isinstance(option, Mapping):
        between = ":" if name == "target" else "="
        return [f"{key}{between}{_item(name, value)}" for key, value in option.items()]
    if isinstance(option, (str, bytes, os.PathLike)) or not isinstance(option, Iterable):
        return [_text(name, option)]
    values = [_text(name, value) for value in option]
    return sorted(values) if isinstance(option, (set, frozenset)) else values


def _arguments(options: Mapping[str, Option]) -> list[str]:
    arguments: list[str] = []
    for name, option in options.items():
        word = name.rstrip("_").replace("_", "-")
        if word in ("help", "json", "ops", "report", "version"):
            raise TypeError(f"{name}: is for the command line: python -m cleave --help")
        if word in FLAGS and not isinstance(option, (bool, type(None))):
            raise TypeError(f"{name}: is True or False, not {option!r}")
        if option is True:
            arguments.append("--" + word)
        elif option is not None and option is not False:
            arguments += [f"--{word}={value}" for value in _values(name, option)]
    return arguments


def finished(arguments: Sequence[str]) -> tuple[int, bytes, str]:
    """Runs the program: its exit code, output and messages. At an interrupt it ends the program and waits until that has
    removed what it began to write."""
    import subprocess
    from concurrent.futures import ThreadPoolExecutor

    from .program import environment

    # Another thread starts it, since an interrupt reaches the main thread alone: one that comes while the program
    # starts would leave it running, with nobody who knows it.
    with ThreadPoolExecutor(1) as starter:
        starting = starter.submit(subprocess.Popen, arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, env=environment())
        try:
            child = starting.result()
            printed, said = child.communicate()
        except OSError as error:
            raise Error(5, f"{arguments[0]} cannot be run: {error.strerror} ($CLEAVE_PROGRAM names another)") from error
        except BaseException:
            child = starting.result()
            child.terminate()
            child.communicate()
            raise
    return child.returncode, printed, said.decode(errors="replace").strip()


# What the program prints with --json.
KINDS = frozenset({"report", "stages", "check", "advice", "diff", "explain", "inspect", "lint", "lowering", "reduction",
                   "support_report"})


def _run(command: str, models: Sequence[object], options: Mapping[str, Option], may_fail: bool = False,
         words: Sequence[str] = ()) -> dict[str, Any]:
    """`command`: its words. `words`: other arguments without an option."""
    from .program import program

    path = program()
    with _files(models) as files:
        arguments = [path, *command.split(), *files, *words, "--json", "--log-level=warning", *_arguments(options)]
        exit_code, printed, said = finished(arguments)
    if exit_code != 0 and not (may_fail and exit_code == 1 and printed):
        raise Error(exit_code, said or f"cleave ended with exit code {exit_code}")
    try:
        document: dict[str, Any] = json.loads(printed)
        if document["format"].removeprefix("cleave.") not in KINDS:
            raise KeyError("format")
    except (ValueError, KeyError, TypeError) as error:
        raise Error(5, f"{path} printed no JSON of cleave: is $CLEAVE_PROGRAM this program?") from error
    if said:
        warnings.warn(said, CleaveWarning, stacklevel=3)
    return document
