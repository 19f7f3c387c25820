#include "formats/models/model_file.h"

#include <sstream>

#include "core/condition/condition.h"
#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"
#include "tests/formats/models/onnx/onnx_text.h"

namespace cleave {
namespace {

std::string refusal(std::string_view bytes) {
  const TestFolder folder;
  const std::string path = folder.with_file("m", bytes);
  const Loaded<LoadedModel> model = read_model(path, {});
  REQUIRE(!model);
  const std::string text = format_diagnostic(model.error().at(0));
  REQUIRE(text.starts_with(path + ": error: "));
  return text.substr(path.size() + 9);
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
  CHECK(refusal("LITERTLM...") ==
        intro +
            "it is a LiteRT-LM bundle; take the .tflite models out of it, and give one of them\n");
  CHECK(refusal(std::string_view("\x0a\0\0\0\0\0\0\0{\"a\":1}", 15)) ==
        intro +
            "it is a safetensors file, which holds weights but no graph; export the model to "
            "ONNX\n");
  CHECK(refusal("\x1f\x8b\x08") == intro + "it is compressed with gzip; unpack it first\n");
}

TEST_CASE("a model that cannot be opened is refused in the system's words") {
  const Loaded<LoadedModel> model = read_model("nowhere.json", {});
  REQUIRE(!model);
  CHECK(format_diagnostic(model.error().at(0)) ==
        "nowhere.json: error: cannot be opened: No such file or directory\n");
}

}  // namespace
}  // namespace cleave
