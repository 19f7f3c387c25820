#!/usr/bin/env python3
"""Tests each row of the guide's table of limits, and the limits of work.

usage: limits_test.py CLEAVE GUIDE        exit status 1 if a row is wrong

For each row a model is made that is one beyond a small limit, in both formats; with `--limit NAME=N` it
must be refused with the error of the row, and read when the limit is one higher. A limit of work is one of the
commands whose help says so, and of no other.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import protobuf as pb

ROW = re.compile(r"^\| `([a-z-]+)` \| ([^|]+) \| ([0-9,]+)(?:; [^|]*)? \| `([^`]+)` \|$", re.M)


def json_model(nodes=2, attributes=1, dims=2, depth=5, name="n0", pad=0):
    """`depth`: of brackets, the deepest in an attribute."""
    nested = 1
    for _ in range(depth - 4):
        nested = [nested]
    made = [{"name": name if i == 0 else f"n{i}", "op": "f", "inputs": ["x"], "outputs": [{"name": f"v{i}"}]} for i in range(nodes)]
    made[0]["attributes"] = {"deep": nested, **{f"a{i}": i for i in range(1, attributes)}}
    text = json.dumps({"format": "cleave.graph", "version": 1, "inputs": [{"name": "x", "dtype": "float32", "shape": [1] * dims}],
                       "outputs": ["v0"], "nodes": made})
    return (text + " " * pad).encode()


def onnx_model(nodes=2, attributes=1, dims=2, depth=4, name="n0", pad=0):
    """`depth`: of messages: the model, the graph, a node, an attribute; its body counts three more."""
    made = [pb.node("Relu", ["x"], [f"v{i}"], name=name if i == 0 else f"n{i}",
                    attributes=b"".join(pb.int_attribute(f"a{j}", j) for j in range(attributes if i == 0 else 0)))
            for i in range(nodes)]
    if depth > 4:
        body = pb.graph([pb.node("Relu", ["x"], ["b"])], [], [pb.value("b")])
        made[0] = pb.node("If", ["x"], ["v0"], name=name, attributes=pb.graph_attribute("then_branch", body))
    graph = pb.graph(made, [pb.value("x", [1] * dims)], [pb.value("v0", [1] * dims)])
    return pb.model(graph) + (pb.field(6, " " * (pad - 2)) if pad else b"")


# limit -> format -> N, a model beyond it; the limit that reads it
CASES = {
    "nodes": {"json": (3, json_model(nodes=4), 4), "onnx": (3, onnx_model(nodes=4), 4)},
    "values": {"json": (7, json_model(nodes=4), 8), "onnx": (7, onnx_model(nodes=4), 8)},
    "attributes": {"json": (2, json_model(attributes=3), 3), "onnx": (2, onnx_model(attributes=3), 3)},
    "dims": {"json": (4, json_model(dims=5), 5), "onnx": (4, onnx_model(dims=5), 5)},
    "depth": {"json": (8, json_model(depth=9), 9), "onnx": (5, onnx_model(depth=7), 7)},
    "name-bytes": {"json": (30, json_model(name="n" * 31), 31), "onnx": (30, onnx_model(name="n" * 31), 31)},
    "file-bytes": {"json": (2000, json_model(pad=2000), 9999), "onnx": (2000, onnx_model(pad=2000), 9999)},
}


def check(cleave, folder, name, words, kind, limit, model, enough):
    path = folder / f"{name}.{kind}"
    path.write_bytes(model)
    faults = []
    for how, arguments, stdin in (("file", [path], None), ("standard input", ["-"], model)):
        for number, wanted in ((limit, 3), (enough, 0)):
            command = [cleave, "inspect", "--show", "nodes", *arguments, "--limit", f"{name}={number}"]
            run = subprocess.run(command, input=stdin, capture_output=True)
            errors = run.stderr.decode()
            if run.returncode != wanted:
                faults.append(f"{name}={number} of {kind} ({how}) exits {run.returncode}, not {wanted}: {errors}")
            elif wanted == 3 and words.replace("N", f"{number:,}", 1) not in errors:
                faults.append(f"{name}={number} of {kind} ({how}): {words!r} is not in {errors!r}")
            elif wanted == 3 and errors.count(": error: ") != 1:
                faults.append(f"{name}={number} of {kind} ({how}): not one error: {errors!r}")
    return faults


# limit of work -> what it must be
WORK = {"time": "a time above 0", "command-time": "a time above 0", "layout-time": "a time above 0",
        "rounds": "a whole number from 1 to 1000", "search-runs": "a whole number", "drawn-nodes": "a whole number",
        "steps": "a whole number"}


def limit_help(cleave, command):
    """What `cleave COMMAND --help` says of --limit; "" where it has none."""
    text = subprocess.run([cleave, command, "--help"], capture_output=True, text=True, check=True).stdout
    found = re.search(r"^ +--limit WHAT=N(.*?)(?=^ +-|\n\n)", text, re.M | re.S)
    return found[1] if found else ""


def check_work(cleave, guide):
    whole = subprocess.run([cleave, "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^  ([a-z]+) {2,}[a-z]", whole, re.M)
    faults = [f"the guide does not say {limit}=" for limit in WORK if f"`{limit}=" not in guide]
    having = dict.fromkeys(WORK, 0)
    for command in commands:
        says = limit_help(cleave, command)
        for limit, form in WORK.items():
            has = re.search(rf"\b(?<!-){limit}=", says) is not None
            having[limit] += has
            words = f'{limit}: "x" is not {form}' if has else f'"{limit}" is not a limit here: '
            run = subprocess.run([cleave, command, "--limit", f"{limit}=x"], capture_output=True, text=True)
            if says and (run.returncode != 2 or words not in run.stderr):
                faults.append(f"{command} --limit {limit}=x: exit {run.returncode}, {run.stderr!r} without {words!r}")
    return faults + [f"no command has the limit {limit}" for limit, count in having.items() if count == 0]


def check_usage(cleave):
    faults = []
    for text, words in (("node=3", "did you mean nodes?"), ("nodes", "is not of the form nodes=5000000"),
                        ("nodes=-1", "give a whole number"), ("nodes=1e3", "give a whole number"),
                        ("depth=1001", "above the most"), ("nodes=99999999999999999999", "give a whole number"),
                        ("zzz=1", "there are nodes, values")):
        run = subprocess.run([cleave, "inspect", "--show", "nodes", "none.json", "--limit", text], capture_output=True, text=True)
        if run.returncode != 2 or words not in run.stderr:
            faults.append(f"--limit {text}: exit {run.returncode}, {run.stderr!r} without {words!r}")
    return faults


# Many times one list: a command line that the system takes, and in a configuration file.
def check_lists(cleave, folder):
    faults = []
    (folder / "l").write_text("f\n")
    (folder / "m.json").write_bytes(json_model())
    most = 65_536
    config = folder / "many.toml"
    config.write_text("[preview]\nsupport = [" + ", ".join(['"l"'] * (most + 1)) + "]\n")
    preview = ["preview", "m.json"]
    for number, arguments in ((most, [*preview, *["-sl"] * most]), (most + 1, [*preview, *["-sl"] * (most + 1)]),
                              (most + 1, ["--config", "many.toml", *preview])):
        run = subprocess.run([cleave, *arguments], cwd=folder, capture_output=True, text=True)
        # A configuration file is an input; the command line is usage.
        refusal = 3 if "--config" in arguments else 2
        wanted = refusal if number > most else 0
        if run.returncode != wanted:
            faults.append(f"{number} support lists: exit {run.returncode}, not {wanted}: {run.stderr[:300]}")
        elif wanted == refusal and "more than 65,536 lists are too many" not in run.stderr:
            faults.append(f"{number} support lists: {run.stderr[:300]!r}")
    return faults


def main():
    cleave = Path(sys.argv[1]).resolve()
    guide = Path(sys.argv[2]).read_text(encoding="utf-8")
    rows = {name: words for name, _, _, words in ROW.findall(guide)}
    faults = [] if set(rows) == set(CASES) else [f"the table has {sorted(rows)}, the tests {sorted(CASES)}"]
    with tempfile.TemporaryDirectory() as folder:
        for name, words in rows.items():
            for kind, (limit, model, enough) in CASES.get(name, {}).items():
                faults += check(cleave, Path(folder), name, words, kind, limit, model, enough)
        faults += check_lists(cleave, Path(folder))
    faults += check_usage(cleave) + check_work(cleave, guide)
    print("\n".join(faults) or f"{len(rows)} limits of size and {len(WORK)} of work hold")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
