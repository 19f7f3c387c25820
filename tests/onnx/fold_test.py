#!/usr/bin/env python3
"""Splits with --set-input and --fold compute the same bits as their models in ONNX Runtime.

usage: fold_test.py PROJECT_FOLDER CLEAVE [MODEL INPUT=VALUE]...

For a sample and models made here (Ifs beside and within each other, with equal names, with weights and
captures in branches, with a weight as a result; shape computations), for each --fold: `cleave split`
with --annotate and `cleave verify`, which feeds the value that was set. Where an If is decided,
no file of the split may have one, unless --fold off. More models may be given, with what they set.

Exit status 1 if a split is not equal, or an If stays.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import onnx
import onnx.parser

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
MODELS = {
    # two Ifs side by side whose branches have equal names, and weights
    "siblings": """
g (float[2, 4] x, bool wide) => (float[2, 4] z) <float[4] shift = {1, 2, 3, 4}> {
  y = If (wide) <then_branch = a () => (float[2, 4] t) {
      u = Add (x, shift)
      t = Relu (u)
    }, else_branch = b () => (float[2, 4] t) { t = Neg (x) }>
  s = Sigmoid (y)
  z = If (wide) <then_branch = c () => (float[2, 4] t) <float[4] scale = {2, 2, 3, 3}> {
      u = Mul (s, scale)
      t = Exp (u)
    }, else_branch = d () => (float[2, 4] t) { t = Abs (s) }>
}""",
    # an If within a branch, one of which stays
    "nested": """
g (float[2, 4] x, bool wide, bool late) => (float[2, 4] y) {
  n = Neg (x)
  y = If (wide) <then_branch = a () => (float[2, 4] t) {
      k = If (wide) <then_branch = b () => (float[2, 4] v) { v = Exp (n) },
                     else_branch = c () => (float[2, 4] w) { w = Log (n) }>
      t = If (late) <then_branch = d () => (float[2, 4] v) { v = Sub (k, x) },
                     else_branch = e () => (float[2, 4] w) { w = Add (k, n) }>
    }, else_branch = f () => (float[2, 4] e2) { e2 = Abs (x) }>
}""",
    # results that are an input of the graph, and a weight
    "passed": """
g (float[2, 4] x, bool wide) => (float[2, 4] y, float[2, 4] z) {
  a, b = If (wide) <then_branch = p () => (float[2, 4] i, float[2, 4] t) <float[2, 4] t = {1, 2, 3, 4, 5, 6, 7, 8}> { i = Identity (x) },
                    else_branch = q () => (float[2, 4] e, float[2, 4] f) { e = Sin (x) f = Neg (x) }>
  y = Sin (a)
  z = Cos (b)
}""",
    # shapes that are computed from the input's
    "shapes": """
g (float[2, 3, 4] x, bool wide) => (float[6, 4] y, int64[3] s) <int64[1] last = {2}, int64[1] minus = {-1}> {
  s = Shape (x)
  n = Gather (s, last)
  shape = Concat <axis = 0> (minus, n)
  r = Reshape (x, shape)
  y = If (wide) <then_branch = p () => (float[6, 4] t) { t = Expand (r, shape2)  shape2 = Constant <value_ints = [1, 1]> () },
                 else_branch = q () => (float[6, 4] e) { e = Neg (r) }>
}""".replace("t = Expand (r, shape2)  shape2 = Constant <value_ints = [1, 1]> ()",
             "shape2 = Constant <value_ints = [1, 1]> ()  t = Expand (r, shape2)"),
}  # fmt: skip
DECIDED = {"siblings", "passed", "shapes"}  # no If is left


def has_if(graph):
    return any(node.op_type == "If" for node in graph.node)


def files_with_if(folder):
    found = []
    for path in sorted(folder.glob("*.onnx")):
        model = onnx.load(str(path), load_external_data=False)
        if has_if(model.graph) or any(has_if(function) for function in model.functions):
            found.append(path.name)
    return found


def faults_of(project, cleave, model, options, fold, folder):
    split = [cleave, "split", model, *options, "--fold", fold, "-s", project / "samples" / "ort_ops.config",
             "-s", project / "samples" / "tiny_npu.txt", "--annotate", "-o", folder, "-q"]  # fmt: skip
    done = subprocess.run(split, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [f"split: {done.stderr.strip()}"]
    verify = [sys.executable, project / "scripts" / "runner.py", "verify", model, folder]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    return [] if done.returncode == 0 else [(done.stdout + done.stderr).strip()]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    project, cleave = Path(sys.argv[1]).resolve(), sys.argv[2]
    wrong = count = 0
    with tempfile.TemporaryDirectory() as scratch:
        cases = [("attention", project / "samples" / "attention.onnx", f"causal={value}",
                  ["--dim", "B=1", "--dim", "T=8"]) for value in ("true", "false")]  # fmt: skip
        for name, text in MODELS.items():
            path = Path(scratch) / f"{name}.onnx"
            onnx.save(onnx.parser.parse_model(HEAD + text), str(path))
            cases += [(name, path, f"wide={value}", []) for value in ("true", "false")]
        given = sys.argv[3:]
        cases += [("given", Path(model), value, []) for model, value in zip(given[::2], given[1::2])]
        for name, model, value, options in cases:
            for fold in ("off", "report", "write"):
                count += 1
                folder = Path(scratch) / f"split_{count}"
                faults = faults_of(project, cleave, model, ["--set-input", value, *options], fold, folder)
                stays = files_with_if(folder) if not faults else []
                if fold != "off" and name in DECIDED | {"attention"} and stays:
                    faults.append(f"an If is in {', '.join(stays)}")
                if fold == "off" and not faults and not stays:
                    faults.append("the If is gone with --fold off")
                for fault in faults:
                    print(f"{name}, {value}, --fold {fold}: {fault}")
                wrong += bool(faults)
    print(f"{count} splits, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
