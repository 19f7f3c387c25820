#include "formats/onnx/write/writer.h"

#include "core/split/split.h"
#include "formats/lists/support_file.h"
#include "formats/models/models.h"
#include "tests/catch2.h"
#include "tests/formats/base/test_folder.h"
#include "tests/formats/onnx/read/onnx_text.h"

namespace cleave {

namespace {

// A model split by a list of op types, and what was written.
class Written {
 public:
  Written(const std::string& bytes, const std::string& ops, const OnnxWriteOptions& options = {},
          const ShapeBindings& bindings = {}) {
    auto model = read_model(folder_.with_file("m.onnx", bytes), bindings);
    if (!model) FAIL(format_diagnostic(model.error().front()));
    const std::vector<SupportList> lists = {parse_support("ops.txt", ops)->list};
    const Split split = *split_graph({model->graph, lists, op_facts(*model)}, {});
    auto out = OutputFolder::create(folder_.path("out"), false);
    REQUIRE(out);
    const std::vector<std::string> no_devices;
    const OnnxPieces pieces{.partition = split.partition,
                            .parts = split.boundaries,
                            .root = split.boundaries,
                            .devices = no_devices};
    auto written = write_onnx_split(*model, pieces, options, *out);
    if (!written) FAIL(format_diagnostic(written.error().faults.front()));
    notes = written->notes;
    REQUIRE(out->commit());
  }

  onnx::ModelProto model(const std::string& name) const {
    onnx::ModelProto model;
    REQUIRE(model.ParseFromString(folder_.content("out/" + name)));
    return model;
  }
  std::string bytes(const std::string& name) const { return folder_.content("out/" + name); }

  std::vector<std::string> notes;

 private:
  TestFolder folder_;
};

std::string model_text(const std::string& graph, const ModelEdit& edit = nullptr) {
  return onnx_bytes("<ir_version: 8, opset_import: [\"\" : 17]>\n" + graph, edit);
}

template <class Items>
std::string names_of(const Items& items) {
  std::string text;
  for (const auto& item : items) text += item.name() + " ";
  return text;
}

// "Relu(x) -> t; Add(t w) -> y; "
template <class Nodes>
std::string calls(const Nodes& nodes) {
  std::string text;
  for (const auto& node : nodes) {
    text += node.op_type() + "(";
    for (const auto& input : node.input()) text += (text.back() == '(' ? "" : " ") + input;
    text += ") ->";
    for (const auto& output : node.output()) text += " " + output;
    text += "; ";
  }
  return text;
}

const char* const kModel = R"(
g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1.5, 2}> {
  t = Relu (x)
  u = Add (t, w)
  y = Neg (u)
})";

TEST_CASE("A part is a complete model with its boundary and its weights") {
  const Written written(model_text(kModel), "Add\n");
  const onnx::ModelProto part = written.model("_run_on_acc_1.onnx");
  CHECK(names_of(part.graph().input()) == "t ");
  CHECK(names_of(part.graph().output()) == "u ");
  CHECK(names_of(part.graph().initializer()) == "w ");
  CHECK(calls(part.graph().node()) == "Add(t w) -> u; ");
  CHECK(part.graph().input(0).type().tensor_type().shape().dim(0).dim_param() == "N");
  CHECK(part.opset_import(0).version() == 17);
}

TEST_CASE("Types inside a part follow the dims that are bound, as its inputs do") {
  const std::string bytes = model_text(kModel, [](onnx::ModelProto& model) {
    auto& info = *model.mutable_graph()->add_value_info();
    info = model.graph().input(0);
    info.set_name("t");
  });
  const auto first_dim = [](const onnx::ValueInfoProto& info) {
    return info.type().tensor_type().shape().dim(0);
  };
  const onnx::ModelProto open = Written(bytes, "*\n").model("_run_on_acc_0.onnx");
  REQUIRE(open.graph().value_info_size() == 1);
  CHECK(first_dim(open.graph().value_info(0)).dim_param() == "N");
  const onnx::ModelProto bound =
      Written(bytes, "*\n", {}, {.dims = {{"N", 3}}, .inputs = {}}).model("_run_on_acc_0.onnx");
  REQUIRE(bound.graph().value_info_size() == 1);
  CHECK(first_dim(bound.graph().input(0)).dim_value() == 3);
  CHECK(first_dim(bound.graph().value_info(0)).dim_value() == 3);
}

