#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/lists/condition.h"
#include "formats/models/models.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/base/graph_description.h"
#include "tests/formats/base/test_folder.h"
#include "tests/formats/onnx/read/onnx_text.h"

namespace cleave {

// ---- format options test ----

namespace {

TEST_CASE("an option for models of other formats is told with those that it is for") {
  CHECK(option_misfit("--bundle", ModelFormat::onnx) ==
        "--bundle is for TensorFlow Lite and torch.export models, of which one file can hold "
        "several");
  CHECK(option_misfit("--fold write", ModelFormat::pt2) == "--fold write is for ONNX models");
  CHECK(option_misfit("--fold off", ModelFormat::pt2).empty());
  CHECK(option_misfit("--fold off", ModelFormat::tflite).empty());
  CHECK(option_misfit("--lift-state", ModelFormat::graph_json) ==
        "--lift-state is for TensorFlow Lite models, whose partitions keep variables");
}

TEST_CASE("an option that fits the format, or that no format lacks, is no misfit") {
  CHECK(option_misfit("--bundle", ModelFormat::pt2).empty());
  CHECK(option_misfit("--lift-state", ModelFormat::tflite).empty());
  CHECK(option_misfit("--infer off", ModelFormat::onnx).empty());
  CHECK(option_misfit("--dim N=1", ModelFormat::graph_json).empty());
}

}  // namespace

// ---- model file test ----

namespace {

std::string refusal(std::string_view bytes, const std::string& name = "m") {
  const TestFolder folder;
  const std::string path = folder.with_file(name, bytes);
  const Loaded<LoadedModel> model = read_model(path, {});
  REQUIRE(!model);
  const std::string text = format_diagnostic(model.error().at(0));
  REQUIRE(text.starts_with(path + ": error: "));
  return text.substr(path.size() + 9);
}

TEST_CASE("a graph with other sizes is that of the model read again, as often as asked") {
  const std::string path =
      CLEAVE_PROJECT_DIR "/samples/attention.onnx";  // an If, and shapes that are computed
  const auto model = read_model(path, {});
  REQUIRE(model);
  GraphAgain again(*model);
  for (const std::int64_t size : {1, 3, 16}) {
    ShapeBindings sizes;
    sizes.dims = {{"B", 1}, {"T", size}};
    const auto bound = again.with(sizes);
    const auto whole = read_model(path, sizes);
    REQUIRE((bound && whole));
    CHECK(described(bound->graph) == described(whole->graph));
    CHECK(bound->misfits == whole->misfits);
  }
  ShapeBindings unknown;
  unknown.dims = {{"no such dim", 1}};
  CHECK(!again.with(unknown));
}

TEST_CASE("the format of a model is recognised by its content") {
  const TestFolder folder;
  const std::string path = folder.with_file(
      "model.onnx", "\n {\"format\": \"cleave.graph\", \"version\": 1, \"nodes\": []}\n");
  const Loaded<LoadedModel> model = read_model(path, {});
  REQUIRE(model);
  CHECK(model->format() == ModelFormat::graph_json);
  CHECK(model_format_name(model->format()) == "json");
  CHECK(model_format_name(ModelFormat::onnx) == "onnx");
  CHECK(!op_facts(*model).default_attribute);
}

// "tensor int8 0.5 3": the way, the type, the first scale and its zero point; "" when not quantised.
std::string quantization_of(const LoadedModel& model, std::string_view tensor) {
  for (const ValueId value : IdRange<ValueId>(0, model.graph.value_count())) {
    if (model.graph.value(value).name != tensor) continue;
    const auto found = op_facts(model).quantization(model.graph, value);
    if (!found) return "unknown";
    if (found->kind == Quantization::Kind::none) return "";
    std::ostringstream text;
    text << kQuantizationWays[static_cast<std::size_t>(found->kind)] << ' '
         << dtype_name(found->stored) << ' ' << found->scales.at(0) << ' '
         << found->zero_points.at(0);
    return text.str();
  }
  return "no such tensor";
}

TEST_CASE("TensorFlow Lite states how tensors are quantised, and versions of operators") {
  const auto model = read_model(CLEAVE_PROJECT_DIR "/samples/keyword.tflite", {});
  REQUIRE(model);
  CHECK(quantization_of(*model, "net/pool") == "tensor int8 0.05 -128");
  CHECK(quantization_of(*model, "net/conv/weight") == "axis int8 0.01 0");
  CHECK(quantization_of(*model, "sound").empty());
  CHECK(quantization_of(*model, "stream/shape").empty());
  const auto version_of = [&](std::string_view op) -> std::int64_t {
    for (const NodeId node : model->graph.nodes()) {
      if (model->graph.op(node) == op) {
        return opset_of(model->graph, node, op_facts(*model)).value_or(0);
      }
    }
    return -1;
  };
  CHECK(version_of("CONV_2D") == 3);
  CHECK(version_of("MAX_POOL_2D") == 2);
  CHECK(version_of("FULLY_CONNECTED") == 4);
  CHECK(version_of("RESHAPE") == 1);
}

TEST_CASE("the Q and DQ nodes around a tensor of ONNX say how it is quantised") {
  const TestFolder folder;
  const std::string path = folder.with_file("m.onnx", onnx_bytes(R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[2,4] x, float s) => (float[2,3] y, float[2,4] r)
      <uint8[4,3] w = {1,1,1,1,1,1,1,1,1,1,1,1}, float[3] ws = {0.25, 0.5, 1}, uint8[3] wz = {1,0,0},
       float xs = {0.5}, uint8 xz = {3}> {
        q = QuantizeLinear(x, xs, xz)
        a = DequantizeLinear(q, xs, xz)
        b = DequantizeLinear<axis = 1>(w, ws, wz)
        m = MatMul(a, b)
        n = QuantizeLinear(m, xs)
        y = DequantizeLinear(n, xs)
        o = QuantizeLinear(x, s, xz)
        r = DequantizeLinear(o, xs, xz)
      })"));
  const auto model = read_model(path, {});
  REQUIRE(model);
  CHECK(quantization_of(*model, "a") == "tensor uint8 0.5 3");
  CHECK(quantization_of(*model, "b") == "axis uint8 0.25 1");
  CHECK(quantization_of(*model, "m") == "tensor uint8 0.5 0");  // by its reader
  CHECK(quantization_of(*model, "o") == "unknown");             // the scale is an input
  CHECK(quantization_of(*model, "xs").empty());
  CHECK(opset_of(model->graph, NodeId{0}, op_facts(*model)) == 17);
}

TEST_CASE("scales and zero points of ONNX are those of all nodes around a tensor, if constants") {
  const TestFolder folder;
  const std::string path = folder.with_file("m.onnx", onnx_bytes(R"(
      <ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1, "mine" : 1]>
      g (float[2,3] x, float[2,3] z) => (float[2,3] y, float[2,3] given)
      <float s = {0.5}, float[3] ss = {0.25, 0.5, 1}, uint8 p = {3}, int8[3] pp = {0, 0, 2},
       int8[2] few = {1, 2}, int8 n = {0}, float[0] none = {}> {
        i = Identity(p)
        j = Identity(i)
        k = mine.Identity(p)
        a = QuantizeLinear(x, s, j)
        b = QuantizeLinear(x, s, k)
        c = com.microsoft.QuantizeLinear(x, ss, pp)
        d = QuantizeLinear<axis = 0>(x, ss)
        e = QuantizeLinear<block_size = 2>(x, ss, pp)
        f = QuantizeLinear(x, ss, few)
        g = QuantizeLinear(x, none, few)
        h = mine.QuantizeLinear(x, s, p)
        m = DequantizeLinear(a, s, p)
        read = Relu(m)
        r1 = QuantizeLinear(read, ss, pp)
        r2 = QuantizeLinear(read, s, n)
        both = Relu(m)
        b1 = QuantizeLinear(both, s, n)
        b2 = Neg(both)
        given = Relu(m)
        g1 = QuantizeLinear(given, s, n)
        by = Relu(m)
        t = QuantizeLinear(z, by, n)
        unread = Relu(m)
        y = Sum(m, b2)
      })"));
  const auto model = read_model(path, {});
  if (!model) FAIL(format_diagnostic(model.error().front()));
  std::string all;
  for (const ValueId value : IdRange<ValueId>(0, model->graph.value_count())) {
    const auto found = op_facts(*model).quantization(model->graph, value);
    all += std::string(model->graph.value(value).name) + ":";
    if (!found) all += " unknown";
    if (found && found->kind != Quantization::Kind::none) {
      std::ostringstream text;
      text << ' ' << kQuantizationWays[static_cast<std::size_t>(found->kind)] << ' ' << found->axis
           << ' ' << dtype_name(found->stored) << (found->is_symmetric() ? " symmetric" : "");
      for (const double scale : found->scales) text << ' ' << scale;
      for (const std::int64_t point : found->zero_points) text << ' ' << point;
      all += text.str();
    }
    all += "\n";
  }
  CHECK(all == R"(x:
z: unknown
s:
ss:
p:
pp:
few:
n:
none:
i:
j:
k:
a: tensor 1 uint8 0.5 3
b: unknown
c: axis 1 int8 0.25 0.5 1 0 0 2
d: axis 0 uint8 symmetric 0.25 0.5 1 0 0 0
e: other 1 int8 0.25 0.5 1 0 0 2
f: unknown
g: unknown
h:
m: tensor 1 uint8 0.5 3
read: axis 1 int8 0.25 0.5 1 0 0 2
r1: axis 1 int8 0.25 0.5 1 0 0 2
r2: tensor 1 int8 symmetric 0.5 0
both:
b1: tensor 1 int8 symmetric 0.5 0
b2:
given:
g1: tensor 1 int8 symmetric 0.5 0
by:
t: unknown
unread:
y:
)");
}

TEST_CASE("a state may begin with a size of 0, and so may a mask of it, but nothing else") {
  const TestFolder folder;
  const std::string path = folder.with_file("m.onnx", onnx_bytes(R"(
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[B,P] mask, float[B,T,4] x, float[B,P,4] past_key)
        => (float[B,S,4] present_key, float[B,P] m) {
        present_key = Concat<axis = 1>(past_key, x)
        m = Relu(mask)
      })"));
  const auto fault = [&](std::vector<std::pair<std::string, std::int64_t>> dims) {
    const auto model = read_model(path, {.dims = std::move(dims), .inputs = {}});
    return model ? "" : model.error().at(0).message;
  };
  CHECK(fault({{"B", 1}, {"P", 0}, {"T", 1}}).empty());
  CHECK(fault({{"B", 1}, {"P", 1}, {"T", 0}}) ==
        "there is nothing to run: a size of input \"x\" is 0, and must be 1 or more");
  CHECK(fault({{"B", 0}, {"P", 1}, {"T", 1}}) ==
        "there is nothing to run: a size of input \"mask\" is 0, and must be 1 or more");
}

TEST_CASE("a file that is not a model is refused with what it seems to be") {
  const std::string intro =
      "not a model cleave can read (native graph JSON, ONNX, torch.export, TensorFlow Lite); ";
  CHECK(refusal("") == "is empty, not a model\n");
  CHECK(refusal(std::string_view("\x7f\x45LF\0\xff", 6)) ==
        intro + "its first bytes are 7f 45 4c 46 00 ff\n");
  CHECK(refusal("hello, world\nmore") == intro + "it begins with \"hello, world\"\n");
  CHECK(refusal("[1, 2]") == intro + "it begins with \"[1, 2]\"\n");
  CHECK(refusal("PK\x03\x04...") == "is cut off: it has no end record\n");
  CHECK(refusal(std::string_view("\x1c\0\0\0TFL3\x14\0", 10)) ==
        "Model lies beyond the file's end (at byte 10)\n");
  CHECK(refusal(std::string_view("\x9c\0\0\0\x1c\0\0\0TFL3", 12)) ==
        intro + "it is a TensorFlow Lite model with its size in front; remove the first 4 bytes\n");
  CHECK(
      refusal(std::string_view("\x18\0\0\0ORTM\0\0\0\0", 12)) ==
      intro +
          "it is in ONNX Runtime's own format (.ort); give the ONNX model that it was made of, or "
          "let ONNX Runtime write one: session option session.save_model_format=ONNX, with "
          "optimized_model_filepath\n");
  CHECK(refusal("LITERTLM...") ==
        intro +
            "it is a LiteRT-LM bundle; take the .tflite models out of it, and give one of them\n");
  CHECK(refusal(std::string_view("\x0a\0\0\0\0\0\0\0{\"a\":1}", 15)) ==
        intro +
            "it is a safetensors file, which holds weights but no graph; export the model to "
            "ONNX\n");
  CHECK(refusal("\x1f\x8b\x08") == intro + "it is compressed with gzip; unpack it first\n");
}

TEST_CASE("files and folders of other formats are called by their names, with what to give") {
  for (const auto& [name, what] :
       {std::pair("m.xml", "it is an OpenVINO model; give the ONNX model"),
        std::pair("m.gguf", "it is a GGUF file, weights of an LLM without a graph"),
        std::pair("m.pte",
                  "it is an ExecuTorch program, compiled; give what torch.export.save wrote"),
        std::pair("m.aimodel", "it is a compiled model of Apple's"),
        std::pair("m.h5", "it is a Keras model"), std::pair("m.pb", "it is a graph of TensorFlow"),
        std::pair("m.safetensors", "it is a safetensors file")}) {
    INFO(name);
    CHECK(refusal("\x07other\x01", name).find(what) != std::string::npos);
  }
  const TestFolder folder;
  const std::string path = folder.path("m.mlpackage");
  std::filesystem::create_directory(path);
  const Loaded<LoadedModel> package = read_model(path, {});
  REQUIRE(!package);
  CHECK(package.error().at(0).message.find("it is a Core ML package") != std::string::npos);
}

TEST_CASE("a model that cannot be opened is refused in the system's words") {
  const Loaded<LoadedModel> model = read_model("nowhere.json", {});
  REQUIRE(!model);
  CHECK(format_diagnostic(model.error().at(0)) ==
        "nowhere.json: error: cannot be opened: No such file or directory\n");
}

}  // namespace

// ---- open shapes test ----

namespace {

std::string text_of_parts(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : " ") + part;
  return text;
}

constexpr const char* kOpen = R"(
  input x: float32[N,3,8]
  input y: float32[4,?,M]
  input z: float32
  input k: float32[2,3]
  input s: float32[M,N]
  a: float32[2,3] = Relu(k)
  b: float32[N] = Relu(x)
  c: float32[2] = Relu(y)
  d: float32[2] = Relu(a)
)";

