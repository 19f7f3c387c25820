#!/usr/bin/env python3
"""What the scripts do with manifests, folders and names that may come from anywhere: they open and write nothing outside of
the folder, remove nothing that they have not written, print no orders for terminals and CIs, and end with a status of theirs.

usage: scripts_test.py PROJECT CLEAVE onnx|torch [--manifests 20]

--manifests: how many mutated manifests each script gets.
"""

import argparse
import ast
import hashlib
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from unittest import mock

PROJECT, CLEAVE = (Path(argument).resolve() for argument in sys.argv[1:3])
SCRIPTS, SAMPLES = PROJECT / "scripts", PROJECT / "samples"
sys.path.insert(0, str(SCRIPTS))
import guard

SECONDS, MOST_KIB = 60, 4 << 20
STATUSES = (0, 1, 3, 4, 77)


def run(script, *arguments, **more):
    done = subprocess.run([sys.executable, SCRIPTS / script, *arguments], capture_output=True, text=True, errors="replace",
                          timeout=300, **more)  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def expect(got, status, words=""):
    assert got[0] == status and words in got[1] and "Traceback" not in got[1], (got, status, words)


def cleave(*arguments):
    subprocess.run([CLEAVE, "-q", *arguments], check=True, capture_output=True)


def split(folder, what):
    """The folder of the split of a sample."""
    out = folder / what
    if what == "torch":
        cleave("split", SAMPLES / "tiny_resnet.pt2", "-s", SAMPLES / "torch_npu.txt", "-o", out)
    elif what == "tflite":
        (folder / "list.txt").write_text("CONV_2D\nFULLY_CONNECTED\n")
        cleave("split", SAMPLES / "keyword.tflite", "-s", folder / "list.txt", "-o", out)
    elif what == "stages":
        cleave("stage", SAMPLES / "mobile_block.onnx", "--stages", "2", "--dim", "N=1", "-o", out)
    elif what == "targets":
        (folder / "npu.txt").write_text("Conv\nClip\n")
        (folder / "gpu.txt").write_text("Add\nMul\nGemm\n")
        cleave("split", SAMPLES / "mobile_block.onnx", "-s", f"npu={folder / 'npu.txt'}", "-s", f"gpu={folder / 'gpu.txt'}",
               "--dim", "N=1", "--link", "npu-gpu=shared", "--residency", "on", "-o", out)  # fmt: skip
    else:
        cleave("split", SAMPLES / "mobile_block.onnx", "-s", SAMPLES / "tiny_npu.txt", "--dim", "N=1", "-o", out)
    return out


def changed(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def content_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# ---- words ----


def test_names_give_no_orders(folder):
    cases = {
        "::error::x": "\\x3a:error::x", " \u00a0::set-env::x": " \u00a0\\x3a:set-env::x", "a ##[error]": "a ##\\x5berror]",
        "a\n::error::b": "a\\x0a::error::b", "\x1b[31mred": "\\x1b[31mred", "a\u202eb": "a\\xe2\\x80\\xaeb", "\x85": "\\xc2\\x85",
        "\u2028": "\\xe2\\x80\\xa8", "\ufeff::x": "\\xef\\xbb\\xbf::x", "\udc80": "\\xed\\xb2\\x80", "größe 大": "größe 大",
    }  # fmt: skip
    for name, wanted in cases.items():
        assert guard.shown(name) == wanted and guard.shown(wanted) == wanted, (name, guard.shown(name))


def test_one_module_prints_and_removes(folder):
    """All that the scripts print goes through guard.say(), and folders go through guard.new_folder()."""
    for path in sorted(SCRIPTS.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())) if path.name != "guard.py" else []:
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            if path.name == "export_fx.py" and called == "sys.stdout.write":
                continue  # the JSON that it makes
            ends_with_text = called == "sys.exit" and node.args and isinstance(node.args[0], (ast.JoinedStr, ast.Constant)) and (
                not isinstance(getattr(node.args[0], "value", None), int))
            is_ours = called not in ("print", "shutil.rmtree") and not called.endswith(("stdout.write", "stderr.write"))
            assert is_ours and not ends_with_text, f"{path.name}:{node.lineno}: {called}"


