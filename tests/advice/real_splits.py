#!/usr/bin/env python3
"""Compares the numbers of `cleave advise` with those of real splits.

For every single gap, every step of the best order and every setting, `cleave preview` splits the
models with the remedy's rule in one more support list, or in a list that is about ONNX Runtime's graph
(or without the deny rule, or under the setting), and the sums over the models must equal the advice's
numbers.

With MODELS, a folder, it does the same with five exported models and a list of 40 ops; the advice must
take at most a second per model.

usage: real_splits.py PROJECT_FOLDER CLEAVE [MODELS]      exit status 1 when a number differs,
                                                          77 if MODELS does not exist
"""
import json
import math
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

NPU, TINY, ORT = "npu.json", "tiny_npu.txt", "ort_ops.config"
# Models, lists, options: of the models, of the split, of the advice. Two lists at once, ONNX bodies,
# several models in one advice.
CASES = [
    (["resnet18.json"], [NPU], [], [], []),
    (["dlrm.json", "transformer_encoder.json"], [NPU], [], [], ["--goal", "bytes"]),
    (["attention.onnx"], [ORT], ["--dim", "B=2", "--dim", "T=8"], ["--start", "fewest"], ["--goal", "flops"]),
    (["attention.onnx"], [TINY], [], ["--min-acc-module-size", "2"], []),
    (["mobile_block.onnx"], [NPU, TINY], ["--dim", "N=1"], [], ["--goal", "qps"]),
    (["resnet18.json", "dlrm.json", "mobile_block.onnx"], [NPU, TINY], [], [], ["--limit", "steps=8"]),
    (["mobile_block.onnx"], ["lists/coreml_neuralnetwork.json"], ["--dim", "N=1"], [], []),
]


EXPORTED = ["exported/ssdlite.onnx", "exported/gpt_kv.onnx", "exported/mobilenet_v3.onnx",
            "exported/lstm.onnx", "light/light_densenet121.onnx"]
FORTY_OPS = """Abs Add AveragePool BatchNormalization Cast Clip Concat Conv ConvTranspose Div Erf Exp
Flatten Gelu Gemm GlobalAveragePool Identity LayerNormalization LeakyRelu MatMul MaxPool Mul Neg Pad
Pow ReduceMean ReduceSum Relu Reshape Sigmoid Slice Softmax Split Sqrt Squeeze Sub Tanh Transpose
Unsqueeze Where""".split()


class Splitter:
    """Splits models with cleave and sums up as advice does."""

    def __init__(self, cleave, models, options):
        self.cleave, self.models, self.options = cleave, models, options
        self.sizes = {}  # of open dims, by model: those at which advice counts

    def count_at(self, text):
        """`text`: "N=1, T=16"; of several models "mobile_block: N=1; ..."."""
        for one in text.split("; ") if text else []:
            name, _, sizes = one.rpartition(": ")
            options = [word for size in sizes.split(", ") for word in ("--dim", size)]
            self.sizes |= {model: options for model in self.models if name in ("", model.stem)}

    def output(self, *arguments):
        command = [self.cleave, *arguments, "-q", "--json"]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    def outcome(self, lists, settings):
        sums = dict.fromkeys(("acc_subgraphs", "subgraphs", "link_bytes", "seconds", "shared",
                              "nodes", "flops", "unknown"), 0)
        for model in self.models:
            supports = [text for path in lists for text in ("-s", path)]
            report = self.output("preview", model, *supports, *self.options, *self.sizes.get(model, []),
                                 *settings)
            on_acc = [part for part in report["partitions"] if part["is_acc"]]
            sums["acc_subgraphs"] += len(on_acc)
            sums["subgraphs"] += len(report["partitions"])
            sums["link_bytes"] += sum(part["input_bytes"] + part["output_bytes"] for part in on_acc)
            crossing = [value for part in on_acc for value in part["inputs"] + part["outputs"]]
            sums["unknown"] += sum(value["type"] == "tensor" and value["bytes"] is None
                                   for value in crossing)
            if report["link"]:
                sums["seconds"] += 1 / report["link"]["max_qps"]
                sums["shared"] += 1 / report["link"]["shared_qps"]
            sums["nodes"] += report["coverage"]["nodes"]["acc"]
            sums["flops"] += report["coverage"]["flops"]["acc"]
        return sums


