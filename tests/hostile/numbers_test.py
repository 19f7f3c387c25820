#!/usr/bin/env python3
"""Tests that every option with a number refuses NaN, infinities, and numbers that overflow.

The options are those that `--help` shows with a numeric type, so that new ones are tested, too.

usage: numbers_test.py CLEAVE PROJECT_FOLDER      Exit status 1 if one is accepted.
"""

import re
import subprocess
import sys

NUMERIC = {"N", "COUNT", "NODES", "BYTES", "TIMES", "TIME", "RATE", "BANDWIDTH", "SECONDS", "QPS",
           "SHARE", "[WHAT=]SHARE", "NAME=SIZE", "NAME=DIMS", "WHAT=N", "I", "UINT", "FLOAT"}
FORMS = {"[WHAT=]SHARE": ["{}", "flops={}"], "NAME=SIZE": ["N={}"], "NAME=DIMS": ["x=1,{}"],
         "WHAT=N": ["nodes={}"]}
NOT_NUMBERS = ["nan", "NaN", "-nan", "inf", "-inf", "infinity", "1e999", "nan%", "inf s", "nan GB/s",
               "1e308min", "infGiB/s", "nanTFLOP/s", "1e308PFLOP/s", "-1"]
MODEL = "samples/pipeline.json"
ARGUMENTS = {
    "advise": [MODEL, "-s", "samples/npu.json"], "check": [MODEL, "-s", "samples/npu.json"],
    "convert": [MODEL, "-s", "samples/npu.json", "-o", "/nowhere/out.onnx"],
    "cut": [MODEL, "--nodes", "/nowhere/nodes", "-o", "/nowhere/out.json"],
    "diff": [MODEL, MODEL, "-s", "samples/npu.json"],
    "inspect": [MODEL], "run": ["/nowhere"], "verify": [MODEL, "/nowhere"],
    "draw": [MODEL, "-s", "samples/npu.json"], "explain": [MODEL, "-s", "samples/npu.json"],
    "lists": ["new", MODEL],
    "lower": [MODEL, "-s", "samples/npu.json", "--backend", "x=false"],
    "backend": ["list"],
    "probe": [MODEL, "--backend", "x=false", "-o", "/nowhere/list.json"],
    "reduce": [MODEL, "--backend", "x=false", "-o", "/nowhere/out"],
    "tune": [MODEL, "-s", "samples/npu.json", "--run", "false", "-o", "/nowhere/costs.json"],
    "preview": [MODEL, "-s", "samples/npu.json"],
    "split": [MODEL, "-s", "samples/npu.json", "-o", "/nowhere/out"], "stage": [MODEL],
}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    cleave, project = sys.argv[1:]

    def run(*arguments):
        return subprocess.run([cleave, *arguments], cwd=project, capture_output=True, timeout=60,
                              check=False)

    found, tried, options = [], 0, set()
    commands = re.findall(r"^  ([a-z][-a-z]+) ", run("--help").stdout.decode(), re.M)
    for command in commands:
        text = run(command, "--help").stdout.decode()
        for option, kind in re.findall(r"^\s+(?:-\w,)?(--[-\w]+)(?:,--[-\w]+)? (\S+)", text, re.M):
            if kind not in NUMERIC:
                continue
            first = (option, kind) not in options
            options.add((option, kind))
            for bad in NOT_NUMBERS if first else NOT_NUMBERS[:1]:
                for form in FORMS.get(kind, ["{}"]):
                    value = form.format(bad)
                    done = run(command, *ARGUMENTS[command], f"{option}={value}")
                    tried += 1
                    if done.returncode != 2:
                        found.append(f"{command} {option}={value}: exit {done.returncode}, not 2")
    print(*found, sep="\n")
    print(f"{tried} runs of {len(options)} options, {len(found)} faults")
    sys.exit(1 if found or len(options) < 15 else 0)


if __name__ == "__main__":
    main()
