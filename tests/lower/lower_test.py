#!/usr/bin/env python3
"""Tests `cleave lower` and `cleave backend` with fake backends.

usage: lower_test.py CLEAVE [NAME...]      runs the tests, or those whose names hold one of the words

Exit status 1 if one fails, 77 if Python modules are missing. Each skip is named.
"""
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from place import ALL, FAKE, PROJECT, PYTHON, Skip, chain, equal, is_of, running, run_tests, tests_in


# ---- backend files ----


def test_check_passes_a_good_backend(place):
    done = place.run("backend", "check", place.backend())
    equal(done.returncode, 0)
    assert "fake: works" in done.stdout, done.stdout
    done = place.run("backend", "check", place.backend(serve=True))
    equal(done.returncode, 0)
    assert "answers 20 calls alike" in done.stdout, done.stdout


def test_check_fails_one_that_accepts_garbage(place):
    done = place.run("backend", "check", place.backend(["garbage"]))
    equal(done.returncode, 5)
    assert "it accepts that" in done.stdout, done.stdout


def test_check_fails_a_program_that_is_not_there(place):
    done = place.run("backend", "check", "x=no-such-program {model}")
    equal(done.returncode, 5)
    assert "No such file or directory" in done.stdout, done.stdout


def test_a_bad_backend_file_is_bad_input(place):
    (place.folder / "bad.json").write_text('{"format": "cleave.backend", "name": "n",\n "serve": 3}')
    done = place.run("backend", "check", "./bad.json")
    equal(done.returncode, 3)
    assert "bad.json:2:11" in done.stderr, done.stderr


def test_list_names_the_shipped_backends(place):
    env = dict(os.environ, CLEAVE_BACKENDS=str(PROJECT / "samples" / "backends"))
    done = subprocess.run(
        place.command("backend", "list"), env=env, capture_output=True, text=True, check=False
    )
    equal(done.returncode, 0)
    for name in ("onnxruntime", "tract", "openvino", "iree", "tvm"):
        assert f"\n{name} " in done.stdout, done.stdout


# ---- lower ----


