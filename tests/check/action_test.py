#!/usr/bin/env python3
"""Runs the steps of scripts/dev/action/action.yml as a runner would: in a checkout, with the runner's variables.

usage: action_test.py PROJECT_FOLDER CLEAVE      exit status 1 when something is not as it should be
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml


class Runner:
    def __init__(self, action, cleave, checkout):
        self.action, self.cleave, self.checkout = action, cleave, Path(checkout)
        self.steps = yaml.safe_load((action / "action.yml").read_text())
        programs = self.checkout / ".programs"
        programs.mkdir()
        (programs / "cleave").symlink_to(cleave)

    def run(self, **given):
        """Exit status of the first step that fails, what the steps printed, and the job's summary."""
        inputs = {name: given.pop(name, field.get("default")) for name, field in self.steps["inputs"].items()}
        assert not given, f"no such inputs: {given}"
        summary = self.checkout / "summary.md"
        summary.unlink(missing_ok=True)
        out = ""
        for step in self.steps["runs"]["steps"]:
            env = dict(os.environ, GITHUB_ACTIONS="true", GITHUB_ACTION_PATH=str(self.action),
                       GITHUB_STEP_SUMMARY=str(summary), PATH=f"{self.checkout}/.programs:{os.environ['PATH']}")
            for name, value in step.get("env", {}).items():
                env[name] = re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], value)
            # As a runner calls a step of `shell: bash`.
            done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                                  cwd=self.checkout, env=env, capture_output=True, text=True, check=False)
            out += done.stdout + done.stderr
            if done.returncode:
                break
        return done.returncode, out, summary.read_text() if summary.exists() else ""


def main(project, cleave):
    project = Path(project).resolve()
    action = project / "scripts" / "dev" / "action"
    with tempfile.TemporaryDirectory() as checkout:
        for name in ("resnet18.json", "dlrm.json", "npu.json"):
            shutil.copy(project / "samples" / name, checkout)
        runner = Runner(action, os.path.abspath(cleave), checkout)
        assert runner.steps["runs"]["using"] == "composite"
        for step in runner.steps["runs"]["steps"]:
            assert step["shell"] == "bash" and "${{" not in step["run"], step["name"]  # inputs are no code

        code, out, summary = runner.run(models="[rd]*.json", lists="npu.json", options="--min coverage=1%")
        assert code == 0, out
        assert "resnet18" in summary and "dlrm" in summary, summary
        assert "FAILED" not in summary, summary

        code, out, summary = runner.run(models="resnet18.json", lists="npu.json", options="--max cpu-nodes=0")
        assert code == 1, out
        assert "::error" in out, out
        assert "FAILED" in summary and "conv1" in summary, summary
        assert (Path(checkout) / "check.xml").exists() and (Path(checkout) / "check.sarif").exists()

        code, out, summary = runner.run(models="resnet18.json", lists="nowhere.json", options="--max cpu-nodes=9")
        assert code == 3 and "nowhere.json" in out, (code, out)

        # An input is words, not commands.
        code, out, _ = runner.run(models="resnet18.json", lists="npu.json", options="--max cpu-nodes=9 ; touch broken")
        assert code == 3 and not (Path(checkout) / "broken").exists(), (code, out)
    print("the action's steps do what they say")


if __name__ == "__main__":
    main(*sys.argv[1:])
