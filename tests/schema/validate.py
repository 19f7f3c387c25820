#!/usr/bin/env python3
"""Holds every JSON file that cleave reads or writes against its schema in formats/schema.

usage: validate.py PROJECT_FOLDER CLEAVE      exit status 1 when a document does not fit its schema
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema


def printed_by(cleave, *arguments):
    return subprocess.run([cleave, *arguments], check=True, capture_output=True).stdout


def documents(project, cleave, tmp):
    """(schema's name, what the document is, its text) of samples, and of what is made of them."""
    samples = project / "samples"
    models = {"resnet18.json": "npu.json", "dlrm.json": "npu.json",
              "transformer_encoder.json": "npu.json", "mobile_block.onnx": "tiny_npu.txt",
              "attention.onnx": "ort_ops.config"}
    yield "support", "npu.json", (samples / "npu.json").read_bytes()
    for model, support in models.items():
        path, rules = samples / model, samples / support
        yield "graph", f"convert {model}", printed_by(cleave, "convert", path)
        yield "report", f"preview {model}", printed_by(cleave, "preview", path, "-s", rules, "--json")
        yield ("support_report", f"support {model}",
               printed_by(cleave, "support", path, "-s", rules, "--json"))
        yield ("explain", f"explain {model}",
               printed_by(cleave, "explain", path, "-s", rules, "--json"))
        folder = tmp / path.stem
        printed_by(cleave, "split", path, "-s", rules, "-o", folder, "-q")
        for file in sorted(folder.glob("*.json")):
            kind = "report" if file.name == "manifest.json" else "graph"
            yield kind, f"{path.stem}/{file.name}", file.read_bytes()


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    project, cleave = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    schemas = {path.name.split(".")[0]: json.loads(path.read_text())
               for path in (project / "formats" / "schema").glob("*.schema.json")}
    passed = failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        for kind, what, text in documents(project, cleave, Path(tmp)):
            validator = jsonschema.Draft202012Validator(schemas[kind])
            faults = list(validator.iter_errors(json.loads(text)))
            passed += not faults
            failed += bool(faults)
            for fault in faults[:3]:
                print(f"{what}: at {fault.json_path}: {fault.message[:200]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
