#!/usr/bin/env python3
"""Tests the Python package from the sources, with the program of a build: typed results, errors, warnings, options; and
that the classes of results are those that the JSON schemas say.

usage: python_test.py PROJECT_FOLDER CLEAVE     exit status 1 when something is not as it should be
"""

import dataclasses
import html
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
from inspect import signature
from pathlib import Path

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.version_info < (3, 10):  # noqa: UP036 (it is the Python of whoever runs the tests)
        print("skipped: the package needs Python 3.10")
        sys.exit(77)
    PROJECT, PROGRAM = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    os.environ["CLEAVE_PROGRAM"] = str(PROGRAM)
    sys.path.insert(0, str(PROJECT / "scripts/python"))

import cleave
from cleave import calls
from cleave.results.report import Report

MODEL, LIST = "samples/mobile_block.onnx", "samples/tiny_npu.txt"


class PackageTest(unittest.TestCase):
    def setUp(self):
        os.chdir(PROJECT)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_results_are_those_of_the_schemas(self):
        done = subprocess.run([sys.executable, "scripts/python/make_results.py", "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_field_of_the_json_is_in_the_result(self):
        printed = subprocess.run([PROGRAM, "preview", MODEL, "-s", LIST, "--json"], capture_output=True, check=True).stdout
        made = dataclasses.asdict(cleave.preview(MODEL, LIST))
        self.assertEqual(absent_left_out(made), absent_left_out(json.loads(printed)))

    def test_split_writes_the_files_that_the_result_names(self):
        out = self.folder / "parts"
        report = cleave.split(MODEL, [LIST], out, dim={"N": 1}, min_acc_module_size=2, drawings="none")
        self.assertIsInstance(report, Report)
        self.assertEqual([part.is_acc for part in report.partitions], [True, False] * 3)
        for part in report.partitions:
            self.assertTrue((out / part.file).is_file(), part.file)
        self.assertEqual(report.settings.min_acc_module_size, 2)
        self.assertEqual(report.cpu_reasons[0].code, "no_rule")
        self.assertEqual(report.partitions[0].inputs[0].shape, [1, 3, 32, 32])
        with self.assertRaises(cleave.Error) as caught:
            cleave.split(MODEL, LIST, out)
        self.assertEqual(caught.exception.exit_code, 4)
        cleave.split(MODEL, LIST, out, force=True)

    def test_stage_cuts_into_stages(self):
        stages = cleave.stage("samples/resnet18.json", 3)
        self.assertEqual(len(stages.stages), 3)
        self.assertGreaterEqual(stages.objective, stages.bound)
        self.assertGreater(stages.stages[0].cost.in_ + stages.stages[0].cost.out, 0)

    def test_a_check_that_fails_is_no_error(self):
        self.assertTrue(cleave.check(MODEL, LIST, min={"coverage": 0.5}).passed)
        failed = cleave.check([MODEL], [LIST], min=["coverage=0.99", "coverage-flops=0.1"], dim={"N": 1})
        self.assertFalse(failed.passed)
        self.assertEqual([gate.verdict for gate in failed.gates], ["fails", "holds"])

    def test_errors_have_the_message_and_the_exit_code(self):
        with self.assertRaisesRegex(cleave.Error, "no_such_model") as caught:
            cleave.preview("no_such_model.onnx", LIST)
        self.assertEqual(caught.exception.exit_code, 3)
        with self.assertRaisesRegex(cleave.Error, "did you mean --keep-qdq") as caught:
            cleave.diff(MODEL, support=LIST, to={"keep_qdg": True})
        self.assertEqual(caught.exception.exit_code, 2)
        with self.assertRaisesRegex(TypeError, "keep_qdg"):
            cleave.preview(MODEL, LIST, keep_qdg=True)

    def test_warnings_are_warnings(self):
        with self.assertWarnsRegex(cleave.CleaveWarning, "NoSuchNode"):
            cleave.preview(MODEL, LIST, deny=["NoSuchNode"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cleave.preview(MODEL, LIST)

    def test_paths_that_look_like_options(self):
        os.chdir(self.folder)
        Path("-x.onnx").write_bytes((PROJECT / MODEL).read_bytes())
        self.assertEqual(cleave.preview("-x.onnx", PROJECT / LIST).model.nodes, 24)

    def test_scripts_run_as_modules(self):
        environment = {**os.environ, "PYTHONPATH": str(PROJECT / "scripts/python")}
        for module in ("capture", "export"):
            done = subprocess.run([sys.executable, "-m", f"cleave.{module}", "--help"], env=environment,
                                  capture_output=True, text=True)
            said = done.stdout + done.stderr
            if done.returncode == 0:
                self.assertTrue(said.startswith(f"usage: python -m cleave.{module} "), said)
                self.assertEqual(said.count("usage:"), 1, said)
            else:
                self.assertRegex(said, "needs the Python module|pip install 'cleave\\[torch\\]'")
        for command in ("run", "verify"):
            done = subprocess.run([sys.executable, "-m", "cleave", command, "--help"], env=environment, capture_output=True, text=True)
            self.assertTrue(done.returncode == 0 and done.stdout.startswith(f"usage: cleave {command} "), done)
        done = subprocess.run([sys.executable, "-m", "cleave", "--version"], env=environment, capture_output=True, text=True)
        self.assertTrue(done.stdout.startswith("cleave 0."), done)

    def test_capture_says_what_cannot_be_written(self):
        out = self.folder / "parts"
        cleave.split(MODEL, LIST, out, dim={"N": 1}, drawings="none")
        (self.folder / "file").touch()
        done = subprocess.run([sys.executable, "-m", "cleave.capture", out, "-o", self.folder / "file/captured"],
                              env={**os.environ, "PYTHONPATH": str(PROJECT / "scripts/python")}, capture_output=True, text=True)
        if done.returncode == 77:
            self.skipTest("no onnxruntime")
        self.assertEqual(done.returncode, 4, done)
        self.assertIn(f'"{self.folder}/file/captured" cannot be written: Not a directory', done.stderr)

    def test_every_command_that_reports_is_a_function(self):
        self.assertEqual(cleave.inspect(MODEL).nodes, 24)
        reasons = cleave.explain(MODEL, "*Sigmoid*", support=LIST).nodes
        self.assertTrue(reasons and all(one.op == "HardSigmoid" for one in reasons), reasons)
        self.assertTrue(cleave.ops(MODEL, LIST).unsupported)
        self.assertTrue(cleave.advise([MODEL], LIST).models)
        self.assertEqual(cleave.diff(MODEL, MODEL, support=LIST).moves, [])
        self.assertTrue(cleave.diff(MODEL, support=LIST, to={"deny": "Conv"}).moves)
        self.assertEqual(cleave.lint(LIST, MODEL).errors, 0)
        (self.folder / "map.json").write_text(json.dumps(dict.fromkeys(cleave.preview(MODEL, LIST).node_map, 0)))
        self.assertEqual(len(cleave.partition(MODEL, self.folder / "map.json").stages), 1)

    def test_a_model_in_memory_is_taken(self):
        class Model:  # as onnx.ModelProto
            graph = None

            def SerializeToString(self):
                return Path(MODEL).read_bytes()

        self.assertEqual(len(cleave.preview(Model(), LIST).partitions), len(cleave.preview(MODEL, LIST).partitions))
        with self.assertRaises(TypeError):
            cleave.preview(3, LIST)

    def test_errors_can_be_pickled(self):
        error = pickle.loads(pickle.dumps(cleave.Error(3, "no such model")))
        self.assertEqual((type(error), error.exit_code, error.message, str(error)),
                         (cleave.Error, 3, "no such model", "no such model"))

    def test_functions_are_those_of_the_help(self):
        done = subprocess.run([sys.executable, "scripts/python/make_functions.py", PROGRAM, "--check"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_parameters_are_the_options_of_the_help(self):
        by_map = {"map", "map_option"}
        for function, others in ((cleave.preview, by_map), (cleave.split, by_map), (cleave.check, set()), (cleave.lower, set()),
                                 (cleave.stage, set()), (cleave.inspect, set()), (cleave.reduce, {"MODEL"})):
            text = subprocess.run([PROGRAM, function.__name__, "--help"], capture_output=True, text=True, check=True).stdout
            text = text.partition("\nTerminal\n")[0]
            options = dict(re.findall(r"^  (?:-\w,)?--([a-z-]+) ?(\S*)", text, re.MULTILINE))
            options = {name.replace("-", "_"): value for name, value in options.items()}
            others = others | {"json", "show", "stage"}
            parameters = signature(function).parameters
            known = {name.rstrip("_"): one for name, one in parameters.items() if name not in ("model", "models", "config")}
            self.assertEqual(set(options) - others, set(known), function)
            for name, one in known.items():
                self.assertEqual(one.annotation == "bool", not options[name], name)
                self.assertTrue(one.kind != one.KEYWORD_ONLY or name in ("output", "support") or
                                re.search(rf"^    {name}_?: \S", function.__doc__, re.MULTILINE), name)

    def test_values_become_arguments(self):
        for options, arguments in (
            ({"deny": {"b", "a"}}, ["--deny=a", "--deny=b"]),
            ({"deny": (name for name in "ba")}, ["--deny=b", "--deny=a"]),
            ({"deny": {"b": 1}.keys()}, ["--deny=b"]),
            ({"target": {"acc": "launch=100us"}}, ["--target=acc:launch=100us"]),
            ({"target": {"acc": {"launch": "1ms", "flops": 2}}}, ["--target=acc:launch=1ms,flops=2"]),
            ({"input_shape": {"x": [1, None]}, "force": False}, ["--input-shape=x=1,?"]),
            ({"set_input": {"training": True}, "loss_output": True}, ["--set-input=training=true", "--loss-output"]),
        ):
            self.assertEqual(calls._arguments({"keep_qdq": True, "force": False}, options), [*arguments, "--keep-qdq"])

    def test_wrong_types_name_the_option(self):
        for options in ({"keep_qdq": "yes"}, {"force": 1}, {"deny": object()}, {"deny": [True]}, {"deny": b"Conv"},
                        {"html": b"page.html"}, {"dim": {"N": None}}, {"dim": {"N": {1, 2}}}):
            with self.assertRaisesRegex(TypeError, f"^{next(iter(options))}: "):
                cleave.preview(MODEL, LIST, **options)
        with self.assertRaisesRegex(TypeError, "^model: a path"):
            cleave.preview(MODEL.encode(), LIST)
        with self.assertRaisesRegex(TypeError, "^model: a path"):
            cleave.check(MODEL.encode(), LIST)
        with self.assertRaisesRegex(TypeError, "^support: "):
            cleave.preview(MODEL, LIST.encode())
        with self.assertRaisesRegex(cleave.Error, "--seed"):
            cleave.split(MODEL, LIST, self.folder / "parts", seed=True)

    def test_a_wrong_program_is_named(self):
        self.addCleanup(os.environ.__setitem__, "CLEAVE_PROGRAM", os.environ["CLEAVE_PROGRAM"])
        for path, cause in {"/no/such/cleave": "cannot be run: No such file", "/bin/echo": "printed no JSON"}.items():
            os.environ["CLEAVE_PROGRAM"] = path
            with self.assertRaisesRegex(cleave.Error, f"{path} {cause}.*CLEAVE_PROGRAM"):
                cleave.preview(MODEL, LIST)

    def test_version_is_that_of_the_program(self):
        printed = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual(printed.split()[:2], ["cleave", cleave.__version__])

    def test_results_print_as_a_line(self):
        self.assertEqual(repr(cleave.preview(MODEL, LIST)),
                         "Report(model='mobile_block', nodes=24, acc_nodes=19, partitions=8)")

    def test_a_notebook_shows_the_page(self):
        """In a frame of its own: its styles and scripts do not meet those of the notebook."""
        page = self.folder / "page.html"
        subprocess.run([PROGRAM, "preview", MODEL, "-s", LIST, "--dim", "N=1", "--html", page], capture_output=True, check=True)
        report = cleave.split(MODEL, LIST, self.folder / "parts", dim={"N": 1}, drawings="none")
        for one in (cleave.preview(MODEL, LIST, dim={"N": 1}), report, pickle.loads(pickle.dumps(report))):
            frame = one._repr_html_()
            found = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="([^"]*)" [^<>]*></iframe>', frame)
            self.assertEqual(html.unescape(found[1]), page.read_text(encoding="utf-8"))
            self.assertNotIn("allow-same-origin", found[2])

    def test_a_notebook_shows_no_page_of_another_split(self):
        own = self.folder / "list.txt"
        own.write_text(Path(LIST).read_text())
        report = cleave.preview(MODEL, own)
        own.write_text("Relu\n")
        self.assertIsNone(report._repr_html_())
        own.unlink()
        self.assertIsNone(report._repr_html_())
        self.assertIsNone(dataclasses.replace(report)._repr_html_())

    def interrupted(self, how):
        """The status of a Python that a signal ends while it splits."""
        program = self.folder / "slow"  # waits as one that writes, and cleans up as cleave does
        program.write_text("#!/bin/sh\ntrap 'sleep 0.2; rmdir begun; exit 1' TERM INT\nmkdir begun\n"
                           "while :; do sleep 0.05; done\n")
        program.chmod(0o755)
        caller = ("import signal, sys, cleave\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
                  "cleave.split('m', 'l', 'parts')")
        child = subprocess.Popen([sys.executable, "-c", caller], cwd=self.folder, stderr=subprocess.DEVNULL, env={
            **os.environ, "CLEAVE_PROGRAM": str(program), "PYTHONPATH": str(PROJECT / "scripts/python")})
        until = time.monotonic() + 30
        while not (self.folder / "begun").exists() and time.monotonic() < until:
            time.sleep(0.01)
        child.send_signal(how)
        return child.wait(30)

    def test_an_interrupt_waits_until_the_program_has_cleaned_up(self):
        for how, status in ((signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, 143)):
            self.assertEqual(self.interrupted(how), status)
            self.assertEqual(os.listdir(self.folder), ["slow"])


def absent_left_out(value):
    """Without fields that are None: those that JSON may leave out are None in a result. Names as in JSON."""
    if isinstance(value, dict):
        return {name.rstrip("_"): absent_left_out(item) for name, item in value.items() if item is not None}
    return [absent_left_out(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
