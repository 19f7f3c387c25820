#include "formats/models/onnx/write/node_tags.h"

#include "tests/formats/models/onnx/write/split_text.h"

namespace cleave {
namespace {

constexpr const char* kModel = R"(
  g (float[2] x) => (float[2] y) {
    c = Constant <value = float[2] {1.0, 2.0}> ()
    a = Add(x, c)
    s = Sin(a)
    y = Mul(s, c)
  })";

// The library is older than the fields that hold tags: it keeps them as bytes.
template <class Message>
std::string unknown_fields_of(const Message& message) {
  std::string bytes;
  REQUIRE(message.unknown_fields().SerializeToString(&bytes));
  return bytes;
}

bool holds(const std::string& bytes, const std::string& text) {
  return bytes.find(text) != std::string::npos;
}

std::string written(int ir_version, const OnnxWriteOptions& options, const std::string& file) {
  const TestFolder test;
  const std::string path = test.with_file("m.onnx", onnx_model(kModel, nullptr, ir_version));
  const OnnxSplitText split(path, "Sin");
  REQUIRE(split.write(test.path("out"), options));
  return test.content("out/" + file);
}

TEST_CASE("from IR version 10 on nodes carry their part, its device and their reason") {
  OnnxWriteOptions options;
  options.tags.reason = [](NodeId node) { return index(node) == 1 ? "no rule" : ""; };
  for (const char* file : {"_run_on_cpu_1.onnx", "root.onnx"}) {
    INFO(file);
    const std::string bytes = written(10, options, file);
    CHECK(holds(bytes, "cleave.partition"));
    CHECK(holds(bytes,
                "\n\rcleave.device\x12\x03"
                "cpu"));
    CHECK(holds(bytes, "\n\rcleave.reason\x12\x07no rule"));
  }
  CHECK_FALSE(holds(written(10, options, "_run_on_acc_0.onnx"), "cleave.reason"));
  CHECK_FALSE(holds(written(9, options, "_run_on_cpu_1.onnx"), "cleave.reason"));
}

TEST_CASE("annotated.onnx is the model with each node's part, whatever the IR version") {
  OnnxWriteOptions options;
  options.annotate = true;
  const onnx::ModelProto model = parsed(written(8, options, "annotated.onnx"));
  REQUIRE(model.graph().node_size() == 4);
  CHECK(model.ir_version() == 8);
  CHECK(unknown_fields_of(model.graph().node(0)).empty());
  CHECK(holds(unknown_fields_of(model.graph().node(1)), "layer_ann\x12\r_run_on_acc_0"));
  CHECK(holds(unknown_fields_of(model.graph().node(2)), "layer_ann\x12\r_run_on_cpu_1"));
  CHECK_FALSE(holds(unknown_fields_of(model.graph().node(2)), "cleave.device"));
  onnx::ModelProto plain = model;
  for (auto& node : *plain.mutable_graph()->mutable_node()) node.mutable_unknown_fields()->Clear();
  CHECK(plain.SerializeAsString() == parsed(onnx_model(kModel)).SerializeAsString());
}

TEST_CASE("tags of an earlier split are replaced") {
  const TestFolder test;
  const std::string path = test.with_file("m.onnx", onnx_model(kModel, nullptr, 10));
  OnnxWriteOptions options;
  options.annotate = true;
  REQUIRE(OnnxSplitText(path, "Sin").write(test.path("out"), options));
  REQUIRE(OnnxSplitText(test.path("out/annotated.onnx"), "Add").write(test.path("two"), options));
  const onnx::ModelProto model = parsed(test.content("two/annotated.onnx"));
  const std::string sine = unknown_fields_of(model.graph().node(2));
  CHECK(holds(sine, "layer_ann\x12\r_run_on_acc_1"));
  CHECK(sine.find("layer_ann") == sine.rfind("layer_ann"));
  CHECK_FALSE(holds(sine, "_run_on_cpu_1"));
}

TEST_CASE("stages of a pipeline are device configurations from IR version 11 on") {
  OnnxWriteOptions options;
  options.annotate = options.tags.pipeline_stages = true;
  const onnx::ModelProto model = parsed(written(11, options, "annotated.onnx"));
  // DeviceConfigurationProto: name, num_devices, device...
  CHECK(holds(unknown_fields_of(model),
              "\n\x0f"
              "cleave.pipeline\x10\x03\x1a\x03"
              "acc\x1a\x03"
              "cpu"));
  // NodeDeviceConfigurationProto: configuration_id, pipeline_stage
  CHECK(holds(unknown_fields_of(model.graph().node(1)), std::string("\n\x0f"
                                                                    "cleave.pipeline\x18\x00",
                                                                    19)));
  CHECK(holds(unknown_fields_of(model.graph().node(3)),
              "\n\x0f"
              "cleave.pipeline\x18\x02"));
  CHECK_FALSE(holds(written(10, options, "annotated.onnx"), "cleave.pipeline"));
}

}  // namespace
}  // namespace cleave
