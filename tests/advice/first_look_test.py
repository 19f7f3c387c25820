#!/usr/bin/env python3
"""Tests what a first look promises, by splits that are really made.

Sizes: where `cleave preview` gives numbers as expressions of open dims, the numbers at three sizes, given by
--dim and --input-shape, must equal them: of the whole, and of each partition.

Options: the option that a note of `cleave preview` names must be the best of all that are tried, or none must
gain when it names none. What gains, and which is best, is computed here from the reports.

usage: first_look_test.py PROJECT_FOLDER CLEAVE [MODELS...]      exit status 1 when a promise is broken, 77 where a
                                                                 model is not there
"""
import json
import re
import subprocess
import sys
from pathlib import Path

CASES = [("mobile_block.onnx", "tiny_npu.txt"), ("mobile_block.onnx", "npu.json"),
         ("attention.onnx", "ort_ops.config"), ("attention.onnx", "tiny_npu.txt"),
         ("resnet18.json", "npu.json"), ("dlrm.json", "npu.json"), ("recurrent.onnx", "tiny_npu.txt")]
OPTIONS = [["--fold", "write"], ["--extend", "auto"], ["--host-shapes"], ["--allow-non-tensor"],
           ["--skip-fusion"], ["--move-non-tensor"], ["--keep-qdq"], ["--start", "fewest"]]
MOST_SIZES = 6


