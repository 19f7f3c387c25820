#!/usr/bin/env python3
"""Validates the JSON that cleave reads and writes against the schemas in formats/report/schema.

Support lists and graphs among the samples, and cleave's output for them, must be valid; a report without
one of its required fields must not.

usage: check_schemas.py PROJECT_FOLDER CLEAVE      exit status 1 if a document is not valid
"""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema

# Not written for models that have none, so that their reports are what they were.
OPTIONAL = {"state"}


class Checker:
    def __init__(self, root, cleave):
        self.root, self.cleave, self.faults, self.checked = root, cleave, 0, 0
        self.validators = {}
        for path in sorted((root / "formats" / "report" / "schema").glob("*.schema.json")):
            schema = json.loads(path.read_text(encoding="utf-8"))
            jsonschema.Draft202012Validator.check_schema(schema)
            if "format" in schema.get("properties", {}):  # not in maps, nor in lines of evidence
                name = schema["properties"].get("format", {}).get("const")
                self.validators[name] = jsonschema.Draft202012Validator(schema)

    def check(self, what, document):
        self.checked += 1
        for error in self.validators[document["format"]].iter_errors(document):
            self.faults += 1
            place = "/".join(str(step) for step in error.absolute_path)
            print(f"{what}: {place}: {error.message[:300]}")

    def output(self, *arguments):
        command = [str(self.cleave), *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, timeout=120, check=True)
        document = json.loads(result.stdout)
        self.check(" ".join(map(str, arguments)), document)
        return document

    def check_required(self, document):
        """A report without one of its fields must not be valid."""
        validator = self.validators[document["format"]]
        for field in document:
            rest = {key: value for key, value in document.items() if key != field}
            if field not in OPTIONAL and validator.is_valid(rest):
                self.faults += 1
                print(f"{document['format']}: valid without {field}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    checker = Checker(Path(sys.argv[1]), Path(sys.argv[2]).resolve())
    samples = checker.root / "samples"
    for path in sorted(samples.glob("*.json")):
        checker.check(path.name, json.loads(path.read_text(encoding="utf-8")))
    models = [path for path in sorted(samples.iterdir()) if path.suffix in (".json", ".onnx")]
    for model in models:
        if model.name in ("npu.json", "gpu.json", "anything.json", "fused_npu.json"):
            continue
        for support in ("npu.json", "fused_npu.json", "tiny_npu.txt", "ort_ops.config"):
            report = checker.output("preview", model, "-s", samples / support, "--json")
            checker.output("preview", model, "-s", samples / support, "--json", "--show", "ops")
        checker.check_required(report)
        checker.check_required(checker.output("inspect", model, "--json"))
        checker.output("convert", model)
    print(f"{checker.checked} files, {checker.faults} faults")
    sys.exit(1 if checker.faults or not checker.checked else 0)


if __name__ == "__main__":
    main()
