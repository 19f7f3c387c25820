#!/usr/bin/env python3
"""Writes formats/models/pt2/operators.inc, the table of torch's operators, from the schemas of the installed
torch. Run it once for a release of torch.

One line per operator: its name, its arguments, its results, and "r" if it draws random numbers.

    aten.add_.Tensor self!a,other,alpha=1 a
         argument `self` is written (!) and shares memory with results of set `a`; `alpha` has a
         default; the one result is of set `a`
    aten.view.default self:a,size a
         the result is a view (:) of `self`

Defaults: none, true, false, numbers (reals with a point), 'text', [1;1].

usage: torch_operators.py [FILE]      default: formats/models/pt2/operators.inc
"""
import sys
from pathlib import Path

import torch

SPACES = ("aten", "prims", "quantized", "quantized_decomposed", "torchvision", "_c10d_functional")
HEAD = """// Torch's operators, made by scripts/dev/torch_operators.py from torch {version}: do not edit.
"""


def default_text(value):
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = repr(value)
        return text if any(c in text for c in ".en") else text + ".0"
    if isinstance(value, (list, tuple)):
        items = [default_text(item) for item in value]
        return None if None in items else "[" + ";".join(items) + "]"
    text = str(value)
    return f"'{text}'" if all(c.isalnum() or c in "_-." for c in text) else None


def alias_text(info):
    return "".join(sorted(name.split("::")[-1] for name in info.before_set)) or "*"


def argument_text(argument):
    text = argument.name
    if argument.alias_info is not None:
        text += ("!" if argument.alias_info.is_write else ":") + alias_text(argument.alias_info)
    if argument.has_default_value():
        default = default_text(argument.default_value)
        if default is not None:
            text += "=" + default
    return text


def line_of(schema):
    space, _, base = schema.name.partition("::")
    overload = schema.overload_name or "default"
    types = [str(part.type) for part in (*schema.arguments, *schema.returns)]
    writes_out = any(a.kwarg_only and a.alias_info is not None and a.alias_info.is_write
                     for a in schema.arguments)
    if space not in SPACES or writes_out or not any("Tensor" in name for name in types):
        return None
    try:
        operator = getattr(getattr(getattr(torch.ops, space), base), overload)
    except (AttributeError, RuntimeError):
        return None
    arguments = ",".join(argument_text(a) for a in schema.arguments) or "-"
    results = ",".join("-" if r.alias_info is None else alias_text(r.alias_info)
                       for r in schema.returns) or "0"
    is_random = torch.Tag.nondeterministic_seeded in operator.tags
    return f"{space}.{base}.{overload} {arguments} {results}" + (" r" if is_random else "")


def main():
    default = Path(__file__).resolve().parents[2] / "formats" / "models" / "pt2" / "operators.inc"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    lines = {line_of(schema) for schema in torch._C._jit_get_all_schemas()} - {None}
    with path.open("w", encoding="utf-8") as out:
        out.write(HEAD.format(version=torch.__version__.partition("+")[0]))
        for line in sorted(lines, key=lambda text: text.split(" ")[0]):
            out.write(f'"{line}"sv,\n')
    print(f"{len(lines)} operators in {path}")


if __name__ == "__main__":
    main()
