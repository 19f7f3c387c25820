"""Writes the inputs and outputs of each partition: `python -m cleave.capture --help`."""

from .scripts import run

if __name__ == "__main__":
    run("cleave.capture", "capture_inputs.py")
