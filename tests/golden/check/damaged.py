#!/usr/bin/env python3
"""Writes damaged copies of a report, for damaged.golden: each has one value changed, or taken out where none is given.

usage: damaged.py REPORT FOLDER PLACE[=JSON]...     a place is the keys that lead to it: targets/0/name
"""
import json
import sys
from pathlib import Path

for number, change in enumerate(sys.argv[3:]):
    report = json.loads(Path(sys.argv[1]).read_text())
    place, equals, value = change.partition("=")
    *keys, last = [int(key) if key.isdigit() else key for key in place.split("/")]
    at = report
    for key in keys:
        at = at[key]
    if equals:
        at[last] = json.loads(value)
    else:
        del at[last]
    Path(sys.argv[2], f"{number:02}.json").write_text(json.dumps(report, indent=1))
