#!/usr/bin/env python3
"""Writes scripts/python/cleave/functions.py: a function for each command that reports, whose parameters are the options in
its --help.

usage: make_functions.py CLEAVE [--check]     --check: writes nothing; exit status 1 when the file is not current
"""

import keyword
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from make_results import WIDTH, camel, settle

FILE = Path(__file__).resolve().parent / "cleave" / "functions.py"
HEAD = '''"""A function for each command that reports. Made by make_functions.py from what `cleave COMMAND --help` prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union

from .calls import Model, Number, Option, Path, Paths, listed, models_of, named, run
from .page import with_page
from .program import library

if TYPE_CHECKING:
'''
# A line of --help: "  -s,--support [NAME=]LIST  support list: JSON, ..."; lines that go on are indented further.
ENTRY = re.compile(r"  (\S+)(?: (\S+))?(?:  +(\S.*))?$")
NUMBERS = {"N", "M", "R", "I", "X", "TIMES", "SECONDS"}
# Those of the command line alone: what is printed is JSON, and messages are warnings and errors of Python.
NOT_HERE = {"help", "json", "show", "stage", "code"}
BY_MAP = {"map", "map-option"}


@dataclass
class Entry:
    """An option in --help."""

    name: str  # without dashes
    value: str
    text: str
    heading: str

    @property
    def parameter(self):
        name = self.name.replace("-", "_")
        return name + "_" if keyword.iskeyword(name) else name

    @property
    def is_flag(self):
        return not self.value

    def declared(self):
        if self.is_flag:
            return f"{self.parameter}: bool = False"
        if self.value.startswith("{"):
            kind = "Literal[" + ", ".join(f'"{word}"' for word in self.value.strip("{}").split(",")) + "] | None"
        elif self.value in ("FILE", "DIR") and "repeatable" not in self.text:
            kind = "Path | None"
        elif self.value in NUMBERS:
            kind = "Number | None"
        else:
            kind = "Option"
        return f"{self.parameter}: {kind} = None"


@dataclass
class Function:
    """A function of the package. `head`: its first parameters; `models`: an expression of them."""

    name: str
    result: str
    head: str
    text: str
    command: str = ""  # an expression of the command's words, where the name is not the command
    asked: str = ""  # the command whose --help has the options, likewise
    models: str = "[model]"
    more: str = ""  # further arguments of run()
    left_out: frozenset = frozenset(BY_MAP)
    headings: tuple = ()  # the options below these, and of --map; (): all
    made: str = ""  # an expression of what it returns, instead of the result

    @property
    def result_class(self):
        return camel(self.result) or "Any"


FUNCTIONS = (
    Function("preview", "report", "model: Model, support: Paths", "How the model would be split by one or more support lists."),
    Function("split", "report", "model: Model, support: Paths, output: Path",
             "Splits the model and writes the folder `output`; `force=True` replaces one that cleave wrote. Each partition of the "
             "result has its `file` in that folder."),
    Function("stage", "stages", "model: Model, stages: int | str | None = None, *, output: Path | None = None",
             "Cuts the model into the stages of a pipeline; with `output` it writes them to that folder.",
             left_out=frozenset()),
    Function("check", "check", "models: Paths, support: Paths",
             "Holds models against limits or a baseline. A gate that does not hold is no error: look at `passed`.",
             models="listed(models)", more="may_fail=True"),
    Function("partition", "stages", "model: Model, map: Path, *, output: Path | None = None",
             "Divides the model as a map of nodes says; with `output` it writes the partitions to that folder.",
             command='"preview" if output is None else "split"', asked="split",
             left_out=frozenset({"viewer", "drawings", "capture"}), headings=("Model", "Output")),
    Function("inspect", "inspect", "model: Model", "What the model is made of, and how much of it each known list accepts."),
    Function("explain", "explain", "model: Model, nodes: str | Iterable[str] = (), *, support: Paths",
             "Why nodes are where they are: those named, by name or pattern, else all on the CPU.", more="words=named(nodes)"),
    Function("ops", "support_report", "model: Model, support: Paths", "Which operators of the model the lists accept.",
             command='"preview --show ops"', asked="preview"),
    Function("advise", "advice", "models: Any, support: Paths", "What to support next: `models` is one or a list of them.",
             models="models_of(models)"),
    Function("diff", "diff", "model: Model, other: Model | None = None, *, support: Paths, to: Mapping[str, Option] | None = None",
             "The nodes that moved between two splits, and the change to blame: of another model, or under other options, which are "
             "those of `to`: {\"support\": \"new.json\"}.",
             models="[model] if other is None else [model, other]", more="to=to"),
    Function("lower", "lowering", "model: Model, support: Paths, backend: Paths",
             "Has a compiler try each partition. One that is refused is no error: look at `clean`.", more="may_fail=True"),
    Function("reduce", "reduction", "model: Model, backend: Path", "Finds the fewest nodes of the model that a compiler refuses.",
             more="may_fail=True", left_out=frozenset()),
    Function("lint", "lint", "list: Path, models: Any = ()",
             "What is wrong with a support list, by itself and for models. Errors of the list are no error: look at `errors`.",
             command='"lists lint"', asked="lists", models="[list, *models_of(models)]", more="may_fail=True",
             left_out=frozenset({"name", "output", "force"})),
    Function("split_module", "", "module: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None, *, "
             "support: Union[Paths, Mapping[str, Any]], output: Path | None = None, dynamic_shapes: Any = None",
             "cleave.torch.split(): exports the module with these arguments, splits the program, and returns a torch.nn.Module that "
             "is called as the module is; its children are the partitions, `report` is that of cleave.split(). A program of "
             "torch.export.export() is taken as it is. `support`: lists, or the content of one as a dict. `output`: a folder for the "
             "partitions, which else go with the module.",
             asked="split",
             made='library("torch_module").split_module(split, module, args, kwargs, support, output, dynamic_shapes, '
                  "{**flags, **options})"),
)  # fmt: skip


