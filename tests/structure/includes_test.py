#!/usr/bin/env python3
"""Checks the includes of core, formats and cli.

Layers go one way: a file includes files of its own layer and of those below it. Rooms (folders) of one layer may
use each other, but not in a circle. Core includes the standard library only; headers of formats are free of
libraries. A source has at most 1,500 lines. The splitter includes no shelf, and a shelf only those that it names; nor
do their tests. A file includes, itself or through another one, what declares each function that it calls and each
type that it names: without that it builds only by chance. A source that a comment names exists: a path from the
project's folder, or the name of a file beside.

usage: includes_test.py PROJECT_FOLDER      exit status 1 when an include breaks a rule
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

# From the lowest; a room belongs to the layer that names the longest beginning of its path.
LAYERS = [
    ["core"],
    ["formats/base"],
    ["formats/models", "formats/onnx", "formats/pt2", "formats/tflite"],
    ["formats/lists", "formats/run/backend", "formats/run/lowering"],
    ["formats/report"],
    ["formats/run"],
    ["cli"],
]
MOST_LINES = 1500
SHELF = re.compile(r'^cleave_shelf\((\w+) "[^"]*"\s*(?:USES ([\w ]+?))?\s*COMMANDS [^\n]*\n\s*PLACES ([^)]+)\)', re.M)
# What chooses by the shelves that are built; the test is left out where one of them is.
CHOOSES = {"cli/commands/commands.cc", "cli/commands/preview.cc", "cli/commands/split.cc",
           "tests/formats/report/words/schema_test.cc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.M)
STANDARD = re.compile(r"[a-z_0-9]+")  # <vector>, <cstdint>: no folder, no extension



def layer_of(room):
    names = [(len(name), layer) for layer, of_layer in enumerate(LAYERS) for name in of_layer
             if room == name or room.startswith(name + "/")]
    return max(names)[1] if names else None


def faults_of(path, room, text):
    if layer_of(room) is None:
        yield 1, f"{room} is in no layer"
        return
    for match in INCLUDE.finditer(text):
        own, system = match.groups()
        line = text.count("\n", 0, match.start(0)) + 1
        if own:
            other = layer_of(str(Path(own).parent))
            if other is None or other > layer_of(room):
                yield line, f'{room} must not include "{own}", which is above it'
        elif STANDARD.fullmatch(system):
            continue
        elif room.startswith("core/"):
            yield line, f"core includes the standard library only, not <{system}>"
        elif room.startswith("formats") and path.suffix == ".h":
            yield line, f"<{system}> belongs in a .cc file: headers of formats are free of it"


def circles(uses):
    """Circles of rooms, each told once: [[room, ..., room]]."""
    found, done = [], set()

    def visit(room, path):
        for other in sorted(uses[room]):
            if other in path:
                found.append([*path[path.index(other):], other])
            elif other not in done:
                visit(other, [*path, other])
        done.add(room)

    for room in sorted(uses):
        if room not in done:
            visit(room, [room])
    return found


def shelves(root):
    """[(name, names that it uses, pattern of its places)]."""
    text = (root / "scripts/build/shelves.cmake").read_text(encoding="utf-8")
    return [(name, uses.split(), re.compile("|".join(places.split())))
            for name, uses, places in SHELF.findall(text)]


def faults_of_shelves(root, path, table):
    """Includes of shelves that the file's shelf, or the splitter, does not use."""
    def shelf_of(name):
        return next((shelf for shelf, _, places in table if places.match(name)), None)

    uses = {name: set(used) | {name} for name, used, _ in table} | {None: set()}
    own = shelf_of(path.removeprefix("tests/"))
    for header in re.findall(r'#include "([^"]+)"', (root / path).read_text(encoding="utf-8")):
        other = shelf_of(header.removeprefix("tests/"))
        if other and other not in uses[own] and path not in CHOOSES:
            yield f'{path}: {own or "the splitter"} must not include "{header}" of {other}'


SOURCE_IN_COMMENT = re.compile(r"[\w./-]*\w\.(?:h|cc)\b")
# Beginnings of paths in other projects, as in `Source: onnxruntime/core/common/profiler.cc`.
OTHERS = ("onnxruntime/", "core/framework/")  # both of ONNX Runtime


