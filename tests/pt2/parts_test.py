#!/usr/bin/env python3
"""Splits torch.export archives and checks the files without torch: each archive is complete, its weights
are the original's bytes at multiples of 64, each partition's program reads only its inputs and its own
values, and the chain of partitions makes all the promised results.

usage: parts_test.py CLEAVE FOLDER      exit status 1 when something is wrong, 77 when the folder is
not there
"""
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

KINDS = {"as_tensor": "name", "as_sym_int": "as_name", "as_sym_bool": "as_name",
         "as_sym_float": "as_name"}


class Check:
    def __init__(self):
        self.done, self.wrong = 0, 0

    def expect(self, holds, what):
        self.done += 1
        if not holds:
            self.wrong += 1
            print(f"wrong: {what}")


def names_in(argument):
    """Names of values that an argument refers to; bodies are scopes of their own."""
    [(kind, value)] = argument.items()
    if kind == "as_graph":
        return []
    found, todo = [], [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            if "as_graph" in item:
                continue
            todo.extend(v for k, v in item.items() if k not in ("name", "as_name", "class_fqn"))
            found.extend(v for k, v in item.items() if k in ("name", "as_name"))
        elif isinstance(item, list):
            todo.extend(item)
    return found if kind not in ("as_string", "as_device", "as_operator") else []


def storages(archive):
    """All weights of an archive of any torch, by their bytes."""
    found = set()
    for name in archive.namelist():
        data = archive.read(name)
        if name.endswith((".pt",)) and data[:2] == b"PK":
            inner = zipfile.ZipFile(io.BytesIO(data))
            found.update(inner.read(n) for n in inner.namelist() if "/data/" in n)
        elif "/weight_" in name or "/tensor_" in name:
            found.add(data)
    return found


def read_model(check, path, name="model"):
    archive = zipfile.ZipFile(path)
    check.expect(archive.testzip() is None, f"{path}: checksums")
    root = archive.namelist()[0].split("/")[0]
    for info in archive.infolist():
        check.expect(info.compress_type == 0, f"{path}: {info.filename} is stored")
        with open(path, "rb") as raw:
            raw.seek(info.header_offset + 26)
            sizes = raw.read(4)
            data = info.header_offset + 30 + int.from_bytes(sizes[:2], "little") + int.from_bytes(
                sizes[2:], "little")
        check.expect(data % 64 == 0, f"{path}: {info.filename} is at a multiple of 64")
    read = lambda record: json.loads(archive.read(f"{root}/{record}"))
    check.expect(archive.read(f"{root}/archive_format") == b"pt2", f"{path}: format")
    return archive, read(f"models/{name}.json"), {
        **read(f"data/weights/{name}_weights_config.json")["config"],
        **read(f"data/constants/{name}_constants_config.json")["config"]}


def check_program(check, where, program, entries):
    graph = program["graph_module"]["graph"]
    signature = program["graph_module"]["signature"]
    known = {n for a in graph["inputs"] for n in names_in(a)}
    for node in graph["nodes"]:
        for argument in node["inputs"]:
            missing = set(names_in(argument["arg"])) - known
            check.expect(not missing, f"{where}: {node['target']} reads {missing}")
        known.update(n for a in node["outputs"] for n in names_in(a))
    for output in graph["outputs"]:
        check.expect(set(names_in(output)) <= known, f"{where}: gives {output}")
    check.expect(len(graph["inputs"]) == len(signature["input_specs"]), f"{where}: inputs")
    check.expect(len(graph["outputs"]) == len(signature["output_specs"]), f"{where}: outputs")
    declared = set().union(*(graph[t] for t in ("tensor_values", "sym_int_values",
                                                "sym_bool_values")))
    check.expect(known - declared <= {"", None} | set(graph.get("sym_float_values", {})) |
                 set(graph.get("custom_obj_values", {})), f"{where}: values are declared")
    for spec in signature["input_specs"]:
        [(kind, value)] = spec.items()
        target = value.get("parameter_name") or value.get("buffer_name") or value.get(
            "tensor_constant_name")
        check.expect(target is None or target in entries, f"{where}: holds {target}")


def check_split(check, original, folder):
    chain = json.loads((folder / "manifest.json").read_text())["chain"]
    weights = storages(zipfile.ZipFile(original))
    known = {n for n in chain["inputs"] if n} | {s["name"] for s in chain["state"]}
    for part in chain["order"]:
        where = f"{folder.name}/{part['file']}"
        archive, program, entries = read_model(check, folder / part["file"])
        check_program(check, where, program, entries)
        check.expect(set(part["inputs"]) <= known, f"{where}: is given its inputs")
        known.update(part["outputs"])
        check.expect(storages(archive) <= weights, f"{where}: weights are the original's")
    for output in chain["outputs"]:
        check.expect(not isinstance(output, str) or output in known, f"{folder}: makes {output}")
    archive, program, entries = read_model(check, folder / "root.pt2")
    check_program(check, "root", program, entries)
    calls = [call["fqn"] for call in program["graph_module"]["module_call_graph"]]
    check.expect(len(calls) == len(chain["order"]) + 1, f"{folder}: a module for each part")
    check.expect(storages(archive) == weights, f"{folder}: the root has all weights")


def check_external(check, original, folder, plain):
    """The root leaves the weights of partitions to them, and is otherwise as it always is."""
    weights = storages(zipfile.ZipFile(original))
    parts = [zipfile.ZipFile(path) for path in folder.glob("*.pt2") if path.name != "root.pt2"]
    held = {name.partition("/")[2] for part in parts for name in part.namelist() if "/weight_" in name or "/tensor_" in name}
    root, program, entries = read_model(check, folder / "root.pt2")
    check.expect(not held & {name.partition("/")[2] for name in root.namelist()}, f"{folder}: the root has no weight again")
    check.expect(set().union(storages(root), *map(storages, parts)) == weights, f"{folder}: the files have all weights")
    _, whole, all_entries = read_model(check, plain / "root.pt2")
    check.expect((program, entries) == (whole, all_entries), f"{folder}: the root lists all weights")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    cleave, folder = sys.argv[1], Path(sys.argv[2])
    records = sorted(folder.glob("*.json"))
    if not records:
        print(f"skipped: there are no archives in {folder}")
        sys.exit(77)
    check = Check()
    with tempfile.TemporaryDirectory() as scratch:
        for record in records:
            model = record.with_suffix(".pt2")
            split = next(iter(json.loads(record.read_text())["splits"].values()))
            support = Path(scratch) / "list.txt"
            support.write_text("\n".join(split.get("supported", ["torch.ops.aten.mul.Tensor"])))
            out = Path(scratch) / record.stem
            done = subprocess.run([cleave, "-q", "split", model, "-s", support, "-o", out],
                                  capture_output=True, text=True)
            check.expect(done.returncode == 0, f"{model}: is split: {done.stderr}")
            if done.returncode == 0:
                check_split(check, model, out)
            external = Path(scratch) / (record.stem + "_external")
            done = subprocess.run([cleave, "-q", "split", model, "-s", support, "-o", external, "--weights", "external"],
                                  capture_output=True, text=True)  # fmt: skip
            check.expect(done.returncode == 0, f"{model}: leaves weights to partitions: {done.stderr}")
            if done.returncode == 0:
                check_external(check, model, external, out)
            bundle = Path(scratch) / (record.stem + "_bundle")
            subprocess.run([cleave, "-q", "split", model, "-s", support, "-o", bundle, "--bundle"],
                           capture_output=True, text=True)
            for part in json.loads((bundle / "manifest.json").read_text())["chain"]["order"]:
                _, program, entries = read_model(check, bundle / part["file"], part["model"])
                check_program(check, f"{bundle.name}/{part['model']}", program, entries)
                done = subprocess.run([cleave, "inspect", bundle / part["file"], "--signature", part["model"], "--json"],
                                      capture_output=True, text=True)  # fmt: skip
                nodes = json.loads(done.stdout)["nodes"] if done.returncode == 0 else done.stderr
                most = len(program["graph_module"]["graph"]["nodes"])  # checks and items of results are no nodes
                check.expect(isinstance(nodes, int) and 0 < nodes <= most,
                             f"{bundle.name}/{part['model']}: is read by its name: {nodes}")
    print(f"{check.done} checks of {len(records)} models, {check.wrong} wrong")
    sys.exit(1 if check.wrong else 0)


if __name__ == "__main__":
    main()
