#!/usr/bin/env python3
"""Checks the includes between folders ("rooms"): each includes only the rooms that the table allows.

The table lists the rooms so that a room may include itself and the rooms named next to it, all of which
are listed before it: so there is no cycle. Third-party headers appear in sources of formats and in cli,
but not in headers of formats, and not in core. No room has more than 40 sources.

usage: includes_test.py PROJECT_FOLDER      exit status 1 when an include breaks a rule
"""

import re
import sys
from collections import Counter
from pathlib import Path

CORE_LOW = "core/base core/graph"
CORE = CORE_LOW + " core/condition core/pattern core/support core/cost core/split core/measures"
FILES = "formats/text formats/io formats/json"
ONNX = "formats/onnx/index formats/onnx/infer formats/onnx/read"
LIBRARY = CORE + " core/lint core/balance core/stages core/study core/placement core/lowering"
READERS = (FILES + " formats/model formats/graph_json formats/settings formats/support "
           "formats/tables formats/costs "
           "formats/pt2 formats/pt2/write formats/backend formats/lowering formats/lists formats " + ONNX +
           " formats/onnx/write")
REPORTS = "formats/report/words formats/report/drawings formats/report/split " \
          "formats/report/check formats/report/stages formats/report/advice"

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
    "core/split": CORE_LOW + " core/support core/cost core/placement",
    "core/measures": CORE_LOW + " core/support core/cost core/split",
    "core/stages": CORE + " core/balance",
    "core/study": CORE + " core/placement",
    "core/lowering": CORE + " core/study",
    # Bytes to core types and back.
    "formats/text": "core/base",
    "formats/io": "core/base formats/text",
    "formats/json": "core/base formats/text formats/io",
    "formats/model": CORE_LOW + " " + FILES,
    "formats/onnx/index": CORE_LOW + " formats/model " + FILES,
    "formats/onnx/infer": CORE_LOW + " core/condition core/support formats/model formats/onnx/index " + FILES,
    "formats/onnx/infer/rules": CORE_LOW + " formats/onnx/index formats/onnx/infer formats/text",
    "formats/onnx/infer/values": CORE_LOW + " formats/onnx/index formats/onnx/infer formats/text",
    "formats/onnx/fold": CORE_LOW + " formats/model formats/onnx/index formats/onnx/infer " + FILES,
    "formats/onnx/read": CORE_LOW + " core/condition formats/model formats/onnx/index formats/onnx/infer "
                         "formats/onnx/fold " + FILES,
    "formats/onnx/write": CORE + " formats/model " + ONNX + " " + FILES,
    "formats/pt2": CORE + " formats/model " + FILES,
    # Native JSON can be made of other models: `convert`.
    "formats/graph_json": CORE + " core/stages formats/model formats/onnx/index formats/pt2 " + FILES,
    "formats/pt2/write": CORE + " formats/model formats/pt2 " + FILES,
    "formats/settings": CORE + " core/placement formats/text formats/json",
    "formats/support": CORE_LOW + " core/condition core/support core/cost " + FILES,
    "formats/lists": CORE_LOW + " core/condition core/support formats/support "
                     "formats/onnx/infer " + FILES,
    "formats/tables": CORE + " core/balance core/stages formats/model formats/support " + FILES,
    "formats/costs": CORE + " core/placement formats/model formats/tables " + FILES,
    "formats": CORE + " " + FILES + " formats/model formats/graph_json formats/pt2 " + ONNX,
    "formats/backend": CORE_LOW + " " + FILES + " formats/onnx/index formats/onnx/write",
    "formats/lowering": LIBRARY + " " + FILES + " formats/model formats/support formats "
                        "formats/onnx/write formats/backend " + ONNX,
    # What people and programs read.
    "formats/report/words": LIBRARY + " " + READERS,
    "formats/report/drawings": LIBRARY + " " + READERS + " formats/report/words",
    "formats/report/split": LIBRARY + " " + READERS + " formats/report/words",
    "formats/report/check": LIBRARY + " " + READERS + " formats/report/words",
    "formats/report/stages": LIBRARY + " " + READERS + " formats/report/words "
                             "formats/report/drawings",
    "formats/report/advice": LIBRARY + " " + READERS + " formats/report/words",
    "formats/report/lowering": LIBRARY + " " + READERS + " formats/report/words formats/report/check",
    # Whole jobs, from files to files, without a command line.
    "formats/jobs": LIBRARY + " " + READERS + " " + REPORTS,
    # What programs that use cleave as a library include.
    "formats/library": LIBRARY + " " + READERS + " " + REPORTS + " formats/jobs",
    # The command line.
    "cli/terminal": LIBRARY + " " + READERS + " " + REPORTS + " formats/jobs",
    "cli/options": LIBRARY + " " + READERS + " " + REPORTS + " formats/jobs cli/terminal",
    "cli/shell": "cli/options",
    "cli/jobs": LIBRARY + " " + READERS + " " + REPORTS + " formats/jobs cli/terminal cli/options",
    "cli/commands": LIBRARY + " " + READERS + " " + REPORTS + " formats/report/lowering "
                    "formats/jobs cli/terminal cli/options cli/jobs",
    "cli": "formats/io cli/commands cli/options cli/shell cli/terminal",
}
MOST_SOURCES = 40
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
    if room.startswith("formats/onnx/infer/"):  # its rules are declared in the room around it
        allowed.add("formats/onnx/infer")
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


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1])
    faults = list(faults_of_table())
    sources = Counter()
    for top in ("core", "formats", "cli"):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            room = str(path.parent.relative_to(root))
            sources[room] += 1
            if room not in MAY_INCLUDE:
                faults.append(f"{path.relative_to(root)}: {room} is no room of the table")
                continue
            faults += [f"{path.relative_to(root)}:{line}: {what}"
                       for line, what in faults_of(path, room)]
    faults += [f"{room} holds {count} sources, more than {MOST_SOURCES}"
               for room, count in sources.items() if count > MOST_SOURCES]
    print("\n".join(faults + [f"{sources.total()} files, {len(faults)} faults"]))
    sys.exit(1 if faults or not sources else 0)


if __name__ == "__main__":
    main()
