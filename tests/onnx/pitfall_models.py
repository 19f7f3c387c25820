"""Makes a minimal ONNX model for each pitfall of the format.

usage: pitfall_models.py FOLDER        writes NN_name.onnx, 01 to 60, and the data of 53

Most are written in ONNX's text format; fields that it does not have are added to the message. Models whose
names end in `_invalid`, and 08 and 43, are not valid: cleave must refuse them.
"""

import struct
import sys
from pathlib import Path

from onnx import TensorProto, helper, parser

X23 = "float[2,3] x"
Y23 = "float[2,3] y"
W23 = "float[2,3] w = {0, 1, 2, 3, 4, 5}"

# name -> (signature and initializers, nodes, functions): the head is added.
TEXTS = {}
# name -> (IR version, opset imports), where they are not 8 and opset 17.
HEADS = {
    "10_init_also_input_ir3": (3, {"": 9}),
    "28_metadata_props": (10, {"": 21}),
    "29_local_function_present": (8, {"": 17, "user": 1}),
    "30_local_function_with_attr": (8, {"": 17, "user": 1}),
    "39_domain_ml": (8, {"": 17, "ai.onnx.ml": 3}),
    "40_domain_microsoft": (8, {"": 17, "com.microsoft": 1}),
    "41_domain_unknown": (8, {"": 17, "acme": 1}),
    "42_domain_alias_ai_onnx": (8, {"ai.onnx": 17}),
    "47_const_must_stay_const": (6, {"": 11}),
    "60_opset18_reduce_axes_input": (8, {"": 18}),
}


def model(name, signature, nodes, functions=""):
    TEXTS[name] = (signature, nodes, functions)


def simple(name, nodes, weights="", inputs=X23, outputs=Y23):
    model(name, f"({inputs}) => ({outputs})" + (f" <{weights}>" if weights else ""), nodes)


# ---- bodies ----

simple("01_if_capture", """
  [r] t = Relu (x)
  [if] z = If (c) <then_branch = then () => (float[2,3] th) { th = Add (t, w) },
                   else_branch = other () => (float[2,3] el) { el = Sub (x, w2) }>
  [n] y = Neg (z)""", f"{W23}, float[2,3] w2 = {{1, 2, 3, 4, 5, 6}}", f"{X23}, bool c")
simple("02_loop_capture", """
  [r] t = Relu (x)
  [loop] z, s = Loop (n, , x) <body = body (int64 i, bool ci, float[2,3] acc) =>
      (bool co, float[2,3] a2, float[2,3] scan) {
    co = Identity (ci)
    a1 = Add (acc, t)
    a2 = Mul (a1, w)
    scan = Identity (a2)
  }>
  [n] y = Neg (z)""", W23, f"{X23}, int64 n", f"{Y23}, float[n,2,3] s")
simple("03_scan_capture", """
  [rs] b = ReduceSum <keepdims = 0> (x, ax)
  [scan] f, y = Scan <num_scan_inputs = 1, body = sb (float[3] st, float[3] e) =>
      (float[3] s2, float[3] o) {
    s1 = Add (st, e)
    s2 = Add (s1, b)
    o = Identity (s2)
  }> (b, x)""", "int64[1] ax = {0}", X23, f"{Y23}, float[3] f")
simple("04_nested_capture", """
  deep = Exp (x)
  z = If (c) <then_branch = mt () => (float[2,3] mo) {
    mid = Abs (x)
    mo = If (c2) <then_branch = it () => (float[2,3] it) { it = Add (deep, w) },
                  else_branch = ie () => (float[2,3] ie) { ie = Identity (mid) }>
  }, else_branch = me () => (float[2,3] me) { me = Identity (x) }>
  y = Neg (z)""", W23, f"{X23}, bool c, bool c2")
simple("05_branch_returns_captured", """
  t = Relu (x)
  z = If (c) <then_branch = then () => (float[2,3] t) {},
              else_branch = other () => (float[2,3] w) {}>
  y = Neg (z)""", W23, f"{X23}, bool c")
simple("06_subgraph_own_initializer", """
  z = If (c) <then_branch = then () => (float[2,3] th) <float[2,3] lw = {0, 1, 2, 3, 4, 5}> {
    th = Add (x, lw)
  }, else_branch = other () => (float[2,3] el) {
    lw2 = Constant <value = float[2,3] {5, 6, 7, 8, 9, 10}> ()
    el = Sub (x, lw2)
  }>
  y = Neg (z)""", "", f"{X23}, bool c")