def test_equal_is_said_of_what_was_compared(folder):
    import onnx
    from onnx import TensorProto, helper

    random_name = "y\n::error::r\x1b[31m"

    def verdict(outputs):
        nodes = [helper.make_node("RandomNormalLike", ["x"], ["q"]), helper.make_node("Relu", ["x"], ["y"]),
                 helper.make_node("Add", ["y", "q"], [random_name])]  # fmt: skip
        values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("x", random_name, "y")}
        graph = helper.make_graph(nodes, "g", [values["x"]], [values[name] for name in outputs])
        opsets = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / "r.onnx")
        cleave("split", folder / "r.onnx", "-s", SAMPLES / "tiny_npu.txt", "-o", folder / "r", "--force")
        got = run("runner.py", "verify", folder / "r.onnx", folder / "r")
        expect(got, 0)
        assert "\x1b" not in got[1] and "\n::" not in got[1], got
        return got[1].splitlines()[0]

    said = verdict([random_name])
    assert said.startswith("not compared: 1 output of 1, random: ") and "equal" not in said, said
    said = verdict([random_name, "y"])
    assert said.startswith("not compared: 1 output of 2, random: ") and "; equal: 1 output, bit for bit" in said, said
    assert verdict(["y"]).startswith("equal: 1 output, bit for bit"), said


# ---- folders ----


def test_only_what_a_capture_wrote_is_replaced(folder):
    parts, zoo = split(folder, "onnx"), folder / "zoo"
    (zoo / "bert" / "ckpt").mkdir(parents=True)
    shutil.copy(SAMPLES / "attention.onnx", zoo / "bert" / "model.onnx")
    (zoo / "bert" / "ckpt" / "epoch90.pt").write_text("three weeks")
    before = content_of(zoo)
    expect(run("capture_inputs.py", parts, "-o", zoo, "--force"), 4, "captured.json")
    assert content_of(zoo) == before
    out = folder / "out"
    expect(run("capture_inputs.py", parts, "-o", out), 0)
    expect(run("capture_inputs.py", parts, "-o", out), 4, "is there already")
    expect(run("capture_inputs.py", parts, "-o", out, "--force"), 0)
    one = next(out.glob("*/model.onnx"))
    for change in (lambda: (out / "notes.txt").write_text("mine"), lambda: one.write_bytes(b"mine"),
                   lambda: (out / "link").symlink_to(zoo), lambda: (out / "empty").mkdir()):
        kept = folder / "kept"
        shutil.copytree(out, kept, symlinks=True)
        change()
        before = content_of(out)
        expect(run("capture_inputs.py", parts, "-o", out, "--force"), 4, "does not list")
        assert content_of(out) == before
        shutil.rmtree(out)
        kept.rename(out)
    before = content_of(out)
    given = next(out.glob("*_0")) / "test_data_set_0"
    expect(run("capture_inputs.py", parts, "-o", out, "--force", "--inputs", given), 4, "holds an input of this run")
    (folder / "inputs").mkdir()
    (folder / "inputs" / "input_0.pb").symlink_to(given / "input_0.pb")
    expect(run("capture_inputs.py", parts, "-o", out, "--force", "--inputs", folder / "inputs"), 4, "holds an input of this run")
    changed(parts / "manifest.json", lambda content: content["partitions"][0].update(inputs=5))
    expect(run("capture_inputs.py", parts, "-o", out, "--force"), 3, "partitions[0].inputs")
    assert content_of(out) == before
    (folder / "given").symlink_to(out)
    parts = split(folder, "targets")
    expect(run("capture_inputs.py", parts, "-o", folder / "given", "--force"), 4, "is no folder")
    expect(run("capture_inputs.py", parts, "-o", parts, "--force"), 4, "holds an input of this run")
    assert not [path.name for path in folder.glob(".*")], "a temporary folder is left"


