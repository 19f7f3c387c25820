#!/usr/bin/env python3
"""Runs the guide's examples for continuous integration: the step of the GitHub Action with its shell and
a summary file, the pre-commit hook with the files that it matches. Each runs once without a fault, and
once with a change that breaks it.

usage: readme_ci_test.py PROJECT_FOLDER CLEAVE      exit status 1 when an example does not do its job
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path


class Test:
    def __init__(self, project, cleave, folder):
        self.project, self.folder = project, folder
        self.guide = (project / "samples" / "README.md").read_text(encoding="utf-8")
        self.environment = os.environ | {"PATH": f"{cleave.parent}:{os.environ['PATH']}",
                                         "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
        self.failed = 0

    def expect(self, holds, what):
        if not holds:
            self.failed += 1
            print(f"wrong: {what}")

    def run(self, *command):
        return subprocess.run(command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)

    def action(self):
        [block] = re.findall(r"^  run: \|\n((?:    .*\n)+)", self.guide, re.M)
        step = self.folder / "step.sh"
        step.write_text(textwrap.dedent(block))
        (self.folder / "models").mkdir()
        shutil.copy(self.project / "samples" / "mobile_block.onnx", self.folder / "models")
        rules = (self.project / "samples" / "tiny_npu.txt").read_text()
        support = self.folder / "npu.json"
        support.write_text(rules)
        (self.folder / "cleave.toml").write_text('[check]\nmin = "coverage=50%"\n')
        made = self.run("cleave", "check", "models/mobile_block.onnx", "-s", "npu.json",
                        "-o", "main.json")
        self.expect(made.returncode == 0, made.stderr)
        shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail", str(step))  # as GitHub calls it
        done = self.run(*shell)
        self.expect(done.returncode == 0 and "::error" not in done.stderr, f"passes: {done}")
        support.write_text(re.sub(r"(?m)^Relu\n", "", rules))
        done = self.run(*shell)
        self.expect(done.returncode == 1, f"fails: {done}")
        self.expect("::error file=npu.json" in done.stderr + done.stdout, f"annotations: {done}")
        summary = (self.folder / "summary.md").read_text()
        self.expect("passed" in summary and "FAILED" in summary, f"summary: {summary}")
        for name in ("check.xml", "check.sarif"):
            self.expect((self.folder / name).stat().st_size > 0, f"{name} is written")

    def hook(self):
        [entry] = re.findall(r"^ +entry: bash -c '(.*)' --\n", self.guide, re.M)
        [files] = re.findall(r"^ +files: (.*)\n", self.guide, re.M)
        lists = self.folder / "lists"
        lists.mkdir()
        for name in ("npu.json", "tiny_npu.txt", "ort_ops.config"):
            shutil.copy(self.project / "samples" / name, lists)
        names = sorted(f"lists/{path.name}" for path in lists.iterdir())
        self.expect(all(re.search(files, name) for name in names), f"{files} matches {names}")
        done = self.run("bash", "-c", entry, "--", *names)
        self.expect(done.returncode == 0, f"passes: {done}")
        with (lists / "tiny_npu.txt").open("a") as support:
            support.write("Convv\n")
        done = self.run("bash", "-c", entry, "--", *names)
        self.expect(done.returncode == 1 and '"Conv"' in done.stdout + done.stderr, f"fails: {done}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        test = Test(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), Path(folder))
        test.action()
        test.hook()
    sys.exit(1 if test.failed else 0)


if __name__ == "__main__":
    main()