TEST_CASE("a value is open without a rank, or with a dim of no size") {
  const Graph graph = graph_from_text(kOpen);
  for (const auto& [name, open] :
       {std::pair("x", true), {"y", true}, {"z", true}, {"k", false}, {"a", false}}) {
    CHECK(is_open(graph, value_named(graph, name)) == open);
  }
  CHECK(names_of(graph, open_inputs(graph)) == "x y z s");
  const auto has_open = [&](const std::vector<std::string_view>& names) {
    std::vector<NodeId> nodes;
    for (const std::string_view name : names) nodes.push_back(node_named(graph, name));
    return has_open_shapes(graph, nodes);
  };
  CHECK_FALSE(has_open({}));
  CHECK_FALSE(has_open({"a"}));
  CHECK(has_open({"b"}));
  CHECK(has_open({"c"}));  // it reads an open value
  CHECK_FALSE(has_open({"a", "d"}));
  CHECK(has_open({"a", "b"}));
}

TEST_CASE("sizes of inputs bind symbols once, and whole shapes where a dim has no name") {
  const Graph graph = graph_from_text(kOpen);
  const std::map<std::string_view, Sizes> shapes = {
      {"x", {5, 3, 8}}, {"y", {4, 6, 7}}, {"s", {9, 11}}, {"k", {1, 1}}};
  const auto shape_of = [&](ValueId input) -> std::optional<Sizes> {
    const auto found = shapes.find(graph.value(input).name);
    return found == shapes.end() ? std::nullopt : std::optional(found->second);
  };
  const ShapeBindings sizes = sizes_of_inputs(graph, shape_of);
  CHECK(text_of_parts(size_options(sizes)) == "--dim N=5 --dim M=9 --input-shape y=4,6,7");
  const auto of_z = [&](ValueId input) -> std::optional<Sizes> {
    if (graph.value(input).name != "z") return std::nullopt;
    return Sizes{3};
  };
  CHECK(text_of_parts(size_options(sizes_of_inputs(graph, of_z))) == "--input-shape z=3");
  // A shape with fewer dims binds those that it has.
  const auto short_one = [&](ValueId input) -> std::optional<Sizes> {
    if (graph.value(input).name != "s") return std::nullopt;
    return Sizes{3};
  };
  CHECK(text_of_parts(size_options(sizes_of_inputs(graph, short_one))) == "--dim M=3");
  CHECK(size_options({}).empty());
}

