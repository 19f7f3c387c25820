#include "formats/base/io/source_file.h"
#include "formats/models/tflite/reader.h"
#include "formats/run/backend/self_test.h"
#include "tests/catch2.h"

using namespace cleave;

TEST_CASE("backend check: its TensorFlow Lite models are quantised and have the test's ends") {
  const std::vector<TestModel> models = tflite_models_to_take();
  REQUIRE(models.size() == 3);
  for (const TestModel& test : models) {
    const SourceFile source = SourceFile::from_text("m.tflite", test.bytes);
    const auto read = read_tflite(source, {});
    REQUIRE(read);
    const Graph& graph = read->graph;
    REQUIRE(graph.inputs().size() == test.inputs.size());
    REQUIRE(graph.outputs().size() == test.outputs.size());
    for (std::size_t i = 0; i < test.outputs.size(); ++i) {
      const ValueId output = graph.outputs()[i];
      CHECK(graph.value(output).name == test.outputs[i].name);
      CHECK(graph.value(output).dtype == DType::int8);
      const auto quantized = tflite_op_facts(*read->model).quantization(graph, output);
      REQUIRE(quantized);
      CHECK(quantized->kind == Quantization::Kind::tensor);
    }
  }
}

TEST_CASE("backend check: the TensorFlow Lite model to be refused is one but for its operator") {
  const std::vector<TestModel> models = tflite_models_to_refuse();
  const SourceFile source = SourceFile::from_text("m.tflite", models.back().bytes);
  const auto read = read_tflite(source, {});
  REQUIRE(read);
  CHECK(read->graph.domain(NodeId{0}) == "tflite.custom");
}