TEST_CASE("The root calls each part once, as a function of the model") {
  const onnx::ModelProto root = Written(model_text(kModel), "Add\n").model("root.onnx");
  CHECK(names_of(root.graph().input()) == "x ");
  CHECK(names_of(root.graph().output()) == "y ");
  CHECK(names_of(root.functions()) == "_run_on_cpu_0 _run_on_acc_1 _run_on_cpu_2 ");
  REQUIRE(root.graph().node_size() == 3);
  CHECK(root.graph().node(1).op_type() == "_run_on_acc_1");
  CHECK(root.graph().node(1).output(0) == "u");
  CHECK(root.ir_version() >= 8);
}

// The calls in the root's function of a part that reads a weight w of that type and size.
std::string function_with(std::int32_t dtype, std::int64_t elements, std::size_t bytes) {
  const auto edit = [&](onnx::ModelProto& model) {
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(dtype);
    graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(dtype);
    onnx::TensorProto& w = *graph.mutable_initializer(0);
    w.Clear();
    w.set_name("w");
    w.set_data_type(dtype);
    w.add_dims(elements);
    w.set_raw_data(std::string(bytes, '\1'));
  };
  const char* const graph =
      "g (float[N] x) => (float[M] y) <float[1] w = {1}> { y = Concat <axis = 0> (x, w) }";
  const Written written(model_text(graph, edit), "*\n");
  return calls(written.model("root.onnx").functions(0).node());
}

TEST_CASE("A small weight is made inside the function that reads it, if a Constant can hold it") {
  using onnx::TensorProto;
  const std::string kInside = "Constant() -> w; Concat(x w) -> y; ", kGiven = "Concat(x w) -> y; ";
  CHECK(function_with(TensorProto::FLOAT, 1, 4) == kInside);
  CHECK(function_with(TensorProto::INT64, 1, 8) == kInside);
  // 1,024 bytes and one more, of which 11 are its name, type and dims.
  CHECK(function_with(TensorProto::UINT8, 1013, 1013) == kInside);
  CHECK(function_with(TensorProto::UINT8, 1014, 1014) == kGiven);
  // Opset 17 has constants of bfloat16, and none of the 8-bit floats.
  constexpr std::int32_t kFloat8 = 17;  // FLOAT8E4M3FN, which old protobuf files lack
  CHECK(function_with(TensorProto::BFLOAT16, 2, 4) == kInside);
  CHECK(function_with(kFloat8, 2, 2) == kGiven);
}

TEST_CASE("Weights that a caller may replace are inputs and initializers of the root") {
  const char* const graph =
      "g (float[2] x, float[2] v, float[2] unread) => (float[2] y) "
      "<float[2] w = {1, 2}, float[2] v = {3, 4}, float[2] unread = {5, 6}> {"
      " t = Add (x, w)  y = Mul (t, v) }";
  const onnx::ModelProto root = Written(model_text(graph), "*\n").model("root.onnx");
  CHECK(names_of(root.graph().input()) == "x v unread ");
  CHECK(names_of(root.graph().initializer()) == "v unread ");
  CHECK(calls(root.functions(0).node()) == "Constant() -> w; Add(x w) -> t; Mul(t v) -> y; ");
}