TEST_CASE("later shapes of inputs replace earlier ones, and dims are added") {
  ShapeBindings first, second;
  first.dims = {{"N", 1}};
  first.inputs = {{"x", {1}}, {"y", {2}}};
  second.dims = {{"M", 2}};
  second.inputs = {{"x", {3, 4}}};
  CHECK(text_of_parts(size_options(with_sizes(first, second))) ==
        "--dim N=1 --dim M=2 --input-shape y=2 --input-shape x=3,4");
}

TEST_CASE("inputs of one element that alone decide an If are those that may be set") {
  const auto deciding = [](const std::string& text) {
    const Graph graph = graph_from_text(text);
    return names_of(graph, deciding_inputs(graph));
  };
  const std::string body = "\n  | h = Relu(x)\n";
  CHECK(deciding("input x\ninput c: bool[1]\ni = If(c, ^x)" + body) == "c");
  CHECK(deciding("input x\ninput c: bool[]\nk = Not(c)\ni = If(k, ^x)" + body) == "c");
  CHECK(deciding("input x\ninput c: bool[2]\ni = If(c, ^x)" + body).empty());
  CHECK(deciding("input x\ninput c: bool[N]\ni = If(c, ^x)" + body).empty());
  CHECK(deciding("input x\ninput c: bool\ni = If(c, ^x)" + body).empty());
  CHECK(deciding("input x\ninput c: bool[1]\ninput d: bool[1,1]\nk = And(c, d)\nl = Or(k, c)\ni = "
                 "If(l, ^x)" +
                 body) == "c d");
  CHECK(deciding("input x\ninput c: bool[1]\nk = And(c, x)\ni = If(k, ^x)" + body).empty());
  CHECK(deciding("input x\ninput c: bool[1]\ni = Loop(c, ^x)" + body).empty());
  CHECK(deciding("input x\ninput c: bool[1]\nparam w: bool[7]\nk = And(c, w)\ni = If(k, ^x)" +
                 body) == "c");
  const auto chain = [&](int length) {
    std::string text = "input x\ninput c: bool[1]\n", last = "c";
    for (int i = 0; i < length; ++i) {
      const std::string name = "k" + std::to_string(i);
      text.append(name).append(" = Not(").append(last).append(")\n");
      last = name;
    }
    return deciding(text.append("i = If(").append(last).append(", ^x)").append(body));
  };
  CHECK(chain(63) == "c");
  CHECK(chain(64).empty());
}

