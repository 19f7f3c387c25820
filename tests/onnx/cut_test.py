#!/usr/bin/env python3
"""`cleave cut` by tensors writes what `onnx.utils.Extractor` does: inputs and outputs as asked for, in order, and the same nodes,
whose outputs are the same bits in ONNX Runtime.

usage: cut_test.py PROJECT_FOLDER CLEAVE [FOLDER...]

Seeded choices of tensors, spread over the samples and the models in FOLDER and in folders within; models with bodies are left out, as
the Extractor does not see what these read. Where it would write a model that no runtime takes, as an input is also made inside, or
an input comes after all outputs, or the type of an input is unknown, cleave must refuse and write nothing. Compiled contexts go along
with what is cut, split and fixed.

Exit status 1 if one of these does not hold.
"""

import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnx.utils
import onnxruntime

CHOICES = 300
MOST_MODELS = 10
MOST_NODES = 1500


def has_bodies(model):
    kinds = (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS)
    return any(a.type in kinds for node in model.graph.node for a in node.attribute)


def session(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def feeds_of(model, rng):
    weights = {tensor.name for tensor in model.graph.initializer}
    feeds = {}
    for value in model.graph.input:
        if value.name in weights:
            continue
        kind = value.type.tensor_type
        sizes = [dim.dim_value or 2 for dim in kind.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        is_real = np.issubdtype(dtype, np.floating)
        feeds[value.name] = (rng.random(sizes) if is_real else rng.integers(0, 2, sizes)).astype(dtype)
    return feeds


class Model:
    """A model, what each of its tensors is computed from, and their values in one run."""

    def __init__(self, path):
        self.path = path
        self.proto = onnx.shape_inference.infer_shapes(onnx.load(path))
        graph = self.proto.graph
        weights = {tensor.name for tensor in graph.initializer}
        self.inputs = [value.name for value in graph.input if value.name not in weights]
        self.extractor = onnx.utils.Extractor(self.proto)
        self.maker = {out: node for node in graph.node for out in node.output if out}
        self.before = {name: set() for name in self.inputs}  # tensors and inputs that a tensor needs; none: a constant
        for node in graph.node:
            needed = set()
            for name in node.input:
                if name in self.before:
                    needed |= {name} | self.before[name]
            for out in node.output:
                if out and needed:
                    self.before[out] = needed
        typed = self.extractor.value_infos
        self.tensors = [name for name in self.maker if name in self.before and name in typed and
                        typed[name].type.tensor_type.HasField("shape")]
        self.values = {}

    def run(self, folder):
        """Gives the tensors the values of one run; false where the model does not run."""
        whole = onnx.ModelProto()
        whole.CopyFrom(self.proto)
        del whole.graph.output[:]
        whole.graph.output.extend(self.extractor.value_infos[name] for name in self.tensors)
        path = folder / "whole.onnx"
        onnx.save(whole, path)
        self.values = feeds_of(self.proto, np.random.default_rng(1))
        try:
            results = session(str(path)).run(None, self.values)
        except Exception as fault:  # the runtime has no kernel for it, or sizes that were made up do not fit
            print(f"{self.path.name}: does not run: {str(fault)[:100]}")
            return False
        self.values.update(zip(self.tensors, results))
        return True

    def choose(self, rng):
        """Tensors to begin at, and to end at, none of them both."""
        to = rng.sample(self.tensors, min(rng.choice((1, 1, 2, 3)), len(self.tensors)))
        earlier = [name for name in self.tensors if any(name in self.before[end] for end in to)]
        some = earlier if earlier and rng.random() < 0.8 else self.tensors
        begin = [name for name in rng.sample(some, min(rng.choice((1, 2, 3)), len(some))) if name not in to]
        return begin, to

    def needed(self, begin, to):
        """What the outputs need without what the inputs need: tensors that are made, and the model's inputs that are read."""
        made, read, todo = set(), set(), list(to)
        while todo:
            name = todo.pop()
            if name in read:
                continue
            read.add(name)
            if name in begin or name not in self.maker:
                continue
            made.update(out for out in self.maker[name].output if out)
            todo += [one for one in self.maker[name].input if one]
        return made, read

    def is_refused(self, begin, to):
        made, read = self.needed(begin, to)
        return any(name in made or (name not in read and any(end in self.before[name] for end in to)) for name in begin)


def shape_of(model):
    """Inputs, outputs and nodes, as far as the two writers must agree."""
    graph = model.graph
    return ([value.name for value in graph.input], [value.name for value in graph.output],
            Counter((node.op_type, tuple(node.input), tuple(node.output)) for node in graph.node))


def compare(model, choice, cleave, folder):
    """What is wrong with the piece of one choice; None if nothing is. Second: whether it was refused."""
    begin, to = choice
    path = folder / "piece.onnx"
    path.unlink(missing_ok=True)
    names = [word for name in begin for word in ("--from", name)] + [word for name in to for word in ("--to", name)]
    run = subprocess.run([cleave, "cut", model.path, *names, "-o", path], capture_output=True, text=True)
    if model.is_refused(begin, to):
        return None if run.returncode == 3 and not path.exists() else f"exit {run.returncode}, not 3", True
    if run.returncode != 0:
        return f"exit {run.returncode}: {run.stderr}", False
    _, read = model.needed(begin, to)
    inputs = begin + [name for name in model.inputs if name in read]
    theirs = model.extractor.extract_model(inputs, to)
    ours = onnx.load(path)
    if shape_of(ours) != shape_of(theirs):
        return f"{shape_of(ours)[:2]} against {shape_of(theirs)[:2]}", False
    onnx.checker.check_model(ours)
    feeds = {name: model.values[name] for name in inputs}
    for name, one, other in zip(to, session(str(path)).run(None, feeds), session(theirs.SerializeToString()).run(None, feeds)):
        if one.tobytes() != other.tobytes():
            return f"{name} is another value", False
    return None, False


def agree(cleave, folders, folder):
    """Compares choices in all models; the number of faults."""
    models = []
    for path in sorted(path for one in folders for path in Path(one).rglob("*.onnx")):
        proto = onnx.load(path, load_external_data=False)
        if has_bodies(proto) or len(proto.graph.node) > MOST_NODES or len(models) == MOST_MODELS:
            continue
        model = Model(path)
        if len(model.tensors) > 3 and model.run(folder):
            models.append(model)
    rng = random.Random(1)
    wrong = refused = done = 0
    while models and done < CHOICES:
        model = models[done % len(models)]
        choice = model.choose(rng)
        if not choice[0]:
            continue
        done += 1
        fault, is_refused = compare(model, choice, cleave, folder)
        refused += is_refused
        if fault:
            wrong += 1
            print(f"{model.path.name} {choice}: {fault}")
    print(f"{done} choices in {len(models)} models: {wrong} wrong, {refused} refused rightly")
    return wrong + (not models) + (2 * refused > done)


CONTEXTS = """<ir_version: 9, opset_import: ["" : 17, "com.microsoft" : 1]>
g (float[1, 4] x) => (float[1, 4] out) {
  c = Relu (x)
  [one] d = com.microsoft.EPContext <embed_mode = 0, ep_cache_context = "ctx/one.bin", main_context = 1, source = "QNN"> (c)
  y = Softmax (d)
  [two] z = com.microsoft.EPContext <embed_mode = 0, main_context = 0, source = "QNN"> (y)
  [own] u = com.microsoft.EPContext <embed_mode = 0, ep_cache_context = "lost.bin", source = "other"> (z)
  [in] v = com.microsoft.EPContext <embed_mode = 1, ep_cache_context = "no file"> (u)
  out = Relu (v)
}"""


def contexts(cleave, folder):
    """Files that EPContext nodes name are where the written nodes look for them; the number of faults."""
    inside = folder / "model"
    (inside / "ctx").mkdir(parents=True)
    (inside / "ctx" / "one.bin").write_bytes(b"compiled")
    proto = onnx.parser.parse_model(CONTEXTS)
    for node in proto.graph.node:  # the provider gives types; no schema is known here
        proto.graph.value_info.extend(onnx.helper.make_tensor_value_info(name, 1, [1, 4]) for name in node.output if name != "out")
    onnx.save(proto, inside / "m.onnx")
    (folder / "list.txt").write_text("Relu\nSoftmax\n")
    (folder / "out").mkdir()
    faults = []

    def expect(holds, what):
        if not holds:
            faults.append(what)

    def run(*words, code=0):
        got = subprocess.run([cleave, *words], capture_output=True, text=True, cwd=folder)
        expect(got.returncode == code, f"{words}: exit {got.returncode}, not {code}: {got.stderr}")
        return got.stderr

    def has_file(where):
        at = folder / where / "ctx" / "one.bin"
        return at.exists() and at.read_bytes() == b"compiled" and not (folder / where / "lost.bin").exists()

    told = run("split", "model/m.onnx", "-s", "list.txt", "-o", "split")
    expect("\"lost.bin\" cannot be opened" in told and "one.bin" not in told, f"what split says: {told}")
    expect(has_file("split"), "split: no context")
    parts = [onnx.load(path) for path in (folder / "split").glob("_run*.onnx")]
    whole = [{"one", "two"} <= {node.name for node in part.graph.node} for part in parts]
    expect(whole.count(True) == 1, "split: nodes of one context in several files")
    run("split", "model/m.onnx", "-s", "list.txt", "-o", "split", "--force")
    expect(has_file("split"), "split --force: no context")
    told = run("stage", "model/m.onnx", "--stages", "2", "-o", "stage")
    expect(has_file("stage"), f"stage: no context: {told}")
    run("cut", "model/m.onnx", "--from", "c", "--to", "d", "-o", "out/first.onnx")
    expect(has_file("out"), "cut: no context")
    run("cut", "model/m.onnx", "--to", "y", "-o", "out/second.onnx")  # the same file is there already
    run("cut", "model/m.onnx", "--to", "c", "-o", "model/beside.onnx")
    run("cut", "model/m.onnx", "--to", "d", "-o", "model/beside_one.onnx")
    (folder / "out" / "ctx" / "one.bin").write_bytes(b"another")
    run("cut", "model/m.onnx", "--to", "y", "-o", "out/third.onnx", code=4)
    expect(not (folder / "out" / "third.onnx").exists(), "cut: a half-written set")
    run("cut", "model/m.onnx", "--to", "y", "-o", "out/third.onnx", "--force")
    expect(has_file("out"), "cut --force: no context")
    told = run("cut", "model/m.onnx", "--from", "y", "--to", "z", "-o", "out/alone.onnx", code=3)
    expect('"two" runs in the compiled context of "one"' in told, f"what cut says: {told}")
    (folder / "fixed").mkdir()
    run("convert", "model/m.onnx", "-s", "list.txt", "-o", "fixed/m.onnx")
    expect(has_file("fixed"), "convert: no context")
    (inside / "ctx" / "one.bin").unlink()
    (inside / "ctx" / "one.bin").symlink_to(folder / "out" / "ctx" / "one.bin")
    told = run("cut", "model/m.onnx", "--to", "d", "-o", "fixed/away.onnx")
    expect("leads out of the model's folder" in told, f"a link: {told}")
    for fault in faults:
        print(fault)
    return len(faults)


def untyped(cleave, folder):
    """An input of unknown type, which no runtime loads, is refused by its name; the number of faults."""
    text = '<ir_version: 9, opset_import: ["" : 17, "own" : 1]> g (float[4] x) => (float[4] y) { t = own.Op (x) u = Neg (t) y = Relu (u) }'
    onnx.save(onnx.parser.parse_model(text), folder / "untyped.onnx")
    (folder / "neg.txt").write_text("Neg_1\n")
    wrong = 0
    for piece in (["--from", "t", "--to", "y"], ["--from", "t"], ["--nodes", folder / "neg.txt"]):
        run = subprocess.run([cleave, "cut", folder / "untyped.onnx", *piece, "-o", folder / "none.onnx"], capture_output=True, text=True)
        if run.returncode != 3 or 'read "t", whose type is not known' not in run.stderr or (folder / "none.onnx").exists():
            print(f"{piece}: exit {run.returncode}: {run.stderr}")
            wrong += 1
    return wrong


def main():
    folders = [Path(sys.argv[1]) / "samples", *sys.argv[3:]]
    cleave = Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        sys.exit(agree(cleave, folders, at) + contexts(cleave, at) + untyped(cleave, at) > 0)


if __name__ == "__main__":
    main()