BRANCHES = """
  z = If (c) <then_branch = b () => (float[2,3] out) {{ {then} = Neg (x) out = Abs ({then}) }},
              else_branch = b () => (float[2,3] out) {{ tmp = Exp (x) out = Abs (tmp) }}>"""
simple("07_sibling_branches_reuse_names", BRANCHES.format(then="tmp") + " y = Neg (z)", "",
       f"{X23}, bool c")
simple("08_subgraph_shadows_outer_name",
       "t = Relu (x)" + BRANCHES.format(then="t") + " y = Add (z, t)", "", f"{X23}, bool c")
simple("09_name_in_subgraph_then_outer_later",
       BRANCHES.format(then="late") + " late = Exp (z) y = Add (z, late)", "", f"{X23}, bool c")

# ---- inputs, initializers, outputs ----

for name in ("10_init_also_input_ir3", "11_init_also_input_ir8"):
    simple(name, "t = Add (x, w) y = Relu (t)", W23, f"{X23}, float[2,3] w")
simple("12_output_is_input", "y = Relu (x)", outputs=f"{Y23}, {X23}")
simple("13_output_is_initializer", "y = Relu (x)", W23, outputs=f"{Y23}, float[2,3] w")
simple("14_output_listed_twice", "y = Relu (x)", outputs=f"{Y23}, {Y23}")
simple("15_intermediate_is_output_too", "t = Relu (x) y = Neg (t)", outputs=f"float[2,3] t, {Y23}")
simple("16_unused_input_and_init", "y = Relu (x)", W23, f"{X23}, float[2,3] q")
simple("17_dead_nodes", "[live] y = Relu (x) [dead1] dead = Exp (x) [dead2] dead2 = Abs (dead)")

# ---- names ----

CHAIN = "t = Relu (x) {}u = Neg (t) {}y = Abs (u)"
simple("18_unnamed_nodes", CHAIN.format("", ""))
simple("19_duplicate_node_names", "[n] " + CHAIN.format("[n] ", "[n] "))
simple("20_odd_names", "t = Relu (x) y = Neg (t)")
simple("21_node_name_equals_value_name", "[x] y0 = Relu (x) [y] y = Neg (y0)")

# ---- constants ----

simple("22_nodes_without_inputs", """
  k = Constant <value = float[2,3] {0, 1, 2, 3, 4, 5}> ()
  r = RandomUniform <shape = [2, 3], seed = 1.0> ()
  t = Add (x, k)
  u = Add (t, r)
  y = Sub (u, r)""")
simple("23_constant_attr_forms", """
  f = Constant <value_float = 2.0> ()
  fs = Constant <value_floats = [1.0, 2.0, 3.0]> ()
  is = Constant <value_ints = [3, 2]> ()
  a = Mul (x, f)
  b = Add (a, fs)
  y = Reshape (b, is)""", outputs="float[3,2] y")
simple("24_optional_io_empty", """
  t = Clip (x, , mx)
  d, no_mask = Dropout (t)
  u = Resize <mode = "nearest"> (r4, , , sz)
  y = Add (d, c0)""", "float mx = {2}, int64[4] sz = {1, 1, 4, 4}, float c0 = {1}",
       f"{X23}, float[1,1,2,2] r4", f"{Y23}, float[1,1,4,4] u")
simple("25_sparse_initializer", "t = Add (x, w) y = Relu (t)", W23)
simple("26_constant_sparse_value", "w = Constant () t = Add (x, w) y = Relu (t)")

# ---- what else a file holds ----

simple("27_quantization_annotation", "t = Relu (x) y = Neg (t)", "float t_scale = {0.1}, uint8 t_zp = {0}")
simple("28_metadata_props", "t = Relu (x) y = Neg (t)")
model("29_local_function_present", f"({X23}) => ({Y23}) <{W23}>",
      "[blk] t = user.MyBlock (x, w) y = Neg (t)",
      '<domain: "user", opset_import: ["" : 17]> MyBlock (a, b) => (c) { s = Add (a, b) c = Relu (s) }')
model("30_local_function_with_attr", f"({X23}) => ({Y23})",
      "t = user.Leaky <alpha = 0.3> (x) y = Neg (t)",
      '<domain: "user", opset_import: ["" : 17]> Leaky <alpha> (a) => (c) '
      "{ c = LeakyRelu <alpha : float = @alpha> (a) }")