class Promise:
    def __init__(self, cleave):
        self.cleave, self.broken, self.sizes, self.options = cleave, [], 0, 0

    def run(self, *arguments):
        return subprocess.run([self.cleave, *map(str, arguments)], capture_output=True, check=False, timeout=300)

    def report(self, model, support, *options):
        done = self.run("preview", model, "-s", support, "--json", "-q", *options)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def expect(self, holds, *what):
        if not holds:
            self.broken.append(" ".join(map(str, what)))

    # ---- sizes ----

    def inputs_of(self, model):
        """The shapes of the inputs, as `cleave inspect` prints them."""
        text = self.run("inspect", model).stdout.decode()
        return {name: shape.split(", ") if shape else []
                for name, shape in re.findall(r"^  input (.*): \w+\[(.*)\]$", text, re.M)}

    def options_for(self, model, sizes):
        """--dim and --input-shape for {"N": 3, "x[0]": 2}."""
        options, shapes = [], {}
        inputs = self.inputs_of(model)
        for name, size in sizes.items():
            unnamed = re.fullmatch(r"(.*)\[(\d+)\]", name)
            if unnamed:
                shape = shapes.setdefault(unnamed[1], [one if one.isdigit() else "?" for one in inputs[unnamed[1]]])
                shape[int(unnamed[2])] = str(size)
            else:
                options += ["--dim", f"{name}={size}"]
        for name, shape in shapes.items():
            options += ["--input-shape", f"{name}={','.join(shape)}"]
        return options

    @staticmethod
    def value(number, sizes):
        text, names = number["expression"], {}
        for i, name in enumerate(sorted(sizes, key=len, reverse=True)):
            text = text.replace(f"`{name}`", f"v{i}_") if f"`{name}`" in text else re.sub(
                rf"(?<![\w.\[]){re.escape(name)}(?![\w.\[])", f"v{i}_", text)
            names[f"v{i}_"] = sizes[name]
        return eval(text, {"__builtins__": {}}, names)  # pylint: disable=eval-used

    def compare(self, what, number, sizes, actual):
        if number["expression"] is None or number["is_partial"] or actual is None:
            return
        self.sizes += 1
        expected = self.value(number, sizes)
        self.expect(abs(expected - actual) <= 1e-9 * max(1, abs(actual)), what, sizes, number["expression"],
                    "is", expected, "but the report says", actual)

    def test_sizes(self, model, support):
        """True when the model has expressions."""
        opened = self.report(model, support)
        if opened is None or opened["open_sizes"] is None:
            return False
        found = opened["open_sizes"]
        for times in (0, 6, 7):
            sizes = {name: dim["first"] + dim["step"] * (times + (i if times else 0))
                     for i, (name, dim) in enumerate(found["dims"].items())}
            bound = self.report(model, support, *self.options_for(model, sizes))
            self.expect(bound is not None, model, "is refused with", sizes)
            if bound is None or len(bound["partitions"]) != len(found["partitions"]):
                continue  # rules on shapes may split a bound model in another way
            if [part["nodes"] for part in bound["partitions"]] != [part["nodes"] for part in opened["partitions"]]:
                continue
            self.compare(f"{model} work", found["flops"], sizes, bound["coverage"]["flops"]["total"])
            self.compare(f"{model} work there", found["acc_flops"], sizes, bound["coverage"]["flops"]["acc"])
            for part, numbers in zip(bound["partitions"], found["partitions"]):
                for key in ("flops", "input_bytes", "output_bytes"):
                    self.compare(f"{model} {part['name']} {key}", numbers[key], sizes, part[key])
        return True

    # ---- options ----

    @staticmethod
    def outcome(report):
        acc = [part for part in report["partitions"] if part["is_acc"]]
        values = [value["bytes"] for part in acc for key in ("inputs", "outputs") for value in part[key]
                  if value["type"] == "tensor"]
        flops, nodes = report["coverage"]["flops"], report["coverage"]["nodes"]
        share = flops["acc"] / flops["total"] if flops["total"] else nodes["ratio"]
        return {"parts": len(acc), "nodes": nodes["acc"], "share": share,
                "bytes": None if None in values else sum(p["input_bytes"] + p["output_bytes"] for p in acc)}

    @staticmethod
    def rank(now, then):
        """None when it gains nothing; else the less, the better."""
        if then["share"] < now["share"] - 0.01:
            return None
        brings = then["share"] >= now["share"] + 0.10
        known = now["bytes"] is not None and then["bytes"] is not None
        fewer = known and then["parts"] == now["parts"] and then["bytes"] <= 0.95 * now["bytes"] != 0
        if not (brings or then["parts"] < now["parts"] or fewer):
            return None
        return (not brings, then["parts"], then["bytes"] if known else 0, -then["nodes"])

    def test_options(self, model, support):
        report = self.report(model, support)
        if report is None:
            return
        self.options += 1
        now = self.outcome(report)
        sizes = sorted({len(s["nodes"]) for s in report["subgraphs_before"] if s["is_acc"]})
        tried = OPTIONS + [["--min-acc-module-size", str(size + 1)] for size in sizes[:MOST_SIZES]]
        if not model.name.endswith(".onnx"):
            tried = tried[1:]
        ranks = {}
        for options in tried:
            then = self.report(model, support, *options)
            rank = self.rank(now, self.outcome(then)) if then else None
            if rank is not None:
                ranks[" ".join(options)] = rank
        named = [note for note in report["notes"] if re.match(r"--[-a-z]+( \w+)? gives ", note)]
        self.expect(len(named) == (1 if ranks else 0), model.name, support.name, "names", named, "of", ranks)
        if named and ranks:
            option = named[0].split(" gives ")[0]
            self.expect(option in ranks and ranks[option] == min(ranks.values()), model.name, support.name,
                        "names", option, "of", ranks)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    project, cleave, *models = sys.argv[1:]
    samples = Path(project) / "samples"
    cases = [(samples / model, samples / support) for model, support in CASES]
    if models:
        if not all(Path(model).exists() for model in models):
            sys.exit(77)
        lists = [samples / "lists" / "coreml.json", samples / "ort_ops.config", samples / "npu.json"]
        cases = [(Path(model), lists[i % len(lists)]) for i, model in enumerate(models)]
    promise = Promise(cleave)
    opened = [model.name for model, support in cases if promise.test_sizes(model, support)]
    for model, support in cases:
        promise.test_options(model, support)
    for line in promise.broken:
        print(line)
    print(f"{promise.sizes} numbers of {len(set(opened))} models with open dims, options of {promise.options} splits, "
          f"{len(promise.broken)} promises broken")
    if not models and "mobile_block.onnx" not in opened:
        sys.exit("the open dim of mobile_block.onnx gave no expression")
    sys.exit(1 if promise.broken else 0)


if __name__ == "__main__":
    main()