def test_a_model_that_is_taken_is_lowered(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Abs"])
    done, result = place.lower(model, place.backend())
    equal(done.returncode, 0)
    top = {key: result[key] for key in ("clean", "nodes", "nodes_lowered", "rounds", "compiler_runs")}
    equal(top, {"clean": True, "nodes": 3, "nodes_lowered": 3, "rounds": 1, "compiler_runs": 1})
    equal(result["parts"][0]["verdict"], "lowered")


def test_a_verdict_is_known_the_second_time(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg"])
    place.lower(model, place.backend())
    _, result = place.lower(model, place.backend())
    equal((result["compiler_runs"], result["cache_hits"]), (0, 1))
    equal(place.calls(), 1)
    _, result = place.lower(model, place.backend(), "--no-cache")
    equal(result["compiler_runs"], 1)


def test_a_named_culprit_takes_two_runs_and_becomes_a_rule(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Sin", "Abs", "Exp"])
    done, result = place.lower(model, place.backend(["op=Sin"]))
    equal(done.returncode, 1)
    finding = result["findings"][0]
    equal((finding["kind"], finding["nodes"]), ("culprit", ["n2"]))
    assert finding["runs"] <= 2, finding
    learned = place.folder / "learned.json"
    done, result = place.lower(
        model, place.backend(["op=Sin"]), "--until-clean", "--deny-out", learned
    )
    equal(done.returncode, 0)
    equal((result["clean"], result["nodes_lowered"], result["rules"]), (True, 4, 1))
    rules = json.loads(learned.read_text())["deny"]
    equal([rule["op"] for rule in rules], ["Sin"])
    preview = place.run("preview", model, "-s", learned, "--json")
    parts = json.loads(preview.stdout)["partitions"]
    equal([part["nodes"] for part in parts if part["is_acc"]], [["n0", "n1"], ["n3", "n4"]])


def test_an_unnamed_culprit_takes_log_n_runs(place):
    ops = ["Relu"] * 40 + ["Sin"] + ["Neg"] * 23
    model = chain(place.folder / "m.onnx", ops)
    _, result = place.lower(model, place.backend(["mute=Sin"], serve=True))
    finding = result["findings"][0]
    equal((finding["kind"], finding["nodes"]), ("culprit", ["n40"]))
    assert finding["runs"] <= 6 + 2, finding


def test_a_lie_is_not_believed(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Sin", "Abs"])
    _, result = place.lower(model, place.backend(["lie=Sin:Neg"], serve=True))
    equal(result["findings"][0]["nodes"], ["n2"])


def test_nodes_that_fail_together_are_said_to(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Abs", "Cos", "Neg"])
    done, result = place.lower(model, place.backend(["pair=Sin+Cos"], serve=True), "--until-clean")
    equal(done.returncode, 0)
    equal((result["findings"][0]["kind"], result["clean"]), ("together", True))


def test_several_culprits_are_found(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Abs", "Cos", "Neg", "Tan", "Exp"])
    backend = place.backend(["op=Sin", "mute=Cos", "op=Tan"], serve=True)
    done, result = place.lower(model, backend, "--until-clean")
    equal(done.returncode, 0)
    equal(sorted(rule["op"] for rule in result["learned"]), ["Cos", "Sin", "Tan"])


def test_partitions_are_reported_in_order_whatever_the_jobs(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg", "Sin", "Abs", "Sin", "Exp"])
    (place.folder / "all.json").write_text(json.dumps({**ALL, "deny": [{"op": "Sin"}]}))
    backend = place.backend(["op=Neg"], serve=True)
    names = []
    for jobs in (1, 3):
        _, result = place.lower(model, backend, "-j", jobs, "--no-cache")
        names.append([(part["name"], part["verdict"]) for part in result["parts"]])
    equal(names[0], names[1])
    equal([verdict for _, verdict in names[0]], ["lowered", "refused", "lowered", "lowered"])


# ---- isolation ----


def verdict_of(place, backend, model=None):
    model = model or chain(place.folder / "m.onnx", ["Relu", "Sin"])
    done, result = place.lower(model, backend, "--culprit", "none")
    equal(done.returncode, 1)
    return result["parts"][0]["verdict"], result["parts"][0]["detail"]


def test_a_crash_is_a_verdict(place):
    equal(verdict_of(place, place.backend(["crash=Sin"])), ("crashed", "SIGSEGV"))
    equal(verdict_of(place, place.backend(["crash=Sin"], serve=True))[0], "crashed")


def test_a_hang_is_ended(place):
    verdict = verdict_of(place, place.backend(["hang=Sin"], timeout="2s"))
    equal(verdict[0], "timed out")
    words = [*PYTHON, str(FAKE)]
    assert not [pid for pid in running(words)], "a fake is left"


def test_what_a_backend_forks_is_ended(place):
    equal(verdict_of(place, place.backend(["fork=Sin"]))[0], "refused")
    equal(running(["sleep", "1000"]) + running(["sleep", "1001"]), [])


def test_a_flood_is_cut(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    done, result = place.lower(model, place.backend(["flood=Sin"]), "--culprit", "none")
    equal(done.returncode, 1)
    assert len(result["parts"][0]["message"]) < 2_000_000


def test_memory_is_limited(place):
    verdict = verdict_of(place, place.backend(["eat=Sin"], memory="1GiB"))
    equal(verdict[0], "out of memory")


def test_success_needs_output(place):
    equal(verdict_of(place, place.backend(["silent=Sin"]))[0], "no output")


def test_an_interrupt_ends_the_children(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    backend = place.backend(["hang=Sin"], timeout="100s")
    process = subprocess.Popen(
        place.command("lower", model, "-s", "all.json", "--backend", backend, "-q"),
        cwd=place.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    for _ in range(300):
        if place.calls():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    equal(process.wait(60), -signal.SIGINT)
    time.sleep(0.5)
    argv = json.loads(backend.read_text())["compile"]["argv"]
    left = [pid for pid in Path("/proc").iterdir() if pid.name.isdigit() and is_of(pid, argv[:6])]
    equal(left, [])


# ---- remedies, values, limits ----


def reference(place):
    """The environment in which ONNX Runtime is the reference, or a skip."""
    done = subprocess.run([sys.executable, "-c", "import onnxruntime, numpy"], capture_output=True, check=False)
    if done.returncode != 0:
        raise Skip("this Python has no onnxruntime")
    folder = place.folder / "bin"
    folder.mkdir(exist_ok=True)
    if not (folder / "python3").exists():
        (folder / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (folder / "python3").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "CLEAVE_BACKENDS": str(PROJECT / "samples" / "backends")}


def open_chain(path, ops):
    return chain(path, ops, shape=("n", 3))


def values_backend(place, *rules):
    content = {"format": "cleave.backend", "version": 1, "name": "fake",
               "serve": {"argv": [sys.executable, str(FAKE.parent / "fake_values.py"), *rules],
                         "ops": ["compile", "run"]}}
    path = place.folder / "values.json"
    path.write_text(json.dumps(content))
    return path


def test_open_shapes_are_pinned_before_a_node_is_blamed(place):
    env = reference(place)
    model = open_chain(place.folder / "m.onnx", ["Relu", "Neg", "Exp"])
    backend = place.backend(["open"], serve=True)
    done, result = place.lower(model, backend, "--reference", "onnxruntime", "--until-clean", env=env)
    equal((done.returncode, result["rules"], result["nodes_lowered"]), (0, 0, 3))
    equal(result["parts"][0]["remedies"]["pinned_inputs"], 1)
    done, result = place.lower(model, backend, "--reference", "onnxruntime", "--pin-shapes", "off", env=env)
    equal((done.returncode, result["clean"]), (1, False))


def test_a_later_opset_is_proposed_before_a_node_is_blamed(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Relu", "Neg", "Exp"], opset=13)
    backend = place.backend(["low=17"], serve=True, opset=[17, 21])
    done, result = place.lower(model, backend, "--reference", "onnxruntime", "--until-clean", env=env)
    equal((done.returncode, result["rules"]), (0, 0))
    equal(result["parts"][0]["remedies"]["opset"], 17)


def test_wrong_values_are_found_by_bisection(place):
    env = reference(place)
    ops = ["Relu"] * 12 + ["Tanh"] + ["Neg"] * 19
    model = chain(place.folder / "m.onnx", ops)
    done, result = place.lower(model, values_backend(place, "wrong=Tanh"), "--compare", env=env)
    equal(done.returncode, 1)
    finding = result["findings"][0]
    equal((finding["values"], finding["nodes"]), ("culprit", ["n12"]))
    assert finding["runs"] <= 2 * 5, finding
    done, result = place.lower(model, values_backend(place, "wrong=Tanh"), "--compare", "--until-clean", env=env)
    equal((done.returncode, [rule["op"] for rule in result["learned"]]), (0, ["Tanh"]))


def test_lower_precision_is_no_fault_of_a_node(place):
    env = reference(place)
    model = chain(place.folder / "m.onnx", ["Sigmoid", "Sqrt", "Exp"])
    done, result = place.lower(model, values_backend(place, "bf16"), "--compare", "--until-clean", env=env)
    equal((done.returncode, result["rules"]), (1, 0))
    equal(result["parts"][0]["verdict"], "lower precision")


def test_what_fails_now_and_then_becomes_no_rule(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin", "Neg"])
    backend = place.backend([f"flaky=Sin:{place.folder / 'count'}"], serve=True)
    done, result = place.lower(model, backend, "--until-clean", "--no-cache")
    equal((done.returncode, result["rules"]), (1, 0))
    equal({finding["kind"] for finding in result["findings"]}, {"flaky"})


def test_a_machine_that_goes_away_is_no_verdict(place):
    model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
    backend = place.backend([f"lost=Sin:{place.folder / 'count'}"])
    done, result = place.lower(model, backend, "--launcher", "env")
    equal((done.returncode, result["parts"][0]["verdict"]), (0, "lowered"))


def test_a_full_disk_ends_the_run_and_is_no_verdict(place):
    small = place.folder / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", small], capture_output=True, check=False)
    if mounted.returncode != 0:
        raise Skip("a small file system cannot be mounted here")
    try:
        model = chain(place.folder / "m.onnx", ["Relu", "Sin"])
        done = place.run("lower", model, "-s", "all.json", "--backend", place.backend(["fill=Sin"]), "-q",
                         env={"TMPDIR": str(small)})
        equal(done.returncode, 4)
        assert "no space left" in done.stderr, done.stderr
    finally:
        subprocess.run(["umount", small], check=False)


def test_a_search_ends_at_its_limits(place):
    model = chain(place.folder / "m.onnx", ["Relu"] * 200 + ["Sin"] + ["Neg"] * 200)
    backend = place.backend(["mute=Sin"], serve=True)
    _, result = place.lower(model, backend, "--search-runs", 3)
    assert result["compiler_runs"] <= 1 + 4, result["compiler_runs"]


if __name__ == "__main__":
    sys.exit(run_tests(tests_in(globals()), sys.argv[1], sys.argv[2:]))