simple("31_training_info", "t = Add (x, w) y = Relu (t)", W23)
simple("32_not_topological", "[second] y = Neg (t) [first] t = Relu (x)")
simple("33_cycle_invalid", "a = Add (x, b) b = Relu (a) y = Neg (b)")

# ---- types and shapes ----

simple("34_unknown_rank_input", "t = Relu (x) y = Neg (t)")
simple("35_symbolic_dims", "t = MatMul (a, b) y = Relu (t)", "",
       "float[B,T,4] a, float[B,4,S] b", "float[B,T,S] y")
simple("36_zero_dim", "t = Concat <axis = 0> (x, e) y = Relu (t)", "float[0,3] e = {}")
simple("37_data_dependent_shape",
       "nz = NonZero (x) tr = Transpose (nz) t = Cast <to = 1> (tr) y = Relu (t)",
       outputs="float[K,2] y")
simple("38_shape_chain", """
  t = Relu (x)
  s = Shape (t)
  d0 = Gather (s, i0)
  u0 = Unsqueeze (d0, ax)
  shp = Concat <axis = 0> (u0, m1)
  r = Reshape (t, shp)
  y = Neg (r)""", "int64 i0 = {0}, int64[1] ax = {0}, int64[1] m1 = {-1}", "float[B,2,3] x",
       "float[B,6] y")

# ---- domains ----

simple("39_domain_ml", 't = ai.onnx.ml.Normalizer <norm = "L2"> (x) y = Relu (t)')
for name in ("40_domain_microsoft", "43_domain_not_imported"):
    simple(name, "t = com.microsoft.Gelu (x) y = Relu (t)")
simple("41_domain_unknown", "t = acme.MyOp (x) y = Relu (t)")
simple("42_domain_alias_ai_onnx", "t = ai.onnx.Relu (x) y = Neg (t)")

# ---- constants that many read ----

simple("44_duplicate_small_constants",
       "t0 = Identity (x)"
       + "".join(f" k{i} = Constant <value = float {{2}}> () t{i + 1} = Mul (t{i}, k{i})" for i in range(6))
       + " y = Neg (t6)")
simple("45_shared_constant_many_users",
       "k = Constant <value = float {2}> () t0 = Mul (x, k)"
       + "".join(f" n{i} = Neg (t{i}) t{i + 1} = Mul (n{i}, k)" for i in range(5)) + " y = Neg (t5)")
simple("46_identity_of_initializer", "w2 = Identity (w) t = Add (x, w) y = Mul (t, w2)", W23)
simple("47_const_must_stay_const", """
  roi = Constant <value = float[0] {}> ()
  sc = Constant <value = float[0] {}> ()
  t = Relu (x)
  sz = Constant <value = int64[4] {1, 1, 4, 4}> ()
  y = Resize <mode = "nearest"> (t, roi, sc, sz)""", "", "float[1,1,2,2] x", "float[1,1,4,4] y")

# ---- what crosses ----

simple("48_sequence_crossing",
       "s = SequenceConstruct (x, x) t = ConcatFromSequence <axis = 0> (s) y = Relu (t)",
       outputs="float[4,3] y")
simple("49_optional_crossing", "o = Optional (x) t = OptionalGetElement (o) y = Relu (t)")
simple("50_string_tensor", 'y = StringNormalizer <case_change_action = "UPPER"> (s)', "",
       "string[2] s", "string[2] y")
simple("51_multi_output_crossing", """
  a, b, c, d = Split <axis = 1> (x)
  ra = Relu (a)
  nc = Neg (c)
  y = Concat <axis = 1> (ra, b, nc)""", "", "float[2,8] x", "float[2,6] y")
simple("52_acyclic_merge_trap", """
  [acc1] a = Conv (x, k)
  [cpu1] b = Softmax (a)
  [acc2] c = Conv (a, k2)
  [acc3] y = Add (b, c)""", "float[1,1,1,1] k = {2}, float[1,1,1,1] k2 = {3}", "float[1,1,4,4] x",
       "float[1,1,4,4] y")

# ---- data of tensors, and what is not valid ----