// The model, whose file exists as long as the folder.
LoadedModel onnx_model_of(const TestFolder& folder, const std::string& graph,
                          ShapeBindings bindings = {}) {
  const std::string path = folder.with_file(
      "m.onnx", onnx_bytes("<ir_version: 8, opset_import: [\"\" : 17]>\n" + graph));
  auto model = read_model(path, bindings);
  REQUIRE(model);
  return *std::move(model);
}

// The shape of x with which the operators agree best; "none".
std::string fitting_shape_of(const std::string& graph) {
  const TestFolder folder;
  const LoadedModel model = onnx_model_of(folder, graph);
  GraphAgain again(model);
  const auto fitting = fitting_sizes(model, again);
  if (!fitting) return "none";
  std::string text;
  for (const std::int64_t size : fitting->shapes.at("x")) {
    text += (text.empty() ? "" : "x") + std::to_string(size);
  }
  return text;
}

TEST_CASE("sizes that models take are tried until the operators agree") {
  CHECK(fitting_shape_of("g (float[2, 3] x) => (float[2, 3] y) { y = Relu (x) }") == "none");
  CHECK(fitting_shape_of("g (float[N, 3, H, W] x) => (float[N, 3, H, W] y) { y = Relu (x) }") ==
        "1x3x224x224");
  CHECK(fitting_shape_of("g (float[N, 1, H, W] x) => (float[N, 1, H, W] y) { y = Relu (x) }") ==
        "1x1x224x224");
  CHECK(fitting_shape_of("g (float[N, C, H, W] x) => (float[N, C, H, W] y) { y = Relu (x) }") ==
        "1x128x224x224");
  CHECK(fitting_shape_of("g (float[N, 4, H, W] x) => (float[N, 4, H, W] y) { y = Relu (x) }") ==
        "1x4x128x128");
  CHECK(fitting_shape_of("g (float[N, T] x) => (float[N, T] y) { y = Relu (x) }") == "1x128");
  CHECK(fitting_shape_of("g (float[2, N, 16] x) => (float[2, N, 16] y) { y = Relu (x) }") ==
        "2x1x16");
  CHECK(fitting_shape_of("g (float[N, T, 16] x) => (float[N, T, 16] y) { y = Relu (x) }") ==
        "1x128x16");
  // What is added asks for one of the sizes that are tried.
  const auto wants = [](const std::string& dims) {
    return fitting_shape_of("g (float[N, 3, H, W] x) => (float[a, b, c, d] y) <float[" + dims +
                            "] w = {0}> { y = Add (x, w) }");
  };
  CHECK(wants("320, 320") == "1x3x320x320");
  CHECK(wants("48, 320") == "1x3x48x320");
  CHECK(wants("32, 320") == "1x3x32x320");
  CHECK(wants("640, 640") == "1x3x640x640");
  CHECK(wants("256, 256") == "1x3x256x256");
  CHECK(wants("64, 256") == "1x3x64x256");
  CHECK(wants("96, 96") == "1x3x96x96");
  const auto other = [](const std::string& size) {
    return fitting_shape_of("g (float[N, T] x, float[" + size +
                            ", 2] w) => (float[a, b] y) { y = MatMul (x, w) }");
  };
  for (const std::string size : {"512", "16", "256", "16000", "80", "1600"})
    CHECK(other(size) == "1x" + size);
}

