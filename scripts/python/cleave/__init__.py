"""cleave splits machine-learning models between an accelerator and the CPU.

    report = cleave.split("model.onnx", "npu.json", "parts", dim={"N": 1}, min_acc_module_size=2)
    for part in report.partitions:
        print(part.name, part.file, part.is_acc, len(part.nodes))
    for why in report.cpu_reasons:
        print(why.node, why.detail)

Each function runs the program of the same name and returns what it prints with --json, as a dataclass of
cleave.results; in a notebook that of preview() and split() is shown as its page. Keywords are the program's options:
`min_acc_module_size=2` is --min-acc-module-size 2, `keep_qdq=True` is --keep-qdq, a list repeats an option, and
`dim={"N": 1}` is --dim N=1; help(cleave.split) lists them. What the program refuses raises cleave.Error
with its message and exit code; its warnings are warnings of Python, of the category cleave.CleaveWarning. A model is a
file, an onnx.ModelProto, or a torch.export.ExportedProgram.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .calls import CleaveWarning, Error
from .functions import (
    advise,
    check,
    diff,
    explain,
    inspect,
    lint,
    lower,
    ops,
    partition,
    preview,
    reduce,
    split,
    stage,
)

__all__ = [
    "CleaveWarning", "Error", "__version__", "advise", "check", "diff", "explain", "inspect", "lint", "lower", "ops",
    "partition", "preview", "reduce", "split", "stage",
]

if TYPE_CHECKING:
    __version__: str
else:

    def __getattr__(name: str) -> str:
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from .program import version

        return version()
