"""Traces a PyTorch model into native graph JSON: `python -m cleave.export --help`."""

from .scripts import run

if __name__ == "__main__":
    run("cleave.export", "export_fx.py")
