#!/usr/bin/env python3
"""Writes backend files of plain_values.py, for golden tests.

usage: plain_backend.py FOLDER [NAME: [FIELD=JSON...] [RULE...]]...     FOLDER/NAME.json; its worker compiles and runs,
                                                                         or does what ops=JSON says
"""
import json
import sys
from pathlib import Path

FIELDS = ("ops", "compare", "opset", "max_model", "message", "jobs", "takes", "memory", "env")
WORKER = Path(__file__).resolve().parent / "plain_values.py"


def content(name, words):
    fields = {key: json.loads(text) for key, _, text in (word.partition("=") for word in words) if key in FIELDS}
    rules = [word for word in words if word.partition("=")[0] not in FIELDS]
    serve = {"argv": ["python3", "-S", "-E", str(WORKER), *rules], "ops": fields.pop("ops", ["compile", "run"])}
    if "memory" in fields:
        serve["memory"] = fields.pop("memory")
    return {"format": "cleave.backend", "version": 1, "name": name, "serve": serve, **fields}


def main():
    folder, words = Path(sys.argv[1]), sys.argv[2:]
    begins = [i for i, word in enumerate(words) if word.endswith(":")] + [len(words)]
    for begin, end in zip(begins, begins[1:]):
        name = words[begin][:-1]
        (folder / f"{name}.json").write_text(json.dumps(content(name, words[begin + 1 : end])))


if __name__ == "__main__":
    main()
