#!/usr/bin/env python3
"""Tests the links of the documents: the file is in the project, and it has the heading of `#anchor`.

usage: links_test.py PROJECT_FOLDER     exit status 1 when a link leads nowhere
"""

import re
import sys
from pathlib import Path

LINK = re.compile(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ (.*)$", re.M)
FENCED = re.compile(r"^```.*?^```$", re.M | re.S)


def anchors(text):
    """As GitHub makes them: lower case, spaces become hyphens, other signs go."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(FENCED.sub("", text))}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    project = Path(sys.argv[1]).resolve()
    documents = [path for path in project.rglob("*.md") if "build" not in path.relative_to(project).parts]
    faults, links = [], 0
    for document in documents:
        for found in LINK.finditer(FENCED.sub("", document.read_text(encoding="utf-8"))):
            link = found[1] or found[2]
            if re.match(r"[a-z]+:", link):
                continue
            links += 1
            file, _, anchor = link.partition("#")
            target = document.parent / file if file else document
            where = f"{document.relative_to(project)}: {link}"
            if not target.exists():
                faults.append(f"{where}: there is no such file")
            elif anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
                faults.append(f"{where}: there is no such heading")
    print("\n".join(faults) or f"{links} links of {len(documents)} documents lead somewhere")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
