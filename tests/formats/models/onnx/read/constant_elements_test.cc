// Elements of constants: initializers with raw and with typed data, and what Constant nodes make.
#include "formats/models/onnx/read/constant_elements.h"

#include "formats/models/onnx/read/reader.h"
#include "tests/catch2.h"
#include "tests/formats/models/onnx/onnx_text.h"

namespace cleave {
namespace {

// The elements of parameter `name` of a model with these initializers and nodes.
std::string elements_of(const std::string& name, const std::string& weights,
                        const std::string& nodes = "") {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\" : 18]>\n"
      "g (float[2] x) => (float[?] y) " +
      (weights.empty() ? "" : "<" + weights + "> ") + "{\n" + nodes + "\n y = Use (x, " + name +
      ")\n}";
  const SourceFile source = SourceFile::from_text("m.onnx", onnx_bytes(text));
  const auto loaded = read_onnx(source, {});
  if (!loaded) return format_diagnostic(loaded.error().front());
  for (const ValueId value : loaded->graph.parameters()) {
    if (loaded->graph.value(value).name != name) continue;
    const auto elements = onnx_constant_elements(*loaded->model, loaded->graph, value);
    if (!elements) return "unknown";
    std::string out;
    for (const Literal& element : *elements) {
      out += (out.empty() ? "" : " ");
      if (const auto* const integer = std::get_if<std::int64_t>(&element)) {
        out += std::to_string(*integer);
      } else {
        out += std::to_string(std::get<double>(element));
      }
    }
    return out;
  }
  return "no such parameter";
}

TEST_CASE("initializers and Constant nodes have their elements") {
  CHECK(elements_of("w", "int64[3] w = {1, -2, 3}") == "1 -2 3");
  CHECK(elements_of("w", "float[2] w = {1.5, -2}") == "1.500000 -2.000000");
  CHECK(elements_of("w", "uint8 w = {200}") == "200");
  CHECK(elements_of("w", "bool[2] w = {0, 1}") == "0 1");
  CHECK(elements_of("c", "", "c = Constant <value = int32[2] {7, 8}> ()") == "7 8");
  CHECK(elements_of("c", "", "c = Constant <value_ints = [4, 5]> ()") == "4 5");
  CHECK(elements_of("c", "", "c = Constant <value_float = 0.5> ()") == "0.500000");
}

TEST_CASE("the elements of computed constants are unknown") {
  CHECK(elements_of("c", "int64[1] w = {1}", "c = Neg (w)") == "unknown");
}

}  // namespace
}  // namespace cleave