TEST_CASE("Weights of the root point into the files of the parts") {
  const std::string weights(8192, '\x5a');
  const auto with_weights = [&](onnx::ModelProto& model) {
    auto* w = model.mutable_graph()->mutable_initializer(0);
    w->set_dims(0, 2048);
    w->clear_float_data();
    w->set_raw_data(weights);
  };
  const char* const graph =
      "g (float[2048] x) => (float[2048] y) <float[2] w = {1, 2}> { t = Relu (x)  y = Add (t, w) }";
  const Written external(model_text(graph, with_weights), "Add\n");
  const onnx::ModelProto root = external.model("root.onnx");
  REQUIRE(root.graph().initializer_size() == 1);
  const onnx::TensorProto& w = root.graph().initializer(0);
  CHECK(w.data_location() == onnx::TensorProto::EXTERNAL);
  std::string location;
  std::size_t offset = 0, length = 0;
  for (const auto& entry : w.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = std::stoul(entry.value());
    if (entry.key() == "length") length = std::stoul(entry.value());
  }
  CHECK(location == "_run_on_acc_1.onnx");
  CHECK(external.bytes(location).substr(offset, length) == weights);

  const Written inlined(model_text(graph, with_weights), "Add\n",
                        {.root_weights = RootWeights::inlined});
  CHECK(inlined.model("root.onnx").graph().initializer(0).raw_data() == weights);
}

TEST_CASE("A part too large for one message keeps its weights in a file beside it") {
  const std::string weights(8192, '\x11');
  const Written written(
      model_text("g (float[2048] x) => (float[2048] y) <float[2] w = {1, 2}> { y = Add (x, w) }",
                 [&](onnx::ModelProto& model) {
                   auto* w = model.mutable_graph()->mutable_initializer(0);
                   w->set_dims(0, 2048);
                   w->clear_float_data();
                   w->set_raw_data(weights);
                 }),
      "Add\n", {.largest_model = 4096});
  const onnx::ModelProto part = written.model("_run_on_acc_0.onnx");
  CHECK(part.graph().initializer(0).data_location() == onnx::TensorProto::EXTERNAL);
  CHECK(written.bytes("_run_on_acc_0.onnx.data").find(weights) != std::string::npos);
}

TEST_CASE("What a body captures is an input of its part") {
  const Written written(model_text(R"(
g (bool c, float[2] x) => (float[2] y) {
  t = Relu (x)
  y = If (c) <
    then_branch = th () => (float[2] a) { a = Neg (t) },
    else_branch = el () => (float[2] b) { b = Abs (t) }
  >
})"),
                        "Relu\n");
  const onnx::ModelProto part = written.model("_run_on_cpu_1.onnx");
  CHECK(names_of(part.graph().input()) == "c t ");
  CHECK(calls(part.graph().node()) == "If(c) -> y; ");
}

TEST_CASE("A constant is copied into each part that reads it, with what it is computed from") {
  const Written written(model_text(R"(
g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
  k = Neg (w)
  t = Add (x, k)
  u = Relu (t)
  y = Add (u, k)
})"),
                        "Relu\n");
  CHECK(calls(written.model("_run_on_cpu_0.onnx").graph().node()) ==
        "Neg(w) -> k; Add(x k) -> t; ");
  CHECK(calls(written.model("_run_on_cpu_2.onnx").graph().node()) ==
        "Neg(w) -> k; Add(u k) -> y; ");
  CHECK(calls(written.model("_run_on_acc_1.onnx").graph().node()) == "Relu(t) -> u; ");
}

TEST_CASE("The model's own functions go with the parts that call them") {
  const Written written(onnx_bytes(R"(
<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[2] x) => (float[2] y) { t = local.block (x)  y = Neg (t) }
<domain: "local", opset_import: ["" : 17]>
block (a) => (b) { b = Relu (a) })"),
                        "Neg\n");
  CHECK(names_of(written.model("_run_on_cpu_0.onnx").functions()) == "block ");
  const onnx::ModelProto root = written.model("root.onnx");
  CHECK(names_of(root.functions()).find("block ") != std::string::npos);
}

