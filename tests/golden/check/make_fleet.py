#!/usr/bin/env python3
"""Writes a folder of many small models, of which some fail a gate and some are broken, for golden tests.

usage: make_fleet.py FOLDER GOOD BAD BROKEN     how many models of each kind
"""
import json
import sys
from pathlib import Path


def model(name, ops):
    value = {"dtype": "float32", "shape": [4]}
    nodes = [{"name": f"n{i}", "op": op, "inputs": [f"n{i - 1}" if i else "x"], "outputs": [{"name": f"n{i}", **value}]}
             for i, op in enumerate(ops)]
    return {"format": "cleave.graph", "version": 1, "name": name, "inputs": [{"name": "x", **value}],
            "outputs": [f"n{len(ops) - 1}"], "nodes": nodes}


def main():
    folder, counts = Path(sys.argv[1]), [int(word) for word in sys.argv[2:]]
    folder.mkdir()
    for kind, count, ops in zip(("good", "bad"), counts, ("ffg", "gfgfg")):
        for i in range(count):
            (folder / f"{kind}{i:02}.json").write_text(json.dumps(model(f"{kind}{i:02}", ops)))
    for i in range(counts[2]):
        (folder / f"broken{i:02}.json").write_text("{")


if __name__ == "__main__":
    main()
