#!/usr/bin/env python3
"""Validates every kind of JSON file that cleave reads or writes against its schema in formats/report/schema.

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
              "attention.onnx": "fused_npu.json"}
    for name in ("npu.json", "fused_npu.json"):
        yield "support", name, (samples / name).read_bytes()
    for path in sorted((samples / "backends").glob("*.json")):
        yield "backend", path.name, path.read_bytes()
    for model, support in models.items():
        path, rules = samples / model, samples / support
        yield "graph", f"convert {model}", printed_by(cleave, "convert", path)
        yield "report", f"preview {model}", printed_by(cleave, "preview", path, "-s", rules, "--json")
        yield ("support_report", f"preview --show ops {model}",
               printed_by(cleave, "preview", path, "-s", rules, "--show", "ops", "--json"))
        yield ("explain", f"explain {model}",
               printed_by(cleave, "explain", path, "-s", rules, "--json"))
        yield ("advice", f"advise {model}",
               printed_by(cleave, "advise", path, "-s", rules, "--json"))
        base = tmp / f"{path.stem}_base.json"
        printed_by(cleave, "check", path, "-s", rules, "-o", base, "-q")
        yield "baseline", f"baseline of {model}", base.read_bytes()
        yield ("check", f"check {model}",
               printed_by(cleave, "check", path, "-s", rules, "--baseline", base, "--max", "regression=0",
                          "--max", "new-cpu-nodes=3", "--min", "qps=1", "--max", "boundary-bytes=1", "--json",
                          "--max", "unknown-shapes=0", "--require=nonesuch", "--min", "coverage-flops=1",
                          "--min-acc-module-size=9", "--exit-zero"))
        yield ("diff", f"diff {model}",
               printed_by(cleave, "diff", path, "-s", rules, "--json", "to", "-s", samples / "npu.json",
                          "--min-acc-module-size=9"))
        yield ("lint", f"lists lint of {model}",
               printed_by(cleave, "lists", "lint", rules, path, "--json"))
        folder = tmp / path.stem
        printed_by(cleave, "split", path, "-s", rules, "-o", folder, "-q")
        for file in sorted(folder.glob("*.json")):
            kind = "report" if file.name == "manifest.json" else "graph"
            yield kind, f"{path.stem}/{file.name}", file.read_bytes()


def phases_documents(project, cleave, tmp):
    """A model that is split for two phases."""
    samples, folder = project / "samples", tmp / "phases"
    words = (samples / "decoder.onnx", "-s", samples / "tiny_npu.txt", "--dim", "B=1", "--phase=prompt:T=4,P=4,S=8",
             "--phase=token:T=1")
    texts = [printed_by(cleave, "preview", *words, "--json"), printed_by(cleave, "split", *words, "--json", "-o", folder, "-q"),
             (folder / "manifest.json").read_bytes()]
    yield "growth", "growth of decoder.onnx", printed_by(cleave, "preview", *words[:-2], "--dim", "T=1,P=0..9", "--json")
    for text in texts:
        yield "phases", "phases of decoder.onnx", text
        for phase in json.loads(text)["phases"]:
            yield "report", f"phase {phase['name']} of decoder.onnx", json.dumps(phase)


def halves(cleave, path, tmp):
    """A partition map of the model: its nodes up to the middle, and the others."""
    nodes = json.loads(printed_by(cleave, "convert", path))["nodes"]
    map_path = tmp / f"{path.stem}_map.json"
    map_path.write_text(json.dumps({node["name"]: i * 2 // len(nodes) for i, node in enumerate(nodes)}))
    return map_path


def pieces(cleave, folder, *command):
    """The report of a command that cuts a model, and what it writes."""
    what = " ".join(map(str, command))
    yield "stages", what, printed_by(cleave, *command, "--json", "-o", folder, "-q")
    for file in sorted(folder.glob("*.json")):
        kind = "stages" if file.name == "manifest.json" else "graph"
        yield kind, f"{folder.name}/{file.name}", file.read_bytes()


def stages_documents(project, cleave, tmp):
    """The same of partitions and stages."""
    for model in ("resnet18.json", "mobile_block.onnx"):
        path = project / "samples" / model
        map_path = halves(cleave, path, tmp)
        yield "partition_map", map_path.name, map_path.read_bytes()
        yield from pieces(cleave, tmp / f"{path.stem}_parts", "split", path, "--map", map_path)
    path = project / "samples" / "pipeline.json"
    yield from pieces(cleave, tmp / "stages", "stage", path)
    yield from pieces(cleave, tmp / "training", "stage", path, "--shared-params", "transmit",
                      "--relay", "--device-map", "1=cuda:1", "--loss-output")
    samples = project / "samples"
    yield from pieces(cleave, tmp / "balanced", "stage", samples / "resnet18.json",
                      "--devices", samples / "devices.csv", "--memory", "optimizer=2")
    yield from pieces(cleave, tmp / "counted", "stage", samples / "mobile_block.onnx",
                      "--stages", "3", "--balance", "params")
    yield from pieces(cleave, tmp / "workload", "stage",
                      samples / "workloads" / "residual_training.json")


def lowering_documents(project, cleave, tmp):
    """What is said of a fake compiler, which refuses Softmax."""
    fake = {"format": "cleave.backend", "version": 1, "name": "fake",
            "compile": {"argv": [sys.executable, str(project / "tests" / "lower" / "fake_backend.py"), "op=Softmax",
                                 "{model}", "{out}"]}}
    backend, probed = tmp / "fake.json", tmp / "probed.json"
    backend.write_text(json.dumps(fake))
    model, rules = project / "samples" / "recurrent.onnx", project / "samples" / "anything.json"
    done = subprocess.run([cleave, "lower", model, "-s", rules, "--backend", backend, "--cache", "off", "--json"],
                          check=False, capture_output=True)
    yield "lowering", "lower recurrent.onnx", done.stdout
    yield ("reduction", "reduce recurrent.onnx",
           printed_by(cleave, "reduce", model, "--backend", backend, "--cache", "off", "--json"))
    printed_by(cleave, "probe", model, "--backend", backend, "--cache", "off", "-o", probed, "-q")
    yield "support", "probed list", probed.read_bytes()
    for line in (tmp / "probed.json.evidence.jsonl").read_bytes().splitlines():
        yield "evidence", "evidence of a probe", line


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    project, cleave = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    schemas = {path.name.split(".")[0]: json.loads(path.read_text())
               for path in (project / "formats" / "report" / "schema").glob("*.schema.json")}
    passed = failed = 0
    with tempfile.TemporaryDirectory() as tmp:
        pairs = [*documents(project, cleave, Path(tmp)), *stages_documents(project, cleave, Path(tmp)),
                 *phases_documents(project, cleave, Path(tmp)),
                 *lowering_documents(project, cleave, Path(tmp))]
        for kind, what, text in pairs:
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
