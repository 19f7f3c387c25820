#!/usr/bin/env python3
"""Checks the includes between folders ("rooms"): each includes only the rooms that the table allows.

The table lists the rooms so that a room may include itself and the rooms named next to it, all of which
are listed before it: so there is no cycle. Third-party headers appear in sources of formats and in cli,
but not in headers of formats, and not in core. No room has more than 6,000 lines. A file includes, itself or through another one, what
declares each function that it calls and each type that it names: without that it builds only in one compilation with others.

usage: includes_test.py PROJECT_FOLDER      exit status 1 when an include breaks a rule
"""

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

CORE_LOW = "core/base core/graph"
CORE = CORE_LOW + " core/condition core/pattern core/support core/cost core/devices core/split core/measures"
FILES = "formats/base/text formats/base/io formats/base/json"
ONNX = "formats/models/onnx/index formats/models/onnx/infer formats/models/onnx/read formats/models/onnx/view"
LIBRARY = CORE + " core/lint core/balance core/stages core/advice core/check core/placement core/lowering"
READERS = (FILES + " formats/models/bind formats/models/graph_json formats/lists/settings formats/lists/support "
           "formats/lists/tables formats/lists/costs "
           "formats/models/pt2 formats/models/pt2/write formats/models/tflite formats/models/tflite/write "
           "formats/run/backend formats/run/lowering "
           "formats/models " + ONNX + " formats/models/onnx/write")
REPORTS = "formats/report/words formats/report/ci formats/report/drawings formats/report/split " \
          "formats/report/lint formats/report/check formats/report/stages formats/report/advice formats/report/guide"

