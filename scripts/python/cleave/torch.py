"""PyTorch: a module split in one call, and the scripts for splits of torch programs.

    import cleave.torch

    split = cleave.torch.split(model, (x,), support="npu.json", min_acc_module_size=2)
    y = split(x)                                   # the partitions, one after the other
    print(split.report.cpu_reasons[0].detail)      # why a node is on the CPU
    part = split.get_submodule("_run_on_acc_0")    # a partition is a module

    python -m cleave verify MODEL.pt2 DIR          runs a split in torch and compares it with the whole, bit for bit
    python -m cleave.torch apply DIR ...           does to a module what cleave did to its torch.fx graph
    python -m cleave.torch export ...              traces a module into native graph JSON
    python -m cleave.torch capture DIR             writes what each partition takes and makes

Needs torch 2.9 or later.
"""

from __future__ import annotations

import sys

from .functions import split_module as split

__all__ = ["split"]
COMMANDS = {"apply": "apply_fx.py", "export": "export_fx.py", "capture": "capture_torch.py"}


def main() -> None:
    from .scripts import run

    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"usage: python -m cleave.torch {'|'.join(COMMANDS)} ...")
    command = sys.argv.pop(1)
    run(f"cleave.torch {command}", COMMANDS[command])


if __name__ == "__main__":
    main()
