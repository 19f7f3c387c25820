#!/usr/bin/env python3
"""Rules about memory on torch.export archives: constants that the model writes, layouts, strides; and buffers that
are not in a state_dict.

usage: rules_test.py CLEAVE FOLDER
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

cleave, folder = sys.argv[1], Path(sys.argv[2])
scratch = tempfile.TemporaryDirectory()


def run(*words):
    done = subprocess.run([cleave, "-q", *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def outcome(model, rule):
    """Names of the nodes that the rule takes, and what fails on the others of its op."""
    path = Path(scratch.name) / "rule.json"
    path.write_text(json.dumps({"format": "cleave.support", "version": 1, "allow": [rule]}), encoding="utf-8")
    report = json.loads(run("preview", folder / model, "-s", path, "--json"))
    taken, failed = set(), {}
    for part in report["partitions"]:
        if part["is_acc"]:
            taken.update(part["nodes"])
    for cause in report["cpu_reasons"]:
        for part in cause.get("failed") or []:
            failed.setdefault(part["condition"], set()).add(part["actual"])
    return taken, failed


def a_written_buffer_is_no_constant():
    for model in ("bn_train.train.t215.pt2", "bn_train.train.t26.pt2"):
        weight = {"op": "aten.batch_norm", "constant": {"1": True}}
        mean = {"op": "aten.batch_norm", "constant": {"3": True}}
        taken, _ = outcome(model, weight)
        assert taken, model
        taken, failed = outcome(model, mean)
        assert not taken and failed == {"constant": {"written by the model"}}, (model, taken, failed)
        variable = {"op": "aten.batch_norm", "constant": {"3": False}}
        assert outcome(model, variable)[0], model


def layouts_are_those_of_the_file():
    model = "dyn_batch.train.t215.pt2"  # its batch is symbolic
    taken, failed = outcome(model, {"op": "torch.ops.aten.*", "layout": {"0?": "contiguous"}})
    assert len(taken) > 10 and failed == {"layout": {"a scalar"}}, (taken, failed)
    taken, failed = outcome(model, {"op": "aten.linear", "layout": {"0": "sparse"}})
    assert not taken and failed == {"layout": {"contiguous"}}, (taken, failed)


def every_spelling_of_an_operator_is_known():
    model = "bn_train.train.t215.pt2"
    all_of_it = outcome(model, {"op": "torch.ops.aten.batch_norm.default"})[0]
    assert all_of_it
    for op in ("aten.batch_norm", "aten::batch_norm", "aten::batch_norm.default", "aten.batch*", "torch.ops.aten.batch*"):
        taken, _ = outcome(model, {"op": op})
        assert taken == all_of_it, (op, taken)
    everything = Path(scratch.name) / "all.txt"
    everything.write_text("*\n", encoding="utf-8")
    gate = ("check", folder / model, "-s", everything, "--require")
    for op in ("aten.batch_norm", "aten::batch_norm", "torch.ops.aten.batch_norm", "aten.batch*"):
        run(*gate, op)


def arguments_that_are_left_out_have_torchs_defaults():
    model = "bn_train.train.t215.pt2"
    taken, failed = outcome(model, {"op": "aten.conv2d", "attributes": {"groups": 1, "dilation": [[1, 1]]}})
    assert taken and not failed, (taken, failed)
    taken, failed = outcome(model, {"op": "aten.conv2d", "where": "attr.groups == 2"})
    assert not taken and failed == {"where": {"1 == 2"}}, failed


def strides_can_be_asked_for():
    model = "mlp_shared.train.t215.pt2"
    taken, _ = outcome(model, {"op": "aten.linear", "where": "in[1].stride[1] == 1"})
    assert taken
    taken, failed = outcome(model, {"op": "aten.linear", "where": "in[1].stride[1] == 2"})
    assert not taken and failed == {"where": {"1 == 2"}}, failed


def buffers_are_told_apart():
    seen = set()
    for model in sorted(folder.glob("*.pt2")):
        out = Path(scratch.name) / "graph.json"
        run("convert", model, "-o", out, "--force")
        for entry in json.loads(out.read_text(encoding="utf-8"))["parameters"]:
            assert entry.get("persistent", True) or entry["buffer"], entry
            seen.add((entry.get("buffer", False), entry.get("persistent", True)))
        run("convert", out, "-o", Path(scratch.name) / "again.json", "--force")  # it reads what it writes
    assert (False, True) in seen and (True, True) in seen, seen


def check(case):
    case()
    print(f"ok  {case.__name__}")


for each in (a_written_buffer_is_no_constant, every_spelling_of_an_operator_is_known,
             arguments_that_are_left_out_have_torchs_defaults, layouts_are_those_of_the_file, strides_can_be_asked_for,
             buffers_are_told_apart):
    check(each)
