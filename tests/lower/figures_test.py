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

from limited_backend import size_of as size_of_piece
from limited_backend import with_weights
from place import HERE, chain, equal, is_of, run_tests, tests_in, without_times

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
                                   "--limit", "search-runs=200")
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
    whole = place.run(*arguments, "--cache", "off", "-o", "whole")
    equal(whole.returncode, 0)
    took, calls = time.time() - begin, place.calls()
    wants = without_times(json.loads((place.folder / "whole" / "lowering.json").read_text()))
    random_numbers = random.Random(4)
    for i in range(kills):
        (place.folder / "log").unlink()
        out = f"out{i}"
        process = subprocess.Popen(
            place.command(*arguments, "--cache", "off", "-o", out), cwd=place.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        time.sleep(random_numbers.random() * took)
        process.kill()
        process.wait()
        if not (place.folder / out).exists():
            equal(place.run(*arguments, "--cache", "off", "-o", out).returncode, 0)
        has = without_times(json.loads((place.folder / out / "lowering.json").read_text()))
        equal(has, wants)
        assert place.calls() <= calls + 1, f"{place.calls()} calls, not {calls} or one more"
        same = (place.folder / "whole" / "learned.json").read_bytes()
        equal((place.folder / out / "learned.json").read_bytes(), same)
    return f"{kills} kills"


KINDS = {  # of limits, and their names in a list
    "nodes": "max_nodes", "weights": "max_parameter_bytes", "inputs": "max_inputs", "outputs": "max_outputs",
    "acts": "max_activation_bytes", "tensor": None, "axis": None,
}


def uneven_model(path, numbers, count):
    """Products with weights of many sizes, sums of two or with an input, and Relus, on rows of many lengths; one Sin."""
    nodes, weights, widths, inputs = [], [], {"x": 64}, ["x"]
    names = ["x"]
    for i in range(count):
        source, out = names[-1 - numbers.randrange(min(3, len(names)))], f"v{i}"
        same = [name for name in names[:-1] if widths[name] == widths[source]]
        if i == count // 2:
            nodes.append(helper.make_node("Sin", [source], [out], name=f"n{i}"))
            widths[out] = widths[source]
        elif i % 5 == 4:
            inputs.append(f"x{i}")
            nodes.append(helper.make_node("Add", [source, f"x{i}"], [out], name=f"n{i}"))
            widths[out] = widths[f"x{i}"] = widths[source]
        elif same and numbers.random() < 0.3:
            nodes.append(helper.make_node("Add", [source, numbers.choice(same)], [out], name=f"n{i}"))
            widths[out] = widths[source]
        elif numbers.random() < 0.3:
            nodes.append(helper.make_node("Relu", [source], [out], name=f"n{i}"))
            widths[out] = widths[source]
        else:
            widths[out] = 16 * numbers.randint(1, 12)
            weight = helper.make_tensor(f"w{i}", TensorProto.FLOAT, [widths[source], widths[out]],
                                        [0.5] * (widths[source] * widths[out]))
            weights.append(weight)
            nodes.append(helper.make_node("MatMul", [source, f"w{i}"], [out], name=f"n{i}"))
        names.append(out)
    read = {name for node in nodes for name in node.input}
    rows = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, width]) for name, width in widths.items()}
    outputs = [rows[name] for name in names[1:] if name not in read]
    graph = helper.make_graph(nodes, "uneven", [rows[name] for name in inputs], outputs, weights,
                              value_info=[rows[name] for name in names[1:] if name in read])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def node_sizes(path, kind):
    """The size of each node alone, by name, and that of the first third of the model."""
    model = with_weights(onnx.load(path))
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    values = {value.name: value for value in
              [*onnx.shape_inference.infer_shapes(model).graph.value_info, *model.graph.input, *model.graph.output]}

    def piece(nodes):
        made = {name for node in nodes for name in node.output}
        read = {name for node in nodes for name in node.input if name}
        later = {name for node in model.graph.node for name in node.input if node not in nodes}
        later |= {value.name for value in model.graph.output}
        graph = helper.make_graph(
            nodes, "piece", [values[name] for name in read if name not in made and name not in weights],
            [values[name] for name in made if name in later], [weights[name] for name in read if name in weights])
        return size_of_piece(kind, helper.make_model(graph, opset_imports=model.opset_import))

    nodes = list(model.graph.node)
    return {node.name: piece([node]) for node in nodes}, piece(nodes[:max(4, len(nodes) // 3)])


def test_limits_are_learned_as_limits(place):
    """With numbers in the message and without, alone and beside an operator that is refused truly."""
    numbers = random.Random(7)
    runs = near = limits = 0
    for kind, name in KINDS.items():
        model = uneven_model(place.folder / f"{kind}.onnx", numbers, 50)
        alone, third = node_sizes(model, kind)
        largest = max(alone.values())
        limit = sorted(alone.values())[-6] if name is None else max(third, largest + 1)
        for more in ([], ["op=Sin"], ["mute"], ["mute", "op=Sin"]):
            words = [sys.executable, str(HERE / "limited_backend.py"), kind, str(limit), *more]
            backend = place.folder / "limited.json"
            backend.write_text(json.dumps({"format": "cleave.backend", "version": 1, "name": "limited",
                                           "serve": {"argv": words, "ops": ["compile"]}}))
            done, result = place.lower(model, backend, "--until-clean", "--reference", "none", "--cache", "off",
                                       "--deny-out", "learned.json", "--force", "--limit", "search-runs=100")
            case = (kind, limit, more, result["learned"], result["limits"])
            refused = {key for key, size in alone.items() if name is None and size > limit}
            refused |= {node.name for node in onnx.load(model).graph.node if f"op={node.op_type}" in more}
            equal((case, done.returncode), (case, 0))
            equal((case, [rule["name"] for rule in result["learned"] if rule["name"]]), (case, []))
            equal((case, result["nodes_lowered"]), (case, result["nodes"] - len(refused)))
            runs += result["compiler_runs"]
            if name is not None:
                limits += 1
                assert list(result["limits"]) == [name] and result["limits"][name] <= limit, case
                near += result["limits"][name] >= 0.95 * limit
                if "mute" not in more:
                    equal((case, result["limits"][name]), (case, limit))
    assert near >= 0.8 * limits, (near, limits)  # the others have no piece within 5%, and say so
    return f"{4 * len(KINDS)} compilers, {runs} runs; {near} of {limits} limits within 5%"


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
                         "--cache", "off", "--json", "-q", *more, env={"TMPDIR": str(folder / "tmp")})
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
