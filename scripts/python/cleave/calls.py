"""Calls of the program: arguments, errors, and its JSON."""

from __future__ import annotations

import contextlib
import json
import numbers
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Union

# A model: a file, or an onnx.ModelProto or torch.export.ExportedProgram, which is saved in a temporary folder.
Model = Any
Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Iterable[Path]]
Number = Union[int, float, str]
Option = Union[None, bool, int, float, Path, Iterable[int | float | Path], Mapping[str, object]]


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


def models_of(models: Any) -> list[Model]:
    return list(models) if isinstance(models, (list, tuple)) else [models]


def listed(paths: Paths) -> list[Path]:
    return [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)


def named(nodes: str | Iterable[str]) -> list[str]:
    return [nodes] if isinstance(nodes, str) else list(nodes)


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


def _arguments(flags: Mapping[str, bool], options: Mapping[str, Option]) -> list[str]:
    """`flags`: options without a value, by the name of their parameter."""
    for name, is_given in flags.items():
        if not isinstance(is_given, (bool, type(None))):
            raise TypeError(f"{name}: is True or False, not {is_given!r}")
    arguments: list[str] = []
    for name, option in {**options, **flags}.items():
        word = "--" + name.rstrip("_").replace("_", "-")
        if option is True:
            arguments.append(word)
        elif option is not None and option is not False:
            arguments += [f"{word}={value}" for value in _values(name, option)]
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


def run(command: str, models: Sequence[object], flags: Mapping[str, bool], options: Mapping[str, Option], *,
        may_fail: bool = False, words: Sequence[str] = (), to: Mapping[str, Option] | None = None) -> dict[str, Any]:
    """What the program prints. `command`: its words; `words`: other arguments without an option; `to`: options of the second
    side of `diff`."""
    from .program import program

    path = program()
    second = ["to", *_arguments({}, to)] if to else []
    with _files(models) as files:
        arguments = [path, *command.split(), *files, *words, "--json", "--log-level=warning", *_arguments(flags, options), *second]
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