class Lists:
    """Support lists with remedies, in a separate folder."""

    def __init__(self, paths, tmp):
        self.paths, self.tmp, self.remedies, self.lifted = paths, tmp, [], {}

    def with_remedy(self, remedy):
        other = Lists(self.paths, self.tmp)
        other.remedies = list(self.remedies)
        other.lifted = {path: list(indices) for path, indices in self.lifted.items()}
        for gap in [remedy, *remedy["with"]]:
            if gap["remedy"] is None:
                refused = gap["refused_by"]
                other.lifted.setdefault(refused["file"], []).append(refused["index"])
            else:
                other.remedies.append(gap["remedy"])
        return other

    def files(self):
        files, is_extended = [], False
        for number, path in enumerate(self.paths):
            rules = json.loads(path.read_text()) if path.suffix == ".json" else {}
            is_own = bool(self.remedies) and rules.get("as") == "onnxruntime"
            is_extended = is_extended or is_own
            if is_own or str(path) in self.lifted:
                gone = self.lifted.get(str(path), [])
                rules["deny"] = [rule for i, rule in enumerate(rules.get("deny", [])) if i not in gone]
                rules["allow"] = rules.get("allow", []) + (self.remedies if is_own else [])
                path = self.tmp / f"less{number}.json"
                path.write_text(json.dumps(rules))
            files.append(path)
        if self.remedies and not is_extended:
            more = self.tmp / "more.json"
            more.write_text(json.dumps({"format": "cleave.support", "version": 1, "name": "more",
                                        "allow": self.remedies}))
            files.append(more)
        return files


def faults(promised, real):
    """Where the two differ."""
    # A sum of models has no rate where one of them has none, for want of bytes.
    def rate(seconds):
        return None if seconds == 0 or real["unknown"] > 0 else 1 / seconds

    wanted = [(name, promised[name], real[name])
              for name in ("acc_subgraphs", "subgraphs", "link_bytes")]
    wanted += [("qps", promised["qps"], rate(real["seconds"])),
               ("shared_qps", promised["shared_qps"], rate(real["shared"])),
               ("nodes", promised["nodes"]["acc"], real["nodes"]),
               ("flops", promised["flops"]["acc"], real["flops"])]
    for name, have, want in wanted:
        same = have == want or (None not in (have, want)
                                and math.isclose(have, want, rel_tol=1e-9))
        if not same:
            yield f"{name} is promised as {have} and comes to {want}"


def check_case(project, cleave, case, tmp):
    """(rows checked, faults found) of one case."""
    models, lists, model_options, split_options, advice_options = case
    samples = project / "samples"
    models = [samples / model for model in models]
    paths = [samples / path for path in lists]
    supports = [text for path in paths for text in ("-s", path)]
    splitter = Splitter(cleave, models, model_options)
    advice = splitter.output("advise", *models, *supports, *model_options, *split_options,
                             *advice_options)
    splitter.count_at(advice.get("at_sizes", ""))
    rows = [("now", advice["now"], Lists(paths, tmp), split_options)]
    for remedy in advice["each"]:
        rows.append((f"{remedy['kind']} {remedy['op']}", remedy["then"],
                     Lists(paths, tmp).with_remedy(remedy), split_options))
    filled = Lists(paths, tmp)
    for number, remedy in enumerate(advice["steps"], 1):
        filled = filled.with_remedy(remedy)
        rows.append((f"step {number} {remedy['op']}", remedy["then"], filled, split_options))
    for setting in advice["settings"]:
        rows.append((f"setting {setting['min_acc_module_size']} {setting['start']}",
                     setting["outcome"], Lists(paths, tmp),
                     ["--min-acc-module-size", str(setting["min_acc_module_size"]),
                      "--start", setting["start"]]))
    found = 0
    for what, promised, with_lists, settings in rows:
        for fault in faults(promised, splitter.outcome(with_lists.files(), settings)):
            print(f"{[path.name for path in models]} {what}: {fault}")
            found += 1
    return len(rows), found


def processor_seconds():
    """Processor time of the commands so far, without other work on the machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check_exported(cleave, folder):
    """(rows checked, faults found) of the exported models."""
    models = [folder / name for name in EXPORTED]
    with tempfile.TemporaryDirectory() as tmp:
        support = Path(tmp) / "forty.txt"
        support.write_text("\n".join(FORTY_OPS) + "\n")
        begin = processor_seconds()
        subprocess.run([cleave, "advise", *models, "-s", support, "-q"], check=True,
                       stdout=subprocess.DEVNULL)
        seconds = (processor_seconds() - begin) / len(models)
        print(f"advice takes {seconds:.3f} s a model")
        rows, found = check_case(Path("/"), cleave, (models, [support], [], [], []), Path(tmp))
        return rows, found + (seconds > 1)


def main():
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    project, cleave = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    if len(sys.argv) == 4:
        folder = Path(sys.argv[3]).resolve()
        if not folder.is_dir():
            print(f"skipped: there is no {folder}")
            sys.exit(77)
        rows, found = check_exported(cleave, folder)
        print(f"{rows} rows checked, {found} faults")
        sys.exit(1 if found or rows < 50 else 0)
    checked = failed = 0
    for case in CASES:
        with tempfile.TemporaryDirectory() as tmp:
            rows, found = check_case(project, cleave, case, Path(tmp))
        checked += rows
        failed += found
    print(f"{checked} rows checked, {failed} numbers differ")
    sys.exit(1 if failed or checked < 50 else 0)


if __name__ == "__main__":
    main()