MAY_INCLUDE = {
    # The graph and what is computed on it.
    "core/base": "",
    "core/graph": "core/base",
    "core/balance": "core/base",
    "core/condition": CORE_LOW,
    "core/pattern": CORE_LOW,
    "core/support": CORE_LOW + " core/condition core/pattern",
    "core/lint": CORE_LOW + " core/condition core/pattern core/support",
    "core/cost": CORE_LOW + " core/condition core/support",
    "core/placement": "core/base core/cost",
    "core/devices": CORE_LOW + " core/cost core/placement",
    "core/split": CORE_LOW + " core/pattern core/support core/cost core/placement core/devices",
    "core/measures": CORE_LOW + " core/condition core/support core/cost core/devices core/split",
    "core/stages": CORE + " core/balance",
    "core/advice": CORE,
    "core/check": CORE,
    "core/lowering": CORE,
    # Bytes to core types and back.
    "formats/base/text": "core/base",
    "formats/base/io": "core/base formats/base/text",
    "formats/base/json": "core/base formats/base/text formats/base/io",
    "formats/models/bind": CORE_LOW + " " + FILES,
    "formats/models/onnx/index": CORE_LOW + " formats/models/bind " + FILES,
    "formats/models/onnx/infer": CORE_LOW + " core/condition core/support formats/models/bind formats/models/onnx/index " + FILES,
    "formats/models/onnx/infer/rules": CORE_LOW + " formats/models/onnx/index formats/models/onnx/infer formats/base/text",
    "formats/models/onnx/infer/values": CORE_LOW + " formats/models/onnx/index formats/models/onnx/infer formats/base/text",
    "formats/models/onnx/fold": CORE_LOW + " formats/models/bind formats/models/onnx/index formats/models/onnx/infer " + FILES,
    "formats/models/onnx/read": CORE_LOW + " core/condition formats/models/bind formats/models/onnx/index formats/models/onnx/infer "
                         "formats/models/onnx/fold " + FILES,
    "formats/models/onnx/view": CORE_LOW + " core/condition formats/models/onnx/index formats/models/onnx/infer",
    "formats/models/onnx/write": CORE + " formats/models/bind " + ONNX + " " + FILES,
    "formats/models/pt2": CORE + " formats/models/bind " + FILES,
    # Native JSON can be made of other models: `convert`.
    "formats/models/tflite": CORE + " formats/models/bind " + FILES,
    "formats/models/graph_json": CORE + " core/stages formats/models/bind formats/models/onnx/index formats/models/pt2 " + FILES,
    "formats/models/pt2/write": CORE + " formats/models/bind formats/models/pt2 " + FILES,
    "formats/models/tflite/write": CORE + " formats/models/bind formats/models/tflite " + FILES,
    "formats/lists/settings": CORE + " core/placement formats/base/text formats/base/json",
    "formats/lists/support": CORE_LOW + " core/condition core/support core/cost " + FILES,
    "formats/lists/tables": CORE + " core/balance core/stages formats/models/bind formats/lists/support " + FILES,
    "formats/lists/costs": CORE + " core/placement formats/models/bind formats/lists/tables " + FILES,
    "formats/models": CORE + " " + FILES + " formats/models/bind formats/models/graph_json formats/models/pt2 "
                      "formats/models/tflite " + ONNX,
    "formats/run/backend": CORE_LOW + " core/lowering " + FILES + " formats/models/onnx/index formats/models/onnx/write "
                           "formats/models/tflite formats/models/tflite/write",
    "formats/run/lowering": LIBRARY + " " + FILES + " formats/models/bind formats/lists/support formats/models "
                        "formats/models/onnx/write formats/models/pt2 formats/models/pt2/write formats/models/tflite/write "
                        "formats/run/backend " + ONNX,
    # What people and programs read.
    "formats/report/words": LIBRARY + " " + READERS,
    "formats/report/guide": "core/base formats/base/text",
    "formats/report/drawings": LIBRARY + " " + READERS + " formats/report/words",
    "formats/report/split": LIBRARY + " " + READERS + " formats/report/words",
    "formats/report/ci": "core/base core/graph formats/base/json formats/base/text",
    "formats/report/lint": LIBRARY + " " + READERS + " formats/report/words",
    "formats/report/check": LIBRARY + " " + READERS + " formats/report/words formats/report/ci formats/report/drawings",
    "formats/report/stages": LIBRARY + " " + READERS + " formats/report/words "
                             "formats/report/drawings",
    "formats/report/advice": LIBRARY + " " + READERS + " formats/report/words formats/report/drawings",
    "formats/report/lowering": LIBRARY + " " + READERS + " formats/report/words formats/report/ci formats/report/check",
    # Whole jobs, from files to files, without a command line.
    "formats/run/jobs": LIBRARY + " " + READERS + " " + REPORTS,
    # What programs that use cleave as a library include.
    "formats/run/library": LIBRARY + " " + READERS + " " + REPORTS + " formats/run/jobs",
    # The command line.
    "cli/terminal": LIBRARY + " " + READERS + " " + REPORTS + " formats/run/jobs",
    "cli/options": LIBRARY + " " + READERS + " " + REPORTS + " formats/run/jobs cli/terminal",
    "cli/shell": "cli/options",
    "cli/jobs": LIBRARY + " " + READERS + " " + REPORTS + " formats/run/jobs cli/terminal cli/options",
    "cli/commands": LIBRARY + " " + READERS + " " + REPORTS + " formats/report/lowering "
                    "formats/run/jobs cli/terminal cli/options cli/jobs",
    "cli": "formats/base/io cli/commands cli/options cli/shell cli/terminal",
}
MOST_LINES = 6000
SHELF = re.compile(r'^cleave_shelf\((\w+) "[^"]*"\s*(?:USES ([\w ]+?))?\s*COMMANDS [^\n]*\n\s*PLACES ([^)]+)\)', re.M)
# What chooses by the shelves that are built.
CHOOSES = {"cli/commands/commands.cc", "cli/commands/print.cc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.M)
STANDARD = re.compile(r"[a-z_0-9]+")  # <vector>, <cstdint>: no folder, no extension


def faults_of_table():
    """A room may name only rooms that are defined before it, so that the table has no circle."""
    rooms = list(MAY_INCLUDE)
    for room, allowed in MAY_INCLUDE.items():
        for other in allowed.split():
            if other not in MAY_INCLUDE:
                yield f'the table lets {room} include "{other}", which is no room'
            elif rooms.index(other) >= rooms.index(room):
                yield f'the table lets {room} include "{other}", which is above it'


def faults_of(path, room):
    text = path.read_text(encoding="utf-8")
    allowed = set(MAY_INCLUDE[room].split()) | {room}
    if room.startswith("formats/models/onnx/infer/"):  # its rules are declared in the room around it
        allowed.add("formats/models/onnx/infer")
    for match in INCLUDE.finditer(text):
        own, system = match.groups()
        line = text.count("\n", 0, match.start(0)) + 1
        if own and str(Path(own).parent) not in allowed:
            yield line, f'{room} must not include "{own}"'
        if not system or STANDARD.fullmatch(system):
            continue
        if room.startswith("core/"):
            yield line, f"core includes the standard library only, not <{system}>"
        elif room.startswith("formats") and path.suffix == ".h":
            yield line, f"<{system}> belongs in a .cc file: headers of formats are free of it"


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
    own = shelf_of(path)
    for header in re.findall(r'#include "([^"]+)"', (root / path).read_text(encoding="utf-8")):
        other = shelf_of(header)
        if other and other not in uses[own] and path not in CHOOSES:
            yield f'{path}: {own or "the splitter"} must not include "{header}" of {other}'


COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.S)
TYPE = re.compile(r"^(?:struct|class|enum class) ([A-Z]\w*)[^;{]*\{|^using ([A-Z]\w*) =", re.M)
FUNCTION = re.compile(r"^(?:inline |constexpr )*[A-Za-z_][\w:<>,*& ]*[ &*>]([a-z]\w*)\(", re.M)
CALL = re.compile(r"(?<![\w.>:&*~])(?<!\w )([a-z]\w*)\(")


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
    faults = list(faults_of_table())
    lines = Counter()
    table = shelves(root)
    if len(table) < 5:
        faults.append("scripts/build/shelves.cmake: a shelf was not read")
    for top in ("core", "formats", "cli"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            room = str(path.parent.relative_to(root))
            faults += faults_of_shelves(root, str(path.relative_to(root)), table)
            lines[room] += path.read_text(encoding="utf-8").count("\n")
            if room not in MAY_INCLUDE:
                faults.append(f"{path.relative_to(root)}: {room} is no room of the table")
                continue
            faults += [f"{path.relative_to(root)}:{line}: {what}"
                       for line, what in faults_of(path, room)]
    faults += [f"{room} holds {count} lines, more than {MOST_LINES}" for room, count in lines.items() if count > MOST_LINES]
    faults += Declarations(root).faults()
    print("\n".join(faults + [f"{lines.total()} lines, {len(faults)} faults"]))
    sys.exit(1 if faults or not lines else 0)


if __name__ == "__main__":
    main()
