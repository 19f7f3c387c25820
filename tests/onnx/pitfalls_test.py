#!/usr/bin/env python3
"""Tests the result of cleave for each pitfall of the ONNX format.

usage: pitfalls_test.py CLEAVE       exit status 1 if a result is not the expected one

pitfall_models.py makes the models. Each is split by the operators named here. A model that is not
valid is refused with the words here. Every other one passes `cleave verify`: the split makes the same
bits as the original, as root.onnx and as a chain of partitions, and ONNX's checker accepts the files;
except the four that ONNX Runtime itself cannot run. Further tests of a model are in its function.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "scripts")]
import onnx_chain
import pitfall_models
from ort_inputs import CannotRun
from ort_values import UNOPTIMISED, Value, run_model

REFUSED = {
    "33_cycle_invalid": "the nodes form a cycle: node 0 (Add) -> node 1 (Relu) -> node 0 (Add)",
    "43_domain_not_imported": 'is of domain "com.microsoft", of which no opset is imported',
    "55_duplicate_initializer_invalid": 'two initializers or inputs are called "w"',
    "56_ssa_violation_invalid": 'node 1 (Neg) makes "t", which node 0 (Relu) makes too',
    "57_dangling_input_invalid": 'node 0 (Add) reads "nowhere", which nothing produces',
}
# The original does not load in ONNX Runtime; 50 only where the machine has no locale en_US.
NOT_RUN = {
    "05_branch_returns_captured", "08_subgraph_shadows_outer_name", "19_duplicate_node_names",
    "41_domain_unknown", "50_string_tensor",
}

# Operators that the accelerator takes, and options; Relu where a model is not named.
SUPPORT = {
    "02_loop_capture": "Relu Neg", "03_scan_capture": "ReduceSum", "04_nested_capture": "Exp Neg",
    "05_branch_returns_captured": "Relu Neg", "09_name_in_subgraph_then_outer_later": "Add",
    "10_init_also_input_ir3": "Add", "11_init_also_input_ir8": "Add",
    "22_nodes_without_inputs": "Add", "23_constant_attr_forms": "Add",
    "24_optional_io_empty": "Clip Resize",
    "29_local_function_present": "user::MyBlock", "30_local_function_with_attr": "user::Leaky",
    "38_shape_chain": "Relu Neg", "39_domain_ml": "Relu",
    "44_duplicate_small_constants": "Mul", "45_shared_constant_many_users": "Mul",
    "46_identity_of_initializer": "Mul", "47_const_must_stay_const": "Resize",
    "48_sequence_crossing": "SequenceConstruct Relu", "49_optional_crossing": "Optional Relu",
    "50_string_tensor": "StringNormalizer", "51_multi_output_crossing": "Split Neg",
    "52_acyclic_merge_trap": "Conv Add", "53_initializer_external": "Add",
    "54_typed_data_fields": "Add", "60_opset18_reduce_axes_input": "ReduceMean",
}
CROSSING = ["--allow-non-tensor", "--skip-fusion"]
OPTIONS = {"48_sequence_crossing": CROSSING, "49_optional_crossing": CROSSING}


class Wrong(Exception):
    """A result is not the expected one."""


def same(found, wanted):
    if found != wanted:
        raise Wrong(f"{found!r} where {wanted!r} is wanted")


def holds(condition, what):
    if not condition:
        raise Wrong(what)


class Split:
    """A model, the command that split it, and its output."""

    def __init__(self, cleave, path, folder):
        name = path.stem
        self.path, self.folder = path, folder / name
        support = folder / f"{name}.txt"
        support.write_text("\n".join(SUPPORT.get(name, "Relu").split()) + "\n")
        command = [cleave, "split", path, "-s", support, "-o", self.folder, *OPTIONS.get(name, [])]
        result = subprocess.run(command, capture_output=True, text=True)
        self.status, self.messages = result.returncode, result.stderr
        if self.status == 0:
            self.manifest = json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))
            self.parts = self.manifest["partitions"]
            self.root = self.read("root")
            self.files = [self.read(part["name"]) for part in self.parts]

    def read(self, name):
        return onnx.load(self.folder / f"{name}.onnx", load_external_data=False)

    def flow(self):
        """Nodes, inputs and outputs of each partition, as one line."""
        lines = []
        for part in self.parts:
            inputs, outputs = (
                " ".join(value["name"] for value in part[side]) for side in ("inputs", "outputs")
            )
            lines.append(f"{' '.join(part['nodes'])}: {inputs} -> {outputs}")
        return lines

    def shape(self, name):
        """The shape of a value that crosses, as in the manifest."""
        return next(v["shape"] for p in self.parts for v in p["inputs"] + p["outputs"] if v["name"] == name)

    def notes(self):
        return "\n".join(self.manifest["notes"] + [h for p in self.parts for h in p["hazards"]])

    def runs(self, feeds):
        """The outputs of root.onnx for these arrays by name."""
        values = {name: Value.of_array(np.asarray(array)) for name, array in feeds.items()}
        made = run_model(self.folder / "root.onnx", UNOPTIMISED, values)
        return {name: value.plain().tolist() for name, value in made.items()}


def names(values):
    return [value.name for value in values]


def ops(nodes):
    return [node.op_type for node in nodes]


# ---- what holds beyond equal outputs, by number ----


def check_01(s):
    same(s.flow(), ["r: x -> t", "if n: c t x -> y"])
    same(sorted(s.parts[1]["parameters"]), ["w", "w2"])


def check_02(s):
    same(s.flow(), ["r: x -> t", "loop: n x t -> z s", "n: z -> y"])


def check_03(s):
    same(s.flow(), ["rs: x -> b", "scan: b x -> y f"])


def check_04(s):
    same(s.flow(), ["Exp_0: x -> deep", "If_1: c x c2 deep -> z", "Neg_2: z -> y"])
    same(s.parts[1]["parameters"], ["w"])


def check_05(s):
    holds('returns "t", which is made outside it: runtimes refuse that' in s.messages, s.messages)


def check_06(s):
    same([part["parameters"] for part in s.parts], [[] for _ in s.parts])
    same([names(m.graph.initializer) for m in [s.root, *s.files]], [[]] * (1 + len(s.files)))


def check_07(s):
    same(s.flow(), ["If_0 Neg_1: c x -> y"])


def check_08(s):
    holds('hides' in s.messages and "warning" in s.messages, s.messages)


def check_09(s):
    same(s.flow(), ["If_0 Exp_1: c x -> z late", "Add_2: z late -> y"])


def check_10(s):
    same(names(s.root.graph.input), ["x"])
    same(names(s.files[0].graph.input), ["x"])
    same(names(s.files[0].graph.initializer), ["w"])
    holds(s.root.ir_version >= 8 and s.files[0].ir_version >= 4, "an IR version where weights are inputs")


def check_11(s):
    holds("so that a caller may override them, are taken as constants" in s.messages, s.messages)
    same(names(s.root.graph.input), ["x", "w"])
    x = np.zeros((2, 3), np.float32)
    same(s.runs({"x": x})["y"], [[0, 1, 2], [3, 4, 5]])
    same(s.runs({"x": x, "w": x + 7})["y"], [[7, 7, 7], [7, 7, 7]])


def check_12(s):
    same(s.flow(), ["Relu_0: x -> y"])
    same(names(s.root.graph.output), ["y", "x"])


def check_13(s):
    same(s.flow(), ["Relu_0: x -> y"])
    same(s.runs({"x": np.zeros((2, 3), np.float32)})["w"], [[0, 1, 2], [3, 4, 5]])


def check_14(s):
    same(s.flow(), ["Relu_0: x -> y"])
    same(names(s.root.graph.output), ["y", "y"])


def check_15(s):
    same(s.flow(), ["Relu_0: x -> t", "Neg_1: t -> y"])
    same(names(s.root.graph.output), ["t", "y"])


def check_16(s):
    same(names(s.root.graph.input), ["x", "q"])
    same(s.flow(), ["Relu_0: x -> y"])
    same(s.parts[0]["parameters"], [])


def check_17(s):
    same(s.flow(), ["dead1 dead2: x -> ", "live: x -> y"])
    same(ops(s.root.graph.node), ["_run_on_acc_1"])
    holds('"_run_on_cpu_0" has no outputs: it is not in root.onnx' in s.notes(), s.notes())


def check_18(s):
    same(s.flow(), ["Relu_0: x -> t", "Neg_1 Abs_2: t -> y"])
    holds("3 nodes of the file without a name" in s.notes(), s.notes())


def check_19(s):
    same(s.flow(), ["n: x -> t", "n_1 n_2: t -> y"])
    holds('2 nodes with a name that is already used are called <name>_<index>' in s.notes(), s.notes())
    same(s.runs({"x": np.array([[-1, 2, -3], [4, 5, 6]], np.float32)})["y"], [[0, 2, 0], [4, 5, 6]])


def check_20(s):
    same(s.flow(), ['nœud "1"\n/..: x -> a b/c:0"\\é', 'Neg_1: a b/c:0"\\é -> y'])
    same(s.files[0].graph.node[0].name, 'nœud "1"\n/..')


def check_21(s):
    same(s.manifest["node_map"], {"x": "_run_on_acc_0", "y": "_run_on_cpu_1"})


def check_22(s):
    same(s.manifest["constants"], ["Constant_0"])
    same(sum(ops(m.graph.node).count("RandomUniform") for m in s.files), 1)


def check_23(s):
    same(s.manifest["constants"], ["Constant_0", "Constant_1", "Constant_2"])
    same(s.flow(), ["Mul_3: x -> a", "Add_4: a -> b", "Reshape_5: b -> y"])
    same(s.shape("y"), [3, 2])


def check_24(s):
    same(s.flow(), ["Clip_0 Resize_2: x r4 -> t u", "Dropout_1 Add_3: t -> y"])
    same(s.parts[0]["parameter_bytes"], 36)


def check_25(s):
    same(s.parts[0]["parameters"], ["w"])
    same(s.files[0].graph.sparse_initializer[0].values.name, "w")


def check_26(s):
    same(s.manifest["constants"], ["Constant_0"])
    same(s.flow(), ["Add_1: x -> t", "Relu_2: t -> y"])


def check_27(s):
    for file in [s.root, *s.files]:
        same([a.tensor_name for a in file.graph.quantization_annotation], ["t"])
        same(sorted(names(file.graph.initializer)), ["t_scale", "t_zp"])


def check_28(s):
    def props(message):
        return {prop.key: prop.value for prop in message.metadata_props}

    for file in [s.root, *s.files]:
        same(props(file)["author"], "pitfalls")
    same(props(s.root.graph)["device"], "acc")
    for node in (s.files[0].graph.node[0], s.root.functions[0].node[0]):
        same((props(node)["device"], node.op_type), ("acc", "Relu"))


def check_29(s):
    holds("MyBlock" in names(s.root.functions), "the model's function is not in root.onnx")
    same([names(m.functions) for m in s.files], [["MyBlock"], []])
    same(s.shape("t"), [2, 3])


def check_30(s):
    holds("Leaky" in names(s.root.functions), "the model's function is not in root.onnx")
    same(s.shape("t"), [2, 3])


def check_31(s):
    same([len(m.training_info) for m in [s.root, *s.files]], [1, 0, 0])


def check_32(s):
    holds("the nodes are not in topological order" in s.messages, s.messages)
    same(s.flow(), ["first: x -> t", "second: t -> y"])


def check_34(s):
    for file in [s.root, *s.files]:
        for value in [*file.graph.input, *file.graph.output]:
            same((value.type.tensor_type.elem_type, value.type.tensor_type.HasField("shape")), (1, False))
    holds('reads "t", whose rank is not known' in s.notes(), s.notes())


def check_35(s):
    same(s.shape("t"), ["B", "T", "S"])
    dims = s.files[1].graph.input[0].type.tensor_type.shape.dim
    same([dim.dim_param for dim in dims], ["B", "T", "S"])


def check_36(s):
    same(s.shape("t"), [2, 3])
    same((s.parts[0]["parameters"], s.parts[0]["parameter_bytes"]), (["e"], 0))


def check_37(s):
    same(s.shape("t"), [None, 2])
    holds('the bytes of "t" float32[?, 2] are not known' in s.notes(), s.notes())


def check_38(s):
    same(s.shape("r"), ["B", 6])
    same([part["parameters"] for part in s.parts][1], ["i0", "ax", "m1"])


def check_39(s):
    same(s.shape("t"), [2, 3])
    same({o.domain: o.version for o in s.files[0].opset_import}, {"": 17, "ai.onnx.ml": 3})


def check_40(s):
    same(s.shape("t"), [2, 3])
    same(s.files[0].graph.node[0].domain, "com.microsoft")


def check_41(s):
    same((s.files[0].graph.node[0].domain, s.files[0].graph.node[0].op_type), ("acme", "MyOp"))
    holds(not s.files[0].graph.output[0].HasField("type"), "a type for what nobody knows")
    holds('gives "t", whose type is not known' in s.notes(), s.notes())


def check_42(s):
    same(s.flow(), ["Relu_0: x -> t", "Neg_1: t -> y"])
    same({o.domain for o in s.root.opset_import}, {"", "cleave"})


def check_44(s):
    same(s.flow(), ["Identity_0: x -> t0", "Mul_2 Mul_4 Mul_6 Mul_8 Mul_10 Mul_12: t0 -> t6",
                    "Neg_13: t6 -> y"])


def check_45(s):
    same(len(s.parts), 12)
    for part, file in zip(s.parts, s.files):
        same(len(part["inputs"]), 1)
        same(ops(file.graph.node), ["Constant", "Mul"] if part["is_acc"] else ["Neg"])


def check_46(s):
    same(s.flow(), ["Add_1: x -> t", "Mul_2: t -> y"])
    same([part["parameters"] for part in s.parts], [["w"], ["w"]])


def check_47(s):
    same(s.flow(), ["Relu_2: x -> t", "Resize_4: t -> y"])
    same(ops(s.files[1].graph.node), ["Constant", "Constant", "Constant", "Resize"])


def check_48(s):
    same(s.flow(), ["SequenceConstruct_0: x -> s", "ConcatFromSequence_1: s -> t", "Relu_2: t -> y"])
    same([v["type"] for v in s.parts[1]["inputs"]], ["sequence"])


def check_49(s):
    same(s.flow(), ["Optional_0: x -> o", "OptionalGetElement_1: o -> t", "Relu_2: t -> y"])
    same([v["type"] for v in s.parts[1]["inputs"]], ["optional"])


def check_50(s):
    same([v["bytes"] for v in s.parts[0]["inputs"]], [None])
    holds('the bytes of "s" string[2] are not known' in s.notes(), s.notes())


def check_51(s):
    same(s.flow(), ["Split_0 Neg_2: x -> a b nc", "Relu_1 Concat_3: a b nc -> y"])


def check_52(s):
    same(s.flow(), ["acc1 acc2: x -> a c", "cpu1: a -> b", "acc3: b c -> y"])


def check_53(s):
    same(s.parts[0]["parameter_bytes"], 24)
    same(s.runs({"x": np.zeros((2, 3), np.float32)})["y"], [[0, 1, 2], [3, 4, 5]])


def check_54(s):
    same((s.parts[0]["parameters"], s.parts[0]["parameter_bytes"]), (["w", "h"], 36))
    same(s.manifest["constants"], ["Cast_0"])


def check_58(s):
    same(s.parts, [])
    same(s.runs({"x": np.ones((2, 3), np.float32)})["x"], [[1, 1, 1], [1, 1, 1]])


def check_59(s):
    holds(not s.root.graph.output[0].HasField("type"), "a type that the model does not have")
    same([len(v.type.tensor_type.shape.dim) for v in s.files[1].graph.output], [2])


def check_60(s):
    same(s.shape("t"), [2])


# ---- one model, and all ----


def check_refused(split, words):
    same(split.status, 3)
    holds(f"{split.path}: error: " in split.messages and words in split.messages, split.messages)
    holds(not split.folder.exists(), "a folder, though the model was refused")


def check_equal(split, name):
    """Compares bit for bit in ONNX Runtime, unless the original is known not to run."""
    try:
        verdict = onnx_chain.check_split(split.path, split.folder)
    except CannotRun as error:
        holds(name in NOT_RUN, str(error))
        return
    holds(verdict.passed, "\n".join(verdict.lines()))


def check_model(cleave, path, folder):
    name = path.stem
    split = Split(cleave, path, folder)
    if name in REFUSED:
        check_refused(split, REFUSED[name])
        return
    holds(split.status == 0, split.messages)
    check_equal(split, name)
    globals()[f"check_{name[:2]}"](split)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "models").mkdir()
        paths = pitfall_models.make_all(folder / "models")
        for path in paths:
            try:
                check_model(Path(sys.argv[1]).resolve(), path, folder)
            except Wrong as error:
                failed += 1
                print(f"{path.stem}: {error}")
    print(f"{len(paths)} pitfalls, {failed} not as stated")
    sys.exit(1 if failed or len(paths) != 60 else 0)


if __name__ == "__main__":
    main()