def test_the_old_stays_until_the_new_is_there(folder):
    out = folder / "out"

    def write(text):
        with guard.new_folder(out, True, []) as made:
            (made / "part").mkdir()
            (made / "part" / "a.pb").write_text(text)
            if text == "stops":
                raise guard.CannotRun("x")

    write("first")
    for text, expected in (("stops", guard.CannotRun), ("fails", guard.NotWritten), ("unseen", guard.NotWritten)):
        rename, lstat = os.rename, os.lstat

        def failing(source, target, rename=rename):
            if Path(source).name == "new":
                raise OSError(28, "No space left on device")
            rename(source, target)

        def unseen(path, *, lstat=lstat, **more):
            if str(path) == str(out / "part" / "a.pb"):
                raise PermissionError(13, "Permission denied")
            return lstat(path, **more)

        patched = {"fails": ("os.rename", failing), "unseen": ("os.lstat", unseen)}.get(text, ("os.rename", rename))
        with mock.patch(*patched):
            try:
                write(text)
            except expected:
                pass
            else:
                raise AssertionError(f"{text}: nothing is raised")
        assert (out / "part" / "a.pb").read_text() == "first", text
        assert [path.name for path in folder.iterdir()] == ["out"], text
    write("second")
    assert (out / "part" / "a.pb").read_text() == "second"
    with guard.new_folder(out, True, []) as made:
        (made / "b.pb").write_text("third")
        (out / "mine").write_text("mine")  # of another, in the meantime
        try:
            guard.write_record(made)
            guard.swap(made, out, made.parent / "old", True)
        except guard.NotWritten:
            assert (out / "mine").read_text() == "mine"
        else:
            raise AssertionError("what another wrote is replaced")
        (out / "mine").unlink()


# ---- names of manifests ----


def test_names_stay_in_the_folder(folder):
    parts = split(folder, "onnx")
    (folder / "secret").write_text("x")
    (parts / "link.onnx").symlink_to(folder / "secret")
    (parts / "circle.onnx").symlink_to(parts / "circle.onnx")
    os.mkfifo(parts / "pipe.onnx")
    for name, words in (("../secret", "leads out of"), ("link.onnx", "leads out of"), (str(folder / "secret"), "leads out of"),
                        ("pipe.onnx", "no regular file"), (".", "no regular file"), ("", "leads out of"), ("a\0b", "leads out of"),
                        ("\ud800", "cannot be read"), ("none.onnx", "cannot be read"), ("circle.onnx", "cannot be read"),
                        ("x" * 5000, "cannot be read")):
        try:
            guard.inside(parts, name, "m.json: partitions[0].file")
        except guard.BadFile as error:
            assert words in str(error) and str(error).startswith("m.json: partitions[0].file: "), (name, error)
        else:
            raise AssertionError(f"{name!r} is taken")
    assert guard.inside(parts, "root.onnx", "") == parts / "root.onnx"
    changed(parts / "manifest.json", lambda content: content["partitions"][0].update(file="../secret"))
    for words in (["runner.py", "verify", SAMPLES / "mobile_block.onnx"], ["capture_inputs.py"], ["runner.py", "run"]):
        expect(run(*words, parts), 3, 'manifest.json: partitions[0].file: "../secret" leads out of')


def test_a_folder_of_lower_without_models_names_who_writes_them(folder):
    (folder / "lowering.json").write_text("{}")
    expect(run("runner.py", "verify", SAMPLES / "mobile_block.onnx", folder), 3, "for any other, cleave split MODEL -s LEARNED_LIST")