TEST_CASE("A value that is input and output of the graph does not pass through parts") {
  const onnx::ModelProto root =
      Written(model_text("g (float[2] x) => (float[2] y, float[2] x) { y = Relu (x) }"), "Relu\n")
          .model("root.onnx");
  CHECK(names_of(root.graph().output()) == "y x ");
}

TEST_CASE("A part whose outputs are not read is left out of the root, with a note") {
  const Written written(
      model_text("g (float[2] x) => (float[2] y) { y = Relu (x)  dead = Neg (x) }"), "Relu\n");
  const onnx::ModelProto root = written.model("root.onnx");
  CHECK(root.graph().node_size() == 1);
  REQUIRE(!written.notes.empty());
}

TEST_CASE("Unknown fields of a node are kept") {
  // Field 9 of a node, metadata_props, is newer than the library that wrote the model.
  const std::string field = "\x4a\x08\x0a\x02ke\x12\x02va";
  const std::string model =
      model_text("g (float[2] x) => (float[2] y) { y = Relu (x) }", [&](onnx::ModelProto& proto) {
        auto* node = proto.mutable_graph()->mutable_node(0);
        node->ParseFromString(node->SerializeAsString() + field);
      });
  REQUIRE(model.find(field) != std::string::npos);
  CHECK(Written(model, "Relu\n").bytes("_run_on_acc_0.onnx").find(field) != std::string::npos);
}

TEST_CASE("The same split is written as the same bytes") {
  const Written once(model_text(kModel), "Add\n"), again(model_text(kModel), "Add\n");
  for (const char* const file : {"root.onnx", "_run_on_cpu_0.onnx", "_run_on_acc_1.onnx"}) {
    CHECK(once.bytes(file) == again.bytes(file));
  }
}

// ---- whole models ----

std::string type_of(const onnx::ValueInfoProto& info) {
  std::string text = info.name() + ":" + std::to_string(info.type().tensor_type().elem_type());
  for (const auto& dim : info.type().tensor_type().shape().dim()) {
    text += "," + (dim.has_dim_value() ? std::to_string(dim.dim_value()) : dim.dim_param());
  }
  return text + " ";
}

template <class Items>
std::string opsets_of(const Items& items) {
  std::string text;
  for (const auto& item : items) text += item.domain() + ":" + std::to_string(item.version()) + " ";
  return text;
}

template <class Nodes>
std::string lines_of(const Nodes& nodes) {
  std::string text;
  for (const auto& node : nodes) {
    text += "  " + node.name() + " = " + node.domain() + "." + node.op_type() + "(";
    for (const auto& input : node.input()) text += input + " ";
    text += ") ->";
    for (const auto& output : node.output()) text += " " + output;
    text += "\n";
  }
  return text;
}

// All that a model says, apart from attributes and where its weights are.
std::string whole(const onnx::ModelProto& model) {
  const onnx::GraphProto& graph = model.graph();
  std::string text = "ir " + std::to_string(model.ir_version()) + " by " + model.producer_name() +
                     " opsets " + opsets_of(model.opset_import()) + "\n" + graph.name() + " " +
                     graph.doc_string() + "\nin ";
  for (const auto& input : graph.input()) text += type_of(input);
  text += "\nout ";
  for (const auto& output : graph.output()) text += type_of(output);
  text += "\nwithin ";
  for (const auto& info : graph.value_info()) text += type_of(info);
  text += "\nweights " + names_of(graph.initializer()) + "\nannotated ";
  for (const auto& one : graph.quantization_annotation()) text += one.tensor_name() + " ";
  text += "\n" + lines_of(graph.node());
  for (const auto& function : model.functions()) {
    text += function.domain() + "." + function.name() + "(";
    for (const auto& input : function.input()) text += input + " ";
    text += ") ->";
    for (const auto& output : function.output()) text += " " + output;
    text += " opsets " + opsets_of(function.opset_import()) + "\n" + lines_of(function.node());
  }
  for (const auto& entry : model.metadata_props()) {
    text += entry.key() + "=" + entry.value() + "\n";
  }
  for (std::size_t at = 0; (at = text.find(" \n", at)) != text.npos;) text.erase(at, 1);
  return text;
}

