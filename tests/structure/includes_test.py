#!/usr/bin/env python3
"""Holds the direction of includes: cli -> formats -> core; nothing includes tests.

core includes the standard library and itself only. Third-party headers appear in sources of
formats, and in cli; never in a header of formats.

usage: includes_test.py PROJECT_FOLDER      exit status 1 when an include goes the wrong way
"""

import re
import sys
from pathlib import Path

MAY_INCLUDE = {
    "core": {"core"},
    "formats": {"core", "formats"},
    "cli": {"core", "formats", "cli"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.M)
STANDARD = re.compile(r"[a-z_0-9]+")  # <vector>, <cstdint>: no folder, no extension


def faults_of(path, folder):
    text = path.read_text(encoding="utf-8")
    for match in INCLUDE.finditer(text):
        own, system = match.groups()
        line = text.count("\n", 0, match.start(0)) + 1
        if own and own.split("/")[0] not in MAY_INCLUDE[folder]:
            yield line, f'{folder} must not include "{own}"'
        if not system or STANDARD.fullmatch(system):
            continue
        if folder == "core":
            yield line, f"core includes the standard library only, not <{system}>"
        elif folder == "formats" and path.suffix == ".h":
            yield line, f"<{system}> belongs in a .cc file: headers of formats are free of it"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1])
    read, faults = 0, 0
    for folder in MAY_INCLUDE:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".h", ".cc"):
                continue
            read += 1
            for line, what in faults_of(path, folder):
                faults += 1
                print(f"{path.relative_to(root)}:{line}: {what}")
    print(f"{read} files, {faults} faults")
    sys.exit(1 if faults or not read else 0)


if __name__ == "__main__":
    main()