def faults_of_comments(root, path, text):
    """Sources that comments of the file name and that are not there: they were moved or renamed."""
    for number, line in enumerate(text.split("\n"), 1):
        for name in SOURCE_IN_COMMENT.findall(line.partition("//")[2]):
            if not (name.startswith(OTHERS) or (root / name).is_file() or (path.parent / name).is_file()):
                yield number, f"names {name}, which does not exist"


COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)
TYPE = re.compile(r"^(?:struct|class|enum class) ([A-Z]\w*)[^;{]*\{|^using ([A-Z]\w*) =", re.M)
FUNCTION = re.compile(r"^(?:inline |constexpr )*[A-Za-z_][\w:<>,*& ]*[ &*>]([a-z]\w*)\(", re.M)
CALL = re.compile(r"(?<![\w.>:&*~])(?:(?<!\w )|(?<=\breturn ))([a-z]\w*)(?:<[\w:, <>]*>)?\(")


class Declarations:
    """What the headers declare at the start of a line, and the headers that a file reaches."""

    def __init__(self, root):
        self.text = {str(path.relative_to(root)): COMMENT_OR_TEXT.sub(
            lambda found: found[0] if found[0].startswith('"') and found[0].endswith('.h"') else " ",
            path.read_text(encoding="utf-8")) for top in ("core", "formats", "cli")
            for path in sorted((root / top).rglob("*")) if path.suffix in (".h", ".cc")}
        self.where = defaultdict(set)
        for path, text in self.text.items():
            if path.endswith(".h"):
                for name in ["".join(found) for found in TYPE.findall(text)] + FUNCTION.findall(text):
                    self.where[name].add(path)

    def reached(self, path):
        found, left = {path}, [path]
        while left:
            for header in re.findall(r'#include "([^"]+)"', self.text[left.pop()]):
                if header in self.text and header not in found:
                    found.add(header)
                    left.append(header)
        return found

    def faults(self):
        for path, text in self.text.items():
            reached = self.reached(path)
            named = set(re.findall(r"(?<![\w:.])[A-Z]\w*\b", text)) | set(CALL.findall(text))
            for name in sorted(named & self.where.keys()):
                if self.where[name] & reached:
                    continue
                # A type of a class, a parameter of a template, a local function or variable.
                own = rf"[\w>&*] \*?&?{name}\(|\b{name}(?=[,;){{_ ])"
                if name[0].isupper():
                    own = rf"\b(?:struct|class|using|enum class|typename|size_t) {name}\b|\b{name}[,;}} ]*(?:=|,|\}})"
                if not any(re.search(own, self.text[other]) for other in reached):
                    yield f"{path}: names {name} and does not include {' or '.join(sorted(self.where[name]))}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1])
    faults = []
    uses = defaultdict(set)
    lines = 0
    table = shelves(root)
    if len(table) < 5:
        faults.append("scripts/build/shelves.cmake: a shelf was not read")
    for top in ("core", "formats", "cli"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            name, room = str(path.relative_to(root)), str(path.parent.relative_to(root))
            text = path.read_text(encoding="utf-8")
            faults += faults_of_shelves(root, name, table)
            faults += [f"{name}:{line}: {what}" for line, what in faults_of(path, room, text)]
            faults += [f"{name}:{line}: {what}" for line, what in faults_of_comments(root, path, text)]
            lines += text.count("\n")
            if text.count("\n") > MOST_LINES:
                faults.append(f"{name} has more than {MOST_LINES} lines")
            uses[room] |= {str(Path(own).parent) for own, _ in INCLUDE.findall(text) if own} - {room}
    for top in ("tests/core", "tests/formats"):
        for path in sorted((root / top).rglob("*.cc")):
            faults += faults_of_shelves(root, str(path.relative_to(root)), table)
    faults += [f"a circle of rooms: {' -> '.join(circle)}" for circle in circles(uses)]
    faults += Declarations(root).faults()
    print("\n".join(faults + [f"{lines} lines, {len(uses)} rooms, {len(faults)} faults"]))
    sys.exit(1 if faults or not lines else 0)


if __name__ == "__main__":
    main()