def test_weights_of_a_partition_stay_in_the_folder(folder):
    import onnx

    parts, name = split(folder, "onnx"), "_run_on_acc_0.onnx"
    model = onnx.load(parts / name, load_external_data=False)
    model.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL
    model.graph.initializer[0].external_data.add(key="location", value="../../escaped")
    sys.path.insert(0, str(SCRIPTS))
    import capture_inputs

    (parts / name).write_bytes(model.SerializeToString())
    (folder.parent / "escaped").write_text("x")
    (folder / "out").mkdir()
    try:
        capture_inputs.place_model(parts / name, folder / "out")
    except guard.BadFile as error:
        assert "leads out of" in str(error), error
    else:
        raise AssertionError("weights are copied from anywhere")
    finally:
        (folder.parent / "escaped").unlink()


def test_capture_of_torch_stays_in_its_folder(folder):
    parts = split(folder, "torch")
    out = folder / "out"
    expect(run("capture_torch.py", parts, "-o", out), 0)
    before = content_of(out)
    changed(parts / "manifest.json", lambda content: content["chain"]["order"][0].update(name="../../../escaped"))
    expect(run("capture_torch.py", parts, "-o", out, "--force"), 3, "manifest.json: chain.order[0].name")
    assert content_of(out) == before and not (folder.parent / "escaped").exists()
    shutil.rmtree(parts)
    zoo = folder / "zoo"
    (zoo / "gpt").mkdir(parents=True)
    (zoo / "gpt" / "model.pt2").write_text("mine")
    expect(run("capture_torch.py", split(folder, "torch"), "-o", zoo, "--force"), 4, "captured.json")
    assert (zoo / "gpt" / "model.pt2").read_text() == "mine"


def test_a_missing_package_is_named(folder):
    for module in ("onnx", "onnxruntime", "numpy", "torch", "openvino"):
        (folder / "modules" / module).mkdir(parents=True)
        (folder / "modules" / module / "__init__.py").write_text(f"raise ImportError(name={module!r})")
    parts = split(folder, "onnx")
    without = {"env": os.environ | {"PYTHONPATH": str(folder / "modules")}}
    for script in ("apply_fx.py", "capture_inputs.py", "capture_torch.py", "convert_opset.py", "export_fx.py", "run_hetero.py",
                   "time_split.py"):
        got = run(script, parts, "x", **without)
        expect(got, 77, f"{script}: skipped: needs the Python module ")
        assert "(pip install " in got[1] and got[1].count("\n") == 1, got
    for name, package in (("root.onnx", "onnx onnxruntime numpy"), ("root.pt2", "torch numpy"), ("root.tflite", "ai-edge-litert numpy"),
                          ("bundle.pt2", "torch numpy"), ("root_ep.onnx", "onnx onnxruntime onnxruntime-qnn numpy")):
        own = folder / name.replace(".", "_")
        own.mkdir()
        (own / name).touch()
        model = {".pt2": SAMPLES / "tiny_resnet.pt2", ".tflite": SAMPLES / "keyword.tflite"}.get(Path(name).suffix, parts / "root.onnx")
        for words in (["run"], ["verify", model]):
            got = run("runner.py", *words, own, **without)
            expect(got, 77, f"cleave {words[0]}: skipped: needs the Python module ")
            assert f"(pip install {package})" in got[1] and got[1].count("\n") == 1, got


def test_no_run_is_no_median(folder):
    (folder / "openvino.py").touch()
    for runs in ("0", "-1"):
        expect(run("time_split.py", folder, "--runs", runs, env=os.environ | {"PYTHONPATH": str(folder)}), 2, "--runs is 1 or more")


# ---- mutated manifests ----

STRANGE = [None, True, -1, 0, 10**30, 3.5, "", "x", "../../x", "/etc/passwd", "a\0b", "\ud800", "\x1b[31m\n::error::x", [], {}, [[]],
           [None], {"a": 1}, [{}], "pipe", "zero", ".", 10**9]  # fmt: skip
FIELDS = ("partitions", "chain", "settings", "residency", "targets", "direct_links", "parts", "bound")


def place_of(content, top, rng):
    """The path of a value, by a walk: long lists weigh no more than others."""
    path, at = [top], content[top]
    while isinstance(at, (dict, list)) and at and rng.random() < 0.85:
        path.append(rng.choice(list(at) if isinstance(at, dict) else range(len(at))))
        at = at[path[-1]]
    return path