def entries_of(cleave, command):
    """The options of a command, in the order of help."""
    printed = subprocess.run([cleave, *command.split(), "--help"], capture_output=True, text=True, check=True).stdout
    entries, heading = [], ""
    for line in printed.splitlines():
        found = ENTRY.match(line)
        if found:
            names, value, text = found.groups()
            entries.append(Entry(names.split(",")[-1].lstrip("-") if names.startswith("-") else "", value or "", text or "", heading))
        elif line.startswith("   ") and entries:
            entries[-1].text = f"{entries[-1].text} {line.strip()}".strip()
        elif line.strip():
            heading = line.strip(": ")
    return [entry for entry in entries if len(entry.name) > 1]


def options_of(cleave, function):
    """The entries that become keywords, and those that the head has."""
    command = function.asked or function.name
    hidden = function.left_out | (NOT_HERE)
    entries = [one for one in entries_of(cleave, command) if one.name not in hidden and one.heading != "Terminal"]
    if function.headings:
        entries = [one for one in entries if one.heading in function.headings or one.name in BY_MAP]
    entries += [one for one in entries_of(cleave, "") if one.name == "config"]
    in_head = set(re.findall(r"(\w+):", function.head))
    return [one for one in entries if one.parameter not in in_head], [one for one in entries if one.parameter in in_head]


def filled(text, indent, hanging="    "):
    return "\n".join(textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent + hanging,
                                   break_long_words=False, break_on_hyphens=False))  # fmt: skip


def mapping(name, entries):
    """The line that makes a dict of parameters, filled: no pair is broken."""
    pairs = ", ".join(f'"{one.parameter}":\0{one.parameter}' for one in entries)
    return filled(f"{name}\0=\0{{{pairs}}}", "    ").replace("\0", " ")


def text_of(cleave, function):
    keywords, in_head = options_of(cleave, function)
    flags = [one for one in keywords if one.is_flag]
    values = [*([] if function.made else in_head), *(one for one in keywords if not one.is_flag)]
    result = function.result_class
    head = function.head if "*" in function.head else function.head + ", *"
    lines = [f"def {function.name}("]
    lines += [f"    {one}," for one in [*re.split(r", (?![^\[]*\])", head), *(one.declared() for one in keywords)]]
    lines += [f") -> {result}:", filled('"""' + function.text, "    ", ""), ""]
    lines += [filled(f"{one.parameter}: {one.text}", "    ") for one in keywords]
    lines += ['    """', *([f"    from .results.{function.result} import {result}", ""] if function.result else [])]
    lines += [mapping("flags:\0dict[str,\0bool]", flags), mapping("options:\0dict[str,\0Option]", values)]
    call = ", ".join(filter(None, [function.command or f'"{function.name}"', function.models, "flags", "options", function.more]))
    made = function.made or f"{result}.from_json(run({call}))"
    return "\n".join([*lines, "    return " + (f"with_page({made}, model, flags, options)" if result == "Report" else made)])


def file_text(cleave):
    classes = dict(sorted((one.result, one.result_class) for one in FUNCTIONS if one.result))
    imports = [f"    from .results.{name} import {result}\n" for name, result in classes.items()]
    return HEAD + "".join(imports) + "\n\n" + "\n\n\n".join(text_of(cleave, one) for one in FUNCTIONS) + "\n"


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    settle(FILE, file_text(sys.argv[1]), "--help says", "CLEAVE")


if __name__ == "__main__":
    main()
