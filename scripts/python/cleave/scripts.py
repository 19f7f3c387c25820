"""Runs a script of cleave as `python -m` does."""

from __future__ import annotations

import os
import runpy
import sys

from .program import script


def run(module: str, name: str) -> None:
    """Runs the script `name`, whose usage says `python -m` and the module."""
    path = script(name)
    sys.argv[0] = f"python -m {module}"
    os.environ["CLEAVE_SCRIPT"] = sys.argv[0]  # for a script that runs itself as a child
    sys.path.insert(0, os.path.dirname(path))  # scripts import each other
    runpy.run_path(path, run_name="__main__")
