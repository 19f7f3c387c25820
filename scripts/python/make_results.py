#!/usr/bin/env python3
"""Writes scripts/python/cleave/results: a module for each JSON schema, with a dataclass for each object in it. Those that are
the same in several schemas are in common.py; each module has them under its own names, too.

usage: make_results.py [--check]      --check: writes nothing; exit status 1 when a module is not current
"""

import json
import keyword
import re
import sys
import textwrap
from collections import Counter
from pathlib import Path

SCHEMAS = ("report", "stages", "check", "advice", "diff", "explain", "inspect", "lint", "lowering", "reduction", "support_report")
PROJECT = Path(__file__).resolve().parent.parent.parent
RESULTS = Path(__file__).resolve().parent / "cleave" / "results"
WIDTH = 120
HEAD = '''"""{title}, as dataclasses. Made by make_results.py from {source}."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None",
         "object": "dict[str, Any]"}
# What print() shows of a result: a line instead of all fields.
SHORT = {
    "Report": ["Report(model={self.model.name!r}, nodes={self.model.nodes}, acc_nodes={len(self.acc_nodes)}, ",
               "partitions={len(self.partitions)})"],
    "Stages": ["Stages(model={self.model.name!r}, nodes={self.model.nodes}, stages={len(self.stages)})"],
    "Check": ["Check(passed={self.passed}, runs={len(self.runs)}, gates={len(self.gates)}, ",
              "regressions={len(self.regressions)})"],
}


def camel(name):
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def one_of(name):
    """The name of an item of the list: `cpu_reasons` has each a cpu_reason."""
    return name[:-1] if name.endswith("s") else name


def comment(text):
    return textwrap.wrap(text, WIDTH, initial_indent="    # ", subsequent_indent="    # ")


def docstring(text):
    return textwrap.wrap(f'"""{text}"""', WIDTH, initial_indent="    ", subsequent_indent="    ") + [""]


def short_text(name):
    """The method that prints one line of a result, and the one that shows a report in a notebook; of other classes no lines."""
    if name not in SHORT:
        return []
    lines = [f'            f"{line}"' for line in SHORT[name]]
    page = ["", "    def _repr_html_(self) -> str | None:", "        from ..page import page_of", "", "        return page_of(self)"]
    return ["", "    def __repr__(self) -> str:", "        return (", *lines, "        )", *(page if name == "Report" else [])]


class Classes:
    """The classes of one schema, in the order in which they are needed."""

    def __init__(self, root, schema):
        """`root`: begins all names."""
        self.root, self.schema, self.made = root, schema, {}
        self.defined = {self.root + camel(key): node for key, node in schema.get("$defs", {}).items()}
        self.add(self.root, schema)

    def resolved(self, node):
        """The schema behind a reference, and the name of its class."""
        if "$ref" not in node:
            return node, None
        name = node["$ref"].removeprefix("#/$defs/")
        return self.schema["$defs"][name], self.root + camel(name)

    def type_of(self, node, path):
        """The type, and how a value `x` of JSON becomes it: a pattern with {x}, or None where it is it already."""
        node, name = self.resolved(node)
        path = name or path
        if "const" in node:
            kind = "Literal" if isinstance(node["const"], str) else None
            return (f"Literal[{json.dumps(node['const'])}]" if kind else type(node["const"]).__name__), None
        if "enum" in node:
            words = ", ".join(json.dumps(word) for word in node["enum"] if word is not None)
            return f"Literal[{words}]" + (" | None" if None in node["enum"] else ""), None
        if "anyOf" in node and "type" not in node:
            return self.union([self.type_of(part, path) for part in node["anyOf"]])
        if "type" not in node:
            return "Any", None
        kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
        return self.union([self.plain(kind, node, path) for kind in kinds])

    def union(self, parts):
        names = list(dict.fromkeys(name for name, _ in parts))
        if "Any" in names or len([how for _, how in parts if how]) > 1:
            return "Any", None
        names.sort(key=lambda name: name == "None")
        how = next((how for _, how in parts if how), None)
        if how and "None" in names:
            how = "None if {x} is None else " + how
        return " | ".join(names), how

    def plain(self, kind, node, path):
        if kind == "array":
            if "items" not in node:
                return "list[Any]", None
            item, how = self.type_of(node["items"], one_of(path))
            return f"list[{item}]", how and "[" + how.replace("{x}", "item") + " for item in {x}]"
        if kind != "object":
            return PLAIN[kind], None
        if "properties" in node:
            if path in self.defined and node is not self.defined[path]:
                path += "Field"  # a definition of the schema has this name
            self.add(path, node)
            return path, path + ".from_json({x})"
        more = node.get("additionalProperties")
        if not isinstance(more, dict):
            return PLAIN[kind], None
        item, how = self.type_of(more, one_of(path))
        return f"dict[str, {item}]", how and "{{key: " + how.replace("{x}", "item") + " for key, item in {x}.items()}}"

    def add(self, path, node):
        if path in self.made:
            return
        self.made[path] = None  # its place; filled when the classes that it needs are made
        required = set(node.get("required", ()))
        fields, reads = [], []
        for name, field in node["properties"].items():
            kind, how = self.type_of(field, path + camel(name))
            attribute = name + "_" if keyword.iskeyword(name) or name in ("dict", "list") else name
            if field.get("description"):
                fields += comment(field["description"])
            source, default = f"data[{json.dumps(name)}]", ""
            if name not in required:
                default = " = None"
                kind += "" if kind == "Any" or kind.endswith("None") else " | None"
                how = f"({how}) if {json.dumps(name)} in data else None" if how else f"data.get({json.dumps(name)})"
            fields.append(f"    {attribute}: {kind}{default}")
            reads.append(f"            {attribute}={how.replace('{x}', source) if how else source},")
        description = docstring(node["description"]) if node.get("description") else []
        del self.made[path]
        self.made[path] = "\n".join(
            ["@dataclass(frozen=True, kw_only=True)", f"class {path}:", *description, *fields, "",
             "    @classmethod", f"    def from_json(cls, data: dict[str, Any]) -> {path}:", "        return cls(", *reads,
             "        )", *short_text(path)])


def classes_needed(text):
    return re.findall(r"(\w+)\.from_json\(", text)


def common_of(classes):
    """The classes that are the same in several schemas, by name. `classes`: for each schema its own, whose names begin with nothing."""
    found = Counter(item for made in classes for item in made.items())
    common = {name: text for (name, text), count in found.items() if count > 1}
    while lacking := [name for name, text in common.items() if not common.keys() >= set(classes_needed(text))]:
        for name in lacking:  # what it needs is not the same everywhere
            del common[name]
    return common


def module(title, source, imports, classes):
    head = HEAD.format(title=title, source=source)
    return "\n\n\n".join([head + imports, *classes]).replace("{{", "{").replace("}}", "}") + "\n"


def texts():
    """The text of each module by its name."""
    schemas = {name: json.loads((PROJECT / f"formats/report/schema/{name}.schema.json").read_text(encoding="utf-8")) for name in SCHEMAS}
    plain = {name: Classes("", schema).made for name, schema in schemas.items()}
    common = common_of(plain.values())
    made = {"common": module("What is the same in several reports", "the schemas", "", common.values())}
    for name, schema in schemas.items():
        own, taken = [], []
        for (full, text), (short, same) in zip(Classes(camel(name), schema).made.items(), plain[name].items()):
            if common.get(short) == same:
                taken.append((full, short))
            else:
                own.append(text)
        imports = f"\n\nfrom .common import {', '.join(sorted(short for _, short in taken))}\n" if taken else ""
        imports += "".join(f"\n{full} = {short}" for full, short in taken)
        made[name] = module(schema["title"], f"{name}.schema.json", imports, own)
    return made


def settle(path, text, source, arguments=""):
    """Writes the file; with --check on the command line ends the program where it has another text."""
    if "--check" not in sys.argv:
        path.write_text(text, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        sys.exit(f"{path} is not what {source}: run {Path(sys.argv[0]).name} {arguments}".rstrip())


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    for name, text in texts().items():
        settle(RESULTS / f"{name}.py", text, "the schemas say")


if __name__ == "__main__":
    main()
