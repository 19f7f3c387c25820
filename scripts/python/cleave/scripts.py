"""Runs a script of cleave as `python -m` does: verify, capture and export."""

from __future__ import annotations

import os
import runpy
import sys

from .program import script


def run(name: str) -> None:
    path = script(name)
    sys.argv[0] = path
    sys.path.insert(0, os.path.dirname(path))  # scripts import each other
    runpy.run_path(path, run_name="__main__")