simple("53_initializer_external", "t = Add (x, w) y = Relu (t)", W23)
simple("54_typed_data_fields", "hf = Cast <to = 1> (h) t = Add (x, w) y = Add (t, hf)",
       f"{W23}, float16[2,3] h = {{1, 1, 1, 1, 1, 1}}")
simple("55_duplicate_initializer_invalid", "y = Add (x, w)", W23)
simple("56_ssa_violation_invalid", "t = Relu (x) t = Neg (x) y = Abs (t)")
simple("57_dangling_input_invalid", "y = Add (x, nowhere)")
simple("58_no_nodes", "", outputs=X23)
simple("59_output_without_type", "t = Relu (x) y = Neg (t)")
simple("60_opset18_reduce_axes_input", "t = ReduceMean <keepdims = 0> (x, ax) y = Relu (t)",
       "int64[1] ax = {1}", outputs="float[2] y")

# ---- what the text cannot say ----


def sparse_tensor(name):
    """1 and 2 at places 1 and 4 of a 2x3 tensor."""
    values = helper.make_tensor(name, TensorProto.FLOAT, [2], [1.0, 2.0])
    return helper.make_sparse_tensor(values, helper.make_tensor("", TensorProto.INT64, [2], [1, 4]), [2, 3])


def add_props(to, key, value):
    to.add(key=key, value=value)


def edit_20(m):
    m.graph.node[0].name = 'nœud "1"\n/..'
    m.graph.node[0].output[0] = m.graph.node[1].input[0] = 'a b/c:0"\\é'


def edit_24(m):
    m.graph.node[1].output[1] = ""


def edit_25(m):
    del m.graph.initializer[:]
    m.graph.sparse_initializer.append(sparse_tensor("w"))


def edit_26(m):
    m.graph.node[0].attribute.append(helper.make_attribute("sparse_value", sparse_tensor("sv")))


def edit_27(m):
    annotation = m.graph.quantization_annotation.add(tensor_name="t")
    add_props(annotation.quant_parameter_tensor_names, "SCALE_TENSOR", "t_scale")
    add_props(annotation.quant_parameter_tensor_names, "ZERO_POINT_TENSOR", "t_zp")


def edit_28(m):
    add_props(m.metadata_props, "author", "pitfalls")
    add_props(m.graph.metadata_props, "device", "acc")
    add_props(m.graph.node[0].metadata_props, "device", "acc")


def edit_31(m):
    training = m.training_info.add()
    out = helper.make_tensor_value_info("w_new", TensorProto.FLOAT, [2, 3])
    identity = helper.make_node("Identity", ["w"], ["w_new"])
    training.algorithm.CopyFrom(helper.make_graph([identity], "alg", [], [out]))
    add_props(training.update_binding, "w", "w_new")


def edit_34(m):
    for value in [*m.graph.input, *m.graph.output]:
        value.type.tensor_type.ClearField("shape")


def edit_53(m):
    tensor = m.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "53_initializer_external.bin"), ("offset", "64"), ("length", "24")):
        add_props(tensor.external_data, key, value)


def edit_54(m):
    half = m.graph.initializer[1]
    half.CopyFrom(TensorProto(name="h", data_type=TensorProto.FLOAT16, dims=[2, 3],
                              int32_data=[0x3C00] * 6))


def edit_55(m):
    m.graph.initializer.append(m.graph.initializer[0])


def edit_59(m):
    m.graph.output[0].ClearField("type")


def make_model(name):
    signature, nodes, functions = TEXTS[name]
    ir_version, opsets = HEADS.get(name, (8, {"": 17}))
    imports = ", ".join(f'"{domain}" : {version}' for domain, version in opsets.items())
    head = f"<ir_version: {ir_version}, opset_import: [{imports}]>"
    made = parser.parse_model(f"{head}\ng {signature} {{ {nodes} }}\n{functions}")
    made.graph.name = name
    edit = globals().get(f"edit_{name[:2]}")
    if edit is not None:
        edit(made)
    return made


def make_all(folder):
    """Paths of the models, in order."""
    for name in TEXTS:
        (folder / f"{name}.onnx").write_bytes(make_model(name).SerializeToString())
    data = bytes(64) + struct.pack("<6f", *range(6))
    (folder / "53_initializer_external.bin").write_bytes(data)
    return [folder / f"{name}.onnx" for name in sorted(TEXTS)]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(f"{len(make_all(Path(sys.argv[1])))} models in {sys.argv[1]}")