def mutate(content, rng):
    """Changes one to three places, and says which."""
    told = []
    for _ in range(rng.randint(1, 3)):
        keys = [key for key in content if key in FIELDS] if rng.random() < 0.95 else list(content)
        if not keys:
            break
        top = rng.choice(keys)
        path = place_of(content, top, rng)
        at = content
        for key in path[:-1]:
            at = at[key]
        kind = rng.random()
        if kind < 0.2:
            del at[path[-1]]
        elif kind < 0.3 and isinstance(at, list):
            at.append(at[path[-1]])
        elif kind < 0.4 and isinstance(at, list):
            rng.shuffle(at)
        else:
            at[path[-1]] = rng.choice(STRANGE)
        told.append(path)
    return told


def write_mutated(path, original, rng):
    """Puts a mutated manifest at `path`; says what was done."""
    path.unlink()
    kind = rng.random()
    if kind < 0.02:
        os.mkfifo(path)
        return "a pipe"
    if kind < 0.04:
        path.symlink_to("/dev/zero")
        return "endless"
    if kind < 0.08:
        path.write_bytes(original[: rng.randrange(len(original))])
        return "cut"
    if kind < 0.1:
        path.write_bytes(b"[" * 100000)
        return "deep"
    content = json.loads(original)
    told = mutate(content, rng)
    path.write_text(json.dumps(content))
    return told


def in_child(work, log):
    """Runs `work` in a child process, as Python runs a script; its status, what it printed, and its memory in KiB."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        with open(log, "wb") as out:
            os.dup2(out.fileno(), 1)
            os.dup2(out.fileno(), 2)
        status = 1
        try:
            status = work() or 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), log.read_text(errors="replace"), usage.ru_maxrss


@dataclass
class Case:
    """A script that is run in a folder of its own. `place`: what it is given, whose `file` is mutated."""

    folder: Path
    script: str
    place: Path
    arguments: list = field(default_factory=list)  # before the place
    more: list = field(default_factory=list)  # and behind it
    file: str = "manifest.json"
    main: Callable | None = None


def mutated(case, count):
    """Gives the script `count` mutated manifests. Returns how often each status came."""
    rng, path = random.Random(case.script), case.place / case.file
    original = path.read_bytes()
    os.mkfifo(case.place / "pipe")
    (case.place / "zero").symlink_to("/dev/zero")
    main = case.main or importlib.import_module(case.script.removesuffix(".py")).main
    statuses: dict[int, int] = {}
    sys.argv = [case.script, *map(str, (*case.arguments, case.place, *case.more))]
    for _ in range(count):
        told = write_mutated(path, original, rng)
        status, said, size = in_child(main, case.folder / "log")
        statuses[status] = statuses.get(status, 0) + 1
        assert status in STATUSES and "Traceback" not in said and size < MOST_KIB, (case.script, status, told, said, size)
        assert "\x1b" not in said and "\n::" not in "\n" + said, (case.script, told, said)
        shutil.rmtree(case.place / "captured", ignore_errors=True)
        left = {one.name for one in case.folder.iterdir()} | {one.name for one in case.place.glob(".*")}
        assert left <= {"log", case.place.name, "list.txt", "npu.txt", "gpu.txt"}, (case.script, told, left)
    return dict(sorted(statuses.items()))


def runs(*words):
    """`cleave run` or `cleave verify` without a child process."""

    def main():
        import runner
        from reports import Report

        options = runner.parse_options([str(word) for word in words])
        with guard.told(f"cleave {options.command}", options.folder):
            report = Report.of(runner.work(options, runner.runner_of(options.folder)))
            guard.say(*report.lines())
            return report.status

    return main


def split_with_state(folder):
    """The folder of a split of a model whose state grows."""
    import onnx

    model = folder.parent / "state.onnx"
    onnx.save(onnx.parser.parse_model("""<ir_version: 8, opset_import: ["" : 18]>
