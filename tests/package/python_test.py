#!/usr/bin/env python3
"""Tests the Python package from the sources, with the program of a build: typed results, errors, warnings, options; and
that the classes of results are those that the JSON schemas say.

usage: python_test.py PROJECT_FOLDER CLEAVE     exit status 1 when something is not as it should be
"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.version_info < (3, 10):
        print("skipped: the package needs Python 3.10")
        sys.exit(77)
    PROJECT, PROGRAM = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    os.environ["CLEAVE_PROGRAM"] = str(PROGRAM)
    sys.path.insert(0, str(PROJECT / "scripts/python"))

import cleave
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
        self.assertTrue(cleave.check(MODEL, LIST, min_coverage={"nodes": 0.5}).passed)
        failed = cleave.check([MODEL], [LIST], min_coverage=["nodes=0.99", "flops=0.1"], dim={"N": 1})
        self.assertFalse(failed.passed)
        self.assertEqual([gate.verdict for gate in failed.gates], ["fails", "holds"])

    def test_errors_have_the_message_and_the_exit_code(self):
        with self.assertRaisesRegex(cleave.Error, "no_such_model") as caught:
            cleave.preview("no_such_model.onnx", LIST)
        self.assertEqual(caught.exception.exit_code, 3)
        with self.assertRaisesRegex(cleave.Error, "did you mean --keep-qdq") as caught:
            cleave.preview(MODEL, LIST, keep_qdg=True)
        self.assertEqual(caught.exception.exit_code, 2)

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
        for module, usage in {"verify": "verify_split.py ORIGINAL", "capture": "capture_inputs.py DIR"}.items():
            done = subprocess.run([sys.executable, "-m", f"cleave.{module}", "--help"], env=environment,
                                  capture_output=True, text=True)
            said = done.stdout + done.stderr
            self.assertTrue(usage in said if done.returncode == 0 else "needs the Python module" in said, said)
        done = subprocess.run([sys.executable, "-m", "cleave", "--version"], env=environment, capture_output=True, text=True)
        self.assertTrue(done.stdout.startswith("cleave 0."), done)


def absent_left_out(value):
    """Without fields that are None: those that JSON may leave out are None in a result. Names as in JSON."""
    if isinstance(value, dict):
        return {name.rstrip("_"): absent_left_out(item) for name, item in value.items() if item is not None}
    return [absent_left_out(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
