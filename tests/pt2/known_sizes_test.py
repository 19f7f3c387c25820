#!/usr/bin/env python3
"""Binds the sizes of torch.export archives, and checks without torch that nodes which compute them are gone, with their numbers
in what is written; that --fold off keeps every node; and that the next value of a buffer is called so.

usage: known_sizes_test.py CLEAVE FOLDER      exit status 1 when something is wrong
"""
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def program_of(path):
    """The JSON of an archive's program."""
    with zipfile.ZipFile(path) as archive:
        wanted = ("models/model.json", "serialized_exported_program.json")
        [name] = [name for name in archive.namelist() if name.endswith(wanted)]
        return json.loads(archive.read(name))["graph_module"]["graph"]


def run(cleave, *arguments):
    return subprocess.run([cleave, "-q", *arguments], capture_output=True, text=True, check=True).stdout


def nodes_of(cleave, model, *options):
    with tempfile.TemporaryDirectory() as scratch:
        run(cleave, "convert", model, *options, "-o", Path(scratch) / "graph.json")
        return json.loads((Path(scratch) / "graph.json").read_text(encoding="utf-8"))["nodes"]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    cleave, folder = Path(sys.argv[1]), Path(sys.argv[2])
    wrong = []

    def expect(holds, what):
        if not holds:
            wrong.append(what)

    model = folder / "dyn_batch.train.t215.pt2"
    sizes = ["--dim", "s77=3", "--dim", "s27=16"]
    computing = {"sym_size_int_2", "sym_size_int_3", "mul"}
    returned = {"mul"}  # by the program, which makes it of numbers then

    def kept(*options):
        return computing & {node["name"] for node in nodes_of(cleave, model, *options)}

    expect(kept() == computing, "open sizes are computed by nodes")
    expect(kept(*sizes) == returned, "known sizes are computed by no node")
    expect(kept(*sizes, "--fold", "off") == computing, "--fold off keeps the nodes")
    expect(kept(*sizes[:2]) == {"sym_size_int_3", "mul"}, f"what the other size decides stays: {kept(*sizes[:2])}")
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "list.txt").write_text("aten.linear\n", encoding="utf-8")
        out = Path(scratch) / "out"
        run(cleave, "split", model, "-s", Path(scratch) / "list.txt", *sizes, "--drawings", "none", "-o", out)
        files = sorted(out.glob("*.pt2"))
        expect(len(files) > 2, "there are parts")
        for file in files:
            graph = program_of(file)
            text = json.dumps([graph["nodes"], graph["tensor_values"]])
            expect("Symbol(" not in text and "sym_size" not in text, f"{file.name} has open sizes")
            names = {node["name"] for node in graph["nodes"]}
            expect(not (computing - returned) & names, f"{file.name} computes known sizes")
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        passed = {name for part in manifest["chain"]["order"] for name in part["inputs"] + part["outputs"]}
        expect(not (computing - returned) & passed, "a known size crosses")

    for archive in sorted(folder.glob("*.pt2")):
        want = len(program_of(archive)["nodes"])
        got = len(nodes_of(cleave, archive, "--fold", "off"))
        expect(got == want, f"{archive.name}: --fold off has {got} nodes of {want}")

    shown = run(cleave, "inspect", folder / "counter_shared.decomp.t215.pt2")
    expect(", next value of buffer " in shown, f"the next value of a buffer is called so: {shown}")
    print("\n".join(wrong) or "all is as it should be")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
