"""Where the program and its scripts are, and the command `cleave`, which becomes the program."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))
_TREE = os.path.join(_HERE, "program")


def program() -> str:
    """The path of the program: $CLEAVE_PROGRAM, else the one in this package."""
    return os.environ.get("CLEAVE_PROGRAM") or os.path.join(_TREE, "bin", "cleave")


def version() -> str:
    """That of the wheel; where the module is run from the sources, that of the program."""
    from importlib import metadata

    if os.path.exists(_TREE):
        return metadata.version("cleave")
    from .calls import Error, finished

    exit_code, printed, said = finished([program(), "--version"])
    words = printed.decode(errors="replace").split()
    if exit_code != 0 or words[:1] != ["cleave"] or len(words) < 2:
        raise Error(5, f"{program()} printed no version of cleave: {said}")
    return words[1]


def script(name: str) -> str:
    """The path of one of cleave's scripts: in this package, or beside it in the sources."""
    packed = os.path.join(_TREE, "share", "cleave", "scripts", name)
    return packed if os.path.exists(packed) else os.path.join(os.path.dirname(os.path.dirname(_HERE)), name)


def library(name: str) -> Any:
    """One of cleave's scripts as a module."""
    folder = os.path.dirname(script(name + ".py"))
    if folder not in sys.path:
        sys.path.append(folder)  # scripts import each other
    return importlib.import_module(name)


def environment() -> dict[str, str]:
    """That of this process, but `python3` is the Python that runs this: it may have onnxruntime, for --capture."""
    before = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": os.pathsep.join([os.path.dirname(sys.executable), before])}


def main() -> None:
    path = program()
    try:
        os.execve(path, ["cleave", *sys.argv[1:]], environment())
    except OSError as error:
        sys.exit(f"cleave: error: {path} cannot be run: {error.strerror}")
