#!/usr/bin/env python3
"""A worker that computes a quantised model without its rounding, in floats, for tests of `cleave lower --compare`."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "backends"))
from onnxruntime_worker import compile_only, run_in_floats
from worker import serve

if __name__ == "__main__":
    serve("floats", "1", {"compile": compile_only, "run": run_in_floats})