TEST_CASE("parts and root of a model with everything have what they need, and no more") {
  const std::string text = R"(
<ir_version: 8, opset_import: ["" : 17, "local" : 2, "cleave" : 3], producer_name: "maker">
g (float[N, 4] x, float[4] free) => (float[N, 4] y, float[N, 4] x, float[4] k, float[4] w)
<float[4] w = {1, 2, 3, 4}, float[4] free = {1, 1, 1, 1}, float[4] only = {5, 6, 7, 8},
 float scale = {0.5}, float other = {0.25}> {
  k = Neg (w)
  unused = Abs (w)
  a = local.outer (x, k)
  b = Add (a, w)
  c = Relu (b)
  d0 = Add (c, k)
  q = Constant <value = float[4] {1, 1, 2, 2}> ()
  d1 = Add (d0, q)
  d = Sub (d1, sparse)
  f = Mul (d, free)
  h = Relu (f)
  dead = Neg (h)
  inner = Relu (h)
  y = Mul (h, only)
}
<domain: "local", opset_import: ["" : 17]> inner (p) => (q) { q = Neg (p) }
<domain: "local", opset_import: ["" : 16, "local" : 2]> outer (p, r) => (q) { t = inner (p)  q = Add (t, r) }
<domain: "local", opset_import: ["" : 17]> spare (p) => (q) { q = Abs (p) })";
  const std::string bytes = onnx_bytes(text, [](onnx::ModelProto& model) {
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.set_doc_string("what it does");
    for (auto& function : *model.mutable_functions()) {
      if (function.name() == "outer") function.mutable_node(0)->set_domain("local");
    }
    onnx::NodeProto sparse;
    sparse.set_op_type("Constant");
    sparse.set_name("_run_on_acc_1");
    sparse.add_output("sparse");
    auto* const attribute = sparse.add_attribute();
    attribute->set_name("sparse_value");
    attribute->set_type(onnx::AttributeProto::SPARSE_TENSOR);
    auto* const value = attribute->mutable_sparse_tensor();
    value->add_dims(4);
    value->mutable_values()->set_data_type(onnx::TensorProto::FLOAT);
    value->mutable_values()->add_dims(1);
    value->mutable_values()->add_float_data(2);
    value->mutable_indices()->set_data_type(onnx::TensorProto::INT64);
    value->mutable_indices()->add_dims(1);
    value->mutable_indices()->add_int64_data(1);
    *graph.add_node() = sparse;
    for (const char* const name : {"a", "c", "f", "y"}) {
      auto& info = *graph.add_value_info();
      info = graph.output(0);
      info.set_name(name);
    }
    const char* const scales[] = {"scale", "other"};
    const char* const tensors[] = {"c", "a"};
    for (int i = 0; i < 2; ++i) {
      auto& annotation = *graph.add_quantization_annotation();
      annotation.set_tensor_name(tensors[i]);
      auto& entry = *annotation.add_quant_parameter_tensor_names();
      entry.set_key("SCALE_TENSOR");
      entry.set_value(scales[i]);
    }
    auto& entry = *model.add_metadata_props();
    entry.set_key("of");
    entry.set_value("the model");
  });
  const Written written(bytes, "Relu\nMul\n");
  std::string all;
  for (const char* const name : {"root", "_run_on_cpu_0", "_run_on_acc_1", "_run_on_cpu_2",
                                 "_run_on_acc_3", "_run_on_cpu_4"}) {
    all += whole(written.model(std::string(name) + ".onnx")) + "\n";
  }
  for (const std::string& note : written.notes) all += note + "\n";
  CHECK(all == R"(ir 8 by maker opsets :17 local:2 cleave:3 cleave2:1
g what it does
in x:1,N,4 free:1,4
out y:1,N,4 x:1,N,4 k:1,4 w:1,4
within c:1,N,4
weights w free scale
annotated c
   = .Neg(w ) -> k
  _run_on_acc_1 = .Constant() -> sparse
  _run_on_cpu_0 = cleave2._run_on_cpu_0(x ) -> b
  _run_on_acc_1_call = cleave2._run_on_acc_1(b ) -> c
  _run_on_cpu_2 = cleave2._run_on_cpu_2(c sparse ) -> d
  _run_on_acc_3 = cleave2._run_on_acc_3(d free ) -> h y
cleave2._run_on_cpu_0(x ) -> b opsets :17 local:2 cleave:3
   = .Constant() -> w
   = .Neg(w ) -> k
   = local.outer(x k ) -> a
   = .Add(a w ) -> b
cleave2._run_on_acc_1(b ) -> c opsets :17 local:2 cleave:3
   = .Relu(b ) -> c
cleave2._run_on_cpu_2(c sparse ) -> d opsets :17 local:2 cleave:3
   = .Constant() -> w
   = .Neg(w ) -> k
   = .Constant() -> q
   = .Add(c k ) -> d0
   = .Add(d0 q ) -> d1
   = .Sub(d1 sparse ) -> d
cleave2._run_on_acc_3(d free ) -> h y opsets :17 local:2 cleave:3
   = .Constant() -> only
   = .Mul(d free ) -> f
   = .Relu(f ) -> h
   = .Relu(h ) -> inner
   = .Mul(h only ) -> y
local.inner(p ) -> q opsets :17
   = .Neg(p ) -> q
local.outer(p r ) -> q opsets :16 local:2
   = local.inner(p ) -> t
   = .Add(t r ) -> q
local.spare(p ) -> q opsets :17
   = .Abs(p ) -> q
of=the model

ir 8 by maker opsets :17 local:2 cleave:3
_run_on_cpu_0
in x:1,N,4
out b:1,N,4
within k:1,4 a:1,N,4
weights w other
annotated a
   = .Neg(w ) -> k
   = local.outer(x k ) -> a
   = .Add(a w ) -> b
local.inner(p ) -> q opsets :17
   = .Neg(p ) -> q
local.outer(p r ) -> q opsets :16 local:2
   = local.inner(p ) -> t
   = .Add(t r ) -> q
cleave.partition=_run_on_cpu_0
cleave.device=cpu
of=the model

ir 8 by maker opsets :17 local:2 cleave:3
_run_on_acc_1
in b:1,N,4
out c:1,N,4
within
weights scale
annotated c
   = .Relu(b ) -> c
cleave.partition=_run_on_acc_1
cleave.device=acc
of=the model

ir 8 by maker opsets :17 local:2 cleave:3
_run_on_cpu_2
in c:1,N,4
out d:1,N,4
within k:1,4
weights w scale
annotated c
   = .Neg(w ) -> k
   = .Constant() -> q
  _run_on_acc_1 = .Constant() -> sparse
   = .Add(c k ) -> d0
   = .Add(d0 q ) -> d1
   = .Sub(d1 sparse ) -> d
cleave.partition=_run_on_cpu_2
cleave.device=cpu
of=the model

ir 8 by maker opsets :17 local:2 cleave:3
_run_on_acc_3
in d:1,N,4
out h:1,N,4 y:1,N,4
within f:1,N,4
weights free only
annotated
   = .Mul(d free ) -> f
   = .Relu(f ) -> h
   = .Relu(h ) -> inner
   = .Mul(h only ) -> y
cleave.partition=_run_on_acc_3
cleave.device=acc
of=the model

ir 8 by maker opsets :17 local:2 cleave:3
_run_on_cpu_4
in h:1,N,4
out dead:1,N,4
within
weights
annotated
   = .Neg(h ) -> dead
cleave.partition=_run_on_cpu_4
cleave.device=cpu
of=the model

part "_run_on_cpu_4" has no outputs: it is not in root.onnx, and its own file gives "dead"
)");
}

}  // namespace

}  // namespace cleave
