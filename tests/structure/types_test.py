#!/usr/bin/env python3
"""Two headers may not define types of one name in one namespace: the program would have two classes
that the linker takes for one.

usage: types_test.py PROJECT_FOLDER      exit status 1 when two do
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
# At the start of a line: a type inside another one or in a function is indented.
TYPE = re.compile(r"^(?:struct|class|enum class) (\w+)(?!\w|::)[^;{]*\{|^using (\w+) =", re.M)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1])
    headers = defaultdict(set)
    files = sorted(path for room in ("core", "formats", "cli") for path in (root / room).rglob("*.h"))
    for path in files:
        text = path.read_text(encoding="utf-8")
        namespaces = NAMESPACE.findall(text)
        for name in map("".join, TYPE.findall(text)):
            headers[namespaces[-1] if namespaces else "", name].add(str(path.relative_to(root)))
    faults = 0
    for (namespace, name), where in headers.items():
        if len(where) > 1:
            print(f"{namespace}::{name} is defined in {' and in '.join(sorted(where))}")
            faults += 1
    print(f"{len(files) - faults} passed, {faults} failed")
    sys.exit(1 if faults or not files else 0)


if __name__ == "__main__":
    main()