g (float[B,1] x, float[B,P] past) => (float[B,Q] present, float[B,Q] y) {
  [grow] present = Concat <axis: int = 1> (past, x)
  [relu] y = Relu (present) }"""), model)  # fmt: skip
    (folder / "list.txt").write_text("Relu\n")
    cleave("split", model, "-s", folder / "list.txt", "-o", folder / "split")
    manifest = json.loads((folder / "split/manifest.json").read_text())
    manifest["state"] = [{"input": "past", "output": "present", "kind": "grows", "axis": 1}]
    (folder / "split/manifest.json").write_text(json.dumps(manifest))
    return folder / "split"


def of_onnx(folder):
    def folder_of(name):
        (folder / name / "in").mkdir(parents=True)
        return folder / name / "in"

    model = SAMPLES / "mobile_block.onnx"
    own = folder_of("capture")
    yield Case(own, "capture_inputs.py", split(own, "onnx"))
    for what, original in (("onnx", model), ("targets", model), ("stages", model), ("tflite", SAMPLES / "keyword.tflite")):
        for command in ("run", "verify") if what != "tflite" or find_spec("ai_edge_litert") else ():
            own = folder_of(f"{command} {what}")
            place = split(own, what)
            yield Case(own, f"{command} {what}", place, main=runs(command, *([original] if command == "verify" else []), place))
    own = folder_of("steps")
    yield Case(own, "run --steps", split_with_state(own), main=runs("run", own / "split", "--steps", 2))
    own = folder_of("deployed")
    (own / "lowered").mkdir()
    shutil.copy(model, own / "lowered" / "root_ep.onnx")
    (own / "lowered" / "a.bin").write_bytes(b"")
    part = {"target": {"soc_model": "57", "precision": "float16"},
            "artefacts": [{"file": "a.bin", "bytes": 0, "sha256": hashlib.sha256(b"").hexdigest()}]}  # fmt: skip
    (own / "lowered" / "lowering.json").write_text(json.dumps({"parts": [part], "bound": {"values": {"image": "1"}}}))
    yield Case(own, "verify deployed", own / "lowered", main=runs("verify", model, own / "lowered"), file="lowering.json")
    if find_spec("openvino"):
        own = folder_of("time")
        yield Case(own, "time_split.py", split(own, "targets"), more=["--runs", "2"])
        own = folder_of("hetero")
        yield Case(own, "run_hetero.py", split(own, "targets"), more=[model, "--check"])


def of_torch(folder):
    for script in ("run", "verify", "capture_torch.py"):
        own = folder / script / "in"
        own.mkdir(parents=True)
        place = split(own, "torch")
        words = [script, *([SAMPLES / "tiny_resnet.pt2"] if script == "verify" else []), place]
        yield Case(own, script, place, main=None if script.endswith(".py") else runs(*words))
    own = folder / "fx" / "in"
    own.mkdir(parents=True)
    expect(run("export_fx.py", "dlrm", "-o", folder / "graph.json"), 0)
    cleave("split", folder / "graph.json", "-s", SAMPLES / "npu.json", "-o", own / "split")
    yield Case(own, "apply_fx.py", own / "split", more=["dlrm"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("project")
    parser.add_argument("cleave")
    parser.add_argument("kind", choices=["onnx", "torch"])
    parser.add_argument("--manifests", type=int, default=20)
    options = parser.parse_args()
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    for name, test in tests.items():
        if ("torch" in name) == (options.kind == "torch"):
            with tempfile.TemporaryDirectory() as scratch:
                (Path(scratch) / "in").mkdir()
                test(Path(scratch) / "in")
            print(f"ok      {name.removeprefix('test_').replace('_', ' ')}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for case in of_torch(Path(scratch)) if options.kind == "torch" else of_onnx(Path(scratch)):
            statuses = mutated(case, options.manifests)
            print(f"ok      {case.script} of {options.manifests} mutated manifests: {statuses}", flush=True)


if __name__ == "__main__":
    main()
