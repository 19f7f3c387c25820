#!/usr/bin/env python3
"""`cleave lower` and `cleave backend` against fake backends, and against tract where it is installed.

usage: lower_test.py CLEAVE [NAME...]      runs the tests, or those whose names hold one of the words

Exit status 1 when one fails, 77 when the Python modules are not there. Each skip is named.
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

try:
    import onnx
    from onnx import TensorProto, helper
except ImportError as error:
    print(f"lower_test.py: skipped: needs the Python module {error.name}")
    sys.exit(77)

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
FAKE = HERE / "fake_backend.py"
PYTHON = [sys.executable, "-S", "-E"]  # the fake needs no packages
ALL = {"format": "cleave.support", "version": 1, "name": "all", "allow": ["*"]}


class Skip(Exception):
    pass


def chain(path, ops, shape=(2, 3)):
    """A model of one-input ops, one after the other; nodes are n0, n1, ..."""
    nodes = [
        helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], name=f"n{i}") for i, op in enumerate(ops)
    ]
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("v0", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info(f"v{len(ops)}", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


class Place:
    """A folder with a support list, and runs of cleave in it."""

    def __init__(self, cleave, folder):
        self.cleave, self.folder = cleave, Path(folder)
        (self.folder / "all.json").write_text(json.dumps(ALL))

    def command(self, *arguments):
        return [self.cleave, *[str(one) for one in arguments]]

    def run(self, *arguments, **options):
        env = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"), NO_COLOR="1")
        return subprocess.run(
            self.command(*arguments), cwd=self.folder, env=env, capture_output=True, text=True,
            errors="replace", timeout=300, check=False, **options,
        )

    def backend(self, rules=(), serve=False, **fields):
        """Writes a backend file of the fake."""
        words = [*PYTHON, str(FAKE)]
        if serve:
            body = {"serve": {"argv": [*words, "--serve", *rules], "ops": ["compile"]}}
        else:
            argv = [*words, "--log", str(self.folder / "log"), *rules, "{model}", "{out}"]
            body = {"compile": {"argv": argv, "produces": ["{out}"], "timeout": "60s"}}
        for key, value in fields.items():
            if key in ("timeout", "memory"):
                body["compile"][key] = value
            else:
                body[key] = value
        content = {"format": "cleave.backend", "version": 1, "name": "fake", **body}
        path = self.folder / "fake.json"
        path.write_text(json.dumps(content))
        return path

    def lower(self, model, backend, *more):
        done = self.run("lower", model, "-s", "all.json", "--backend", backend, "--json", "-q", *more)
        try:
            return done, json.loads(done.stdout)
        except ValueError:
            raise AssertionError(f"exit {done.returncode}: {done.stderr}") from None

    def calls(self):
        log = self.folder / "log"
        return len(log.read_text().splitlines()) if log.exists() else 0


def equal(has, wants):
    assert has == wants, f"{has!r}, not {wants!r}"


def running(words):
    """Processes whose command line is these words."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().split(b"\0")[:-1]
        except OSError:
            continue
        if line == [word.encode() for word in words]:
            found.append(int(entry.name))
    return found


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


def test_planted_culprits_are_learned(place):
    random_numbers = random.Random(13)
    good, bad = ["Relu", "Neg", "Abs", "Exp"], ["Sin", "Cos", "Tan", "Erf", "Ceil"]
    for i in range(12):
        planted = random_numbers.sample(bad, random_numbers.randint(1, 5))
        ops = random_numbers.choices(good, k=random_numbers.randint(5, 60))
        for op in planted:
            ops.insert(random_numbers.randrange(len(ops)), op)
        model = chain(place.folder / f"m{i}.onnx", ops)
        rules = [random_numbers.choice(["op=", "mute="]) + op for op in planted]
        done, result = place.lower(model, place.backend(rules, serve=True), "--until-clean")
        equal(done.returncode, 0)
        equal(sorted(rule["op"] for rule in result["learned"]), sorted(planted))


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
    left = [pid for pid in Path("/proc").iterdir() if pid.name.isdigit() and is_of(pid, argv[:4])]
    equal(left, [])


def is_of(entry, words):
    try:
        line = (entry / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return line[: len(words)] == [word.encode() for word in words]


def without_times(result):
    if isinstance(result, dict):
        return {key: without_times(value) for key, value in result.items() if key != "seconds"}
    if isinstance(result, list):
        return [without_times(one) for one in result]
    return result


def test_a_run_that_is_killed_goes_on(place):
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
    kills = int(os.environ.get("CLEAVE_KILLS", "5"))
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


# ---- real compilers, in $CLEAVE_COMPILERS or this Python ----


def environment_with(module):
    """The environment in which `python3` has the module."""
    folder = os.environ.get("CLEAVE_COMPILERS")
    python = Path(folder) / "bin" / "python3" if folder else Path(sys.executable)
    done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
    if done.returncode != 0:
        raise Skip(f"{python} has no {module}")
    return dict(os.environ, PATH=f"{python.parent}{os.pathsep}{os.environ['PATH']}")


def works(place, name, module):
    env = environment_with(module)
    path = PROJECT / "samples" / "backends" / f"{name}.json"
    done = subprocess.run(
        place.command("backend", "check", path), env=env, capture_output=True, text=True,
        timeout=600, check=False,
    )
    equal((done.returncode, done.stderr), (0, ""))


def test_onnxruntime_works(place):
    works(place, "onnxruntime", "onnxruntime")


def test_tract_works(place):
    works(place, "tract", "tract")


def test_openvino_works(place):
    works(place, "openvino", "openvino")
    works(place, "openvino_f32", "openvino")


def test_iree_works(place):
    works(place, "iree", "iree.compiler")


def test_tvm_works(place):
    works(place, "tvm", "tvm")


def test_tract_refuses_a_loop_and_names_it(place):
    env = environment_with("tract")
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Abs", ["s"], ["s2"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s", TensorProto.FLOAT, [2]),
        ],
        [
            helper.make_tensor_value_info("c2", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s2", TensorProto.FLOAT, [2]),
            helper.make_tensor_value_info("s2", TensorProto.FLOAT, [2]),
        ],
    )
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="relu"),
        helper.make_node("Loop", ["n", "", "r"], ["last", "all"], name="the_loop", body=body),
        helper.make_node("Neg", ["all"], ["y"], name="neg"),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        helper.make_tensor_value_info("n", TensorProto.INT64, []),
    ]
    graph = helper.make_graph(
        nodes, "loop", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, place.folder / "loop.onnx")
    tract = PROJECT / "samples" / "backends" / "tract.json"
    command = place.command("lower", "loop.onnx", "-s", "all.json", "--backend", tract, "--json", "-q")
    done = subprocess.run(
        [*command, "--no-cache"], cwd=place.folder, env=env, capture_output=True, text=True, check=False
    )
    equal(done.returncode, 1)
    finding = json.loads(done.stdout)["findings"][0]
    equal((finding["kind"], finding["nodes"]), ("culprit", ["the_loop"]))
    assert finding["runs"] <= 2, finding


def main():
    cleave, *words = sys.argv[1:]
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    failed = 0
    for name, test in tests:
        if words and not any(word in name for word in words):
            continue
        with tempfile.TemporaryDirectory(prefix="lower") as folder:
            try:
                test(Place(os.path.abspath(cleave), folder))
                print(f"passed   {name[5:].replace('_', ' ')}")
            except Skip as skip:
                print(f"skipped  {name[5:].replace('_', ' ')}: {skip}")
            except Exception:
                failed += 1
                print(f"FAILED   {name[5:].replace('_', ' ')}\n{traceback.format_exc()}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
