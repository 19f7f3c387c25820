"""Runs a split in ONNX Runtime and compares it with the original: `python -m cleave.verify --help`."""

from .scripts import run

if __name__ == "__main__":
    run("cleave.verify", "verify_split.py")
