"""Traces a PyTorch model into native graph JSON: `python -m cleave.export --help`."""

from .scripts import run

if __name__ == "__main__":
    run("export_fx.py")
