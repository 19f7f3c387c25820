#!/usr/bin/env python3
"""Figures of `cleave lower` against fakes, in small numbers or, by options, in large ones.

usage: figures_test.py CLEAVE [--graphs N] [--kills N] [--bad N [--first N]] [--only WORD]...

    --graphs N    random models in which every planted culprit must be learned, and nothing else (25)
    --kills N     random moments at which a run is killed and started again (5)
    --bad N       runs with compilers that crash by chance, need the device for themselves, flood, hang, lie, write
                  half outputs or fail at first: no false rule, no process, no folder may be left (16)
    --first N     the first of these runs, to go on where an earlier run of this test ended (0)

Exit status 1 when a figure is missed, 77 when the Python modules are not there.
"""
import argparse
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from place import chain, equal, is_of, run_tests, tests_in, without_times

GOOD = ["Relu", "Neg", "Abs", "Exp", "Add", "Mul", "Max"]
BAD = ["Sin", "Cos", "Tan", "Erf", "Ceil", "Sub", "Min"]
BINARY = {"Add", "Mul", "Max", "Sub", "Min"}
OPTIONS = argparse.Namespace()


def random_model(path, numbers, ops):
    """A model of these ops, each of which reads what is before it, mostly near by."""
    names, nodes = ["x"], []
    for i, op in enumerate(ops):
        back = 40 if numbers.random() < 0.2 else 4
        inputs = [names[max(0, len(names) - 1 - numbers.randrange(back))]
                  for _ in range(2 if op in BINARY else 1)]
        nodes.append(helper.make_node(op, inputs, [f"v{i}"], name=f"n{i}"))
        names.append(f"v{i}")
    read = {name for node in nodes for name in node.input}
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3])
               for name in names[1:] if name not in read]
    graph = helper.make_graph(
        nodes, "random", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def size_of(i, numbers):
    most = 10000 if i % 100 == 99 else 1000 if i % 10 == 9 else 100
    return numbers.randint(10, most)


def test_planted_culprits_are_learned(place):
    nodes = runs = 0
    for i in range(OPTIONS.graphs):
        numbers = random.Random(i)
        planted = numbers.sample(BAD, numbers.randint(1, 5))
        ops = numbers.choices(GOOD, k=size_of(i, numbers))
        for op in planted:
            for _ in range(numbers.randint(1, 3)):
                ops.insert(numbers.randrange(len(ops)), op)
        model = random_model(place.folder / "m.onnx", numbers, ops)
        rules = [numbers.choice(["op=", "mute="]) + op for op in planted]
        done, result = place.lower(model, place.backend(rules, serve=True), "--until-clean",
                                   "--search-runs", 200)
        equal((i, done.returncode), (i, 0))
        equal((i, sorted(rule["op"] for rule in result["learned"])), (i, sorted(planted)))
        equal((i, {finding["kind"] for finding in result["findings"]}), (i, {"culprit"}))
        nodes += len(ops)
        runs += result["compiler_runs"]
    return f"{OPTIONS.graphs} models, {nodes} nodes, {runs} compiler runs"


def test_a_run_that_is_killed_goes_on(place):
    kills = OPTIONS.kills
    ops = ["Relu", "Sin", "Neg", "Cos", "Abs", "Tan", "Exp", "Relu", "Erf"]
    model = chain(place.folder / "m.onnx", ops)
    backend = place.backend(["op=Sin", "mute=Cos", "op=Tan", "mute=Erf"])
    arguments = ["lower", model, "-s", "all.json", "--backend", backend, "--until-clean", "-q"]
    begin = time.time()
    whole = place.run(*arguments, "--no-cache", "-o", "whole")
    equal(whole.returncode, 0)
    took, calls = time.time() - begin, place.calls()
    wants = without_times(json.loads((place.folder / "whole" / "lowering.json").read_text()))
    random_numbers = random.Random(4)
    for i in range(kills):
        (place.folder / "log").unlink()
        out = f"out{i}"
        process = subprocess.Popen(
            place.command(*arguments, "--no-cache", "-o", out), cwd=place.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        time.sleep(random_numbers.random() * took)
        process.kill()
        process.wait()
        if not (place.folder / out).exists():
            equal(place.run(*arguments, "--no-cache", "-o", out).returncode, 0)
        has = without_times(json.loads((place.folder / out / "lowering.json").read_text()))
        equal(has, wants)
        assert place.calls() <= calls + 1, f"{place.calls()} calls, not {calls} or one more"
        same = (place.folder / "whole" / "learned.json").read_bytes()
        equal((place.folder / out / "learned.json").read_bytes(), same)
    return f"{kills} kills"


# What each compiler does, the ops that it truly refuses, fields of its file, and options of the run.
BAD_COMPILERS = [
    (["chance=5"], set(), {}, ["-j", 1]),
    (["chance=5", "mute=Sin"], {"Sin"}, {}, ["-j", 4]),
    (["alone={folder}/lock", "op=Sin"], {"Sin"}, {}, ["-j", 4]),
    (["flood=Sin"], {"Sin"}, {}, ["-j", 1]),
    (["hang=Sin"], {"Sin"}, {"timeout": "3s"}, ["-j", 2]),
    (["lie=Sin:Neg", "crash=Cos"], {"Sin", "Cos"}, {}, ["-j", 2]),
    (["half=Sin", "silent=Cos"], {"Sin", "Cos"}, {}, ["-j", 2]),
    (["stingy={folder}/seen"], set(), {}, ["-j", 1]),
]


def test_bad_compilers_make_no_false_rule_and_leave_nothing(place):
    learned = clean = 0
    for i in range(OPTIONS.first, OPTIONS.bad):
        numbers = random.Random(i)
        rules, refused, fields, more = BAD_COMPILERS[i % len(BAD_COMPILERS)]
        folder = place.folder / f"bad{i}"
        (folder / "seen").mkdir(parents=True)
        (folder / "tmp").mkdir()
        ops = numbers.choices(GOOD[:4], k=numbers.randint(6, 18))
        for op in ("Sin", "Cos", "Tan", "Tan"):
            ops.insert(numbers.randrange(len(ops)), op)
        model = chain(folder / "m.onnx", ops)
        backend = place.backend([rule.format(folder=folder) for rule in rules], **fields)
        done = place.run("lower", model, "-s", "all.json", "--backend", backend, "--deny", "Tan", "--until-clean",
                         "--no-cache", "--json", "-q", *more, env={"TMPDIR": str(folder / "tmp")})
        assert done.returncode in (0, 1), (i, done.returncode, done.stderr)
        result = json.loads(done.stdout)
        has = {rule["op"] for rule in result["learned"]}
        assert has <= refused and result["max_nodes"] is None, (i, rules, result["learned"], result["findings"])
        argv = json.loads(backend.read_text())["compile"]["argv"]
        left = [pid for pid in Path("/proc").iterdir() if pid.name.isdigit() and is_of(pid, argv[:6])]
        equal((i, left), (i, []))
        equal((i, list((folder / "tmp").iterdir())), (i, []))
        learned += has == refused
        clean += result["clean"]
    return f"{OPTIONS.bad - OPTIONS.first} runs, {clean} clean, {learned} that learned all that is refused"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cleave")
    parser.add_argument("--graphs", type=int, default=25)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--bad", type=int, default=16)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", action="append", default=[])
    parser.parse_args(namespace=OPTIONS)
    return run_tests(tests_in(globals()), OPTIONS.cleave, OPTIONS.only)


if __name__ == "__main__":
    sys.exit(main())