TEST_CASE("sizes are assumed to be 1, and 224 for images") {
  const auto assumed = [](const std::string& graph, ShapeBindings bindings = {}) {
    const TestFolder folder;
    const auto made = assume_shapes(onnx_model_of(folder, graph, std::move(bindings)));
    if (!made) return std::string("none");
    std::string text = text_of_parts(size_options(made->sizes));
    const auto y = made->shapes.find("y");
    text += " y";
    if (y == made->shapes.end()) return text + " open";
    for (const std::int64_t size : y->second) text += " " + std::to_string(size);
    return text;
  };
  CHECK(assumed("g (float[N, C, H, 8] x) => (float[N, C, H, 8] y) { y = Relu (x) }") ==
        "--dim N=1 --dim C=224 --dim H=224 y 1 224 224 8");
  CHECK(assumed("g (float[N, T, 8] x) => (float[N, T, 8] y) { y = Relu (x) }") ==
        "--dim N=1 --dim T=1 y 1 1 8");
  CHECK(assumed("g (float[2, 8] x) => (float[2, 8] y) { y = Relu (x) }") == "none");
  ShapeBindings bound;
  bound.dims = {{"N", 5}};
  CHECK(assumed("g (float[N, T] x) => (float[N, T] y) { y = Relu (x) }", bound) ==
        "--dim T=1 y 5 1");
}

TEST_CASE("sizes of dims within a model are those that no input has") {
  const TestFolder folder, other;
  ShapeBindings bindings;
  bindings.dims = {{"N", 2}, {"u:1", 3}};
  const LoadedModel model = onnx_model_of(
      folder, "g (float[N] x) => (int64[1, n] y) { u = NonZero (x) y = Neg (u) }", bindings);
  CHECK(sizes_within(model) == std::vector<std::string>{"u:1=3"});
  CHECK(
      sizes_within(onnx_model_of(other, "g (float[N] x) => (float[N] y) { y = Neg (x) }")).empty());
}

}  // namespace

}  // namespace cleave
