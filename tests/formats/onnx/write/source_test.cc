#include <filesystem>
#include <initializer_list>

#include "formats/models/models.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/write/writer.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/base/test_folder.h"
#include "tests/formats/onnx/read/onnx_text.h"
#include "tests/formats/onnx/write/split_text.h"

namespace cleave {

// ---- context nodes test ----

namespace {

// An EPContext model with one node, whose file a compiler has named so.
std::string model_of_file(std::string_view file) {
  std::string attribute, mode, node, graph, model;
  put_bytes(attribute, attribute_field::kName, "ep_cache_context");
  put_bytes(attribute, attribute_field::kString, file);
  put_bytes(mode, attribute_field::kName, "embed_mode");
  put_number(mode, attribute_field::kInt, 0);
  put_bytes(node, node_field::kOpType, "EPContext");
  put_bytes(node, node_field::kAttribute, attribute);
  put_bytes(node, node_field::kAttribute, mode);
  put_bytes(graph, graph_field::kNode, node);
  put_bytes(model, model_field::kGraph, graph);
  return model;
}

TEST_CASE("of the path that a compiler names, only the file's name counts") {
  for (const std::string path :
       {"part.bin", "../part.bin", "../../etc/part.bin", "/etc/part.bin", "a\\..\\part.bin"}) {
    INFO(path);
    const auto read =
        read_context_model(model_of_file(path), {.part = "p", .folder = "artefacts/"});
    REQUIRE(read);
    CHECK(read->nodes.at(0).find("artefacts/part.bin") != std::string::npos);
    CHECK(read->nodes.at(0).find("..") == std::string::npos);
    std::string asked;
    ContextPlace embedded{.part = "p", .folder = ""};
    embedded.content = [&](std::string_view file) {
      asked = file;
      return std::optional<std::string>("compiled");
    };
    REQUIRE(read_context_model(model_of_file(path), embedded));
    CHECK(asked == "part.bin");
  }
}

TEST_CASE("a compiler that names no file has compiled nothing") {
  for (const std::string path : {"", "..", "a/..", "a/", "."}) {
    INFO(path);
    const auto read =
        read_context_model(model_of_file(path), {.part = "p", .folder = "artefacts/"});
    REQUIRE_FALSE(read);
    CHECK(read.error() == "its file \"" + path + "\" cannot be read");
  }
}

}  // namespace

// ---- cutter test ----

namespace {

const char* const kModel = R"(
g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1.5, 2}, float[2] v = {3, 4}> {
  t = Relu (x)
  u = Add (t, w)
  s = Mul (u, v)
  y = Neg (s)
})";

// Each node is called "n_" and its output.
std::string with_node_names(const std::string& graph) {
  return onnx_model(graph, [](onnx::ModelProto& model) {
    for (auto& node : *model.mutable_graph()->mutable_node()) node.set_name("n_" + node.output(0));
  });
}

// "in: x; weights: w; Relu(x) Add(t w); out: u"
std::string describe_model(const std::string& bytes) {
  const onnx::ModelProto model = parsed(bytes);
  std::string text = "in:";
  for (const auto& input : model.graph().input()) text += " " + input.name();
  text += "; weights:";
  for (const auto& weight : model.graph().initializer()) text += " " + weight.name();
  text += ";";
  for (const auto& node : model.graph().node()) {
    text += " " + node.op_type() + "(";
    for (const auto& input : node.input()) text += (text.back() == '(' ? "" : " ") + input;
    text += ")";
  }
  text += "; out:";
  for (const auto& output : model.graph().output()) text += " " + output.name();
  return text;
}

class Cut {
 public:
  explicit Cut(const std::string& bytes)
      : model_(*read_model(folder_.with_file("m.onnx", bytes), {})),
        cutter_(*OnnxCutter::open(model_)) {}

  std::string operator()(std::initializer_list<const char*> names) {
    std::vector<NodeId> nodes;
    for (const char* const name : names) nodes.push_back(node_named(model_.graph, name));
    const std::string path = folder_.path("piece.onnx");
    const auto piece = cutter_.write(nodes, {path, path});
    REQUIRE(piece);
    return describe_model(folder_.content("piece.onnx"));
  }

 private:
  TestFolder folder_;
  LoadedModel model_;
  OnnxCutter cutter_;
};

TEST_CASE("One cutter writes several pieces, each with only what it needs") {
  Cut cut(with_node_names(kModel));
  CHECK(cut({"n_u", "n_s"}) == "in: t; weights: w v; Add(t w) Mul(u v); out: s");
  CHECK(cut({"n_t"}) == "in: x; weights:; Relu(x); out: t");
  CHECK(cut({"n_s", "n_y"}) == "in: u; weights: v; Mul(u v) Neg(s); out: y");
  CHECK(cut({"n_u", "n_s"}) == "in: t; weights: w v; Add(t w) Mul(u v); out: s");
}

TEST_CASE("A piece whose values are not read outputs what its last node makes") {
  Cut cut(with_node_names(R"(
g (float[2] x) => (float[2] y) {
  y = Relu (x)
  z = Neg (x)
})"));
  CHECK(cut({"n_z"}) == "in: x; weights:; Neg(x); out: z");
}

TEST_CASE("A cutter refuses a folder from which no runtime follows references") {
  const TestFolder folder;
  const TestFolder other;
  const std::string big = R"(
g (float[2] x) => (float[2] y) { y = Relu (x) })";
  const auto bytes = onnx_model(big, [](onnx::ModelProto& model) {
    auto* weight = model.mutable_graph()->add_initializer();
    weight->set_name("w");
    weight->set_data_type(onnx::TensorProto::FLOAT);
    weight->add_dims(1024);
    weight->set_raw_data(std::string(4096, '\0'));
  });
  const auto model = read_model(folder.with_file("m.onnx", bytes), {});
  REQUIRE(model);
  CHECK(OnnxCutter::open(*model, RootWeights::reference, folder.path(".")));
  const auto refused = OnnxCutter::open(*model, RootWeights::reference, other.path("."));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().cause == FaultCause::output);
}

}  // namespace

// ---- node tags test ----

namespace {

constexpr const char* kTaggedModel = R"(
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
  const std::string path = test.with_file("m.onnx", onnx_model(kTaggedModel, nullptr, ir_version));
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
  CHECK(plain.SerializeAsString() == parsed(onnx_model(kTaggedModel)).SerializeAsString());
}

TEST_CASE("tags of an earlier split are replaced") {
  const TestFolder test;
  const std::string path = test.with_file("m.onnx", onnx_model(kTaggedModel, nullptr, 10));
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

// ---- source test ----

namespace {

constexpr const char* kSourceModel = R"(
  g (float[2, 300] x) => (float[2, 300] y) { h = MatMul(x, w) s = Sin(h) y = Add(s, b) })";

// Makes `w` and `b` initializers with their elements as raw bytes, `w` first; with a location,
// those of `w` are in that file.
ModelEdit with_weights(const std::string& location = "") {
  return [location](onnx::ModelProto& model) {
    for (const std::string name : {"w", "b"}) {
      onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
      tensor.set_name(name);
      tensor.set_data_type(onnx::TensorProto::FLOAT);
      if (name == "w") tensor.add_dims(300);
      tensor.add_dims(300);
      const std::size_t bytes = name == "w" ? 360000 : 1200;
      if (name == "b" || location.empty()) {
        tensor.set_raw_data(std::string(bytes, '\1'));
        continue;
      }
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
      const auto put = [&](const char* key, const std::string& value) {
        auto* entry = tensor.add_external_data();
        entry->set_key(key);
        entry->set_value(value);
      };
      put("location", location);
      put("offset", "16");
      put("length", std::to_string(bytes));
    }
  };
}

// "w: m.onnx 123 360000" for each external initializer, in order; "" for none.
std::string places_in(const onnx::ModelProto& model) {
  std::string text;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) continue;
    text += (text.empty() ? "" : ", ") + tensor.name() + ":";
    for (const auto& entry : tensor.external_data()) text += " " + entry.value();
  }
  return text;
}

const OnnxWriteOptions kReference{.root_weights = RootWeights::reference,
                                  .annotate = true,
                                  .tags = {},
                                  .largest_model = 1U << 20U};

TEST_CASE("weights inside the model's file are referred to there") {
  const TestFolder test;
  const std::string path = test.with_file("m.onnx", onnx_model(kSourceModel, with_weights()));
  OnnxSplitText split(path, "Sin");
  REQUIRE(split.write(test.path("."), kReference));
  const std::string bytes = test.content("m.onnx");
  const std::string at = "w: m.onnx " + std::to_string(bytes.find(std::string(300, '\1'))) + " ";
  for (const char* file : {"root.onnx", "annotated.onnx"}) {
    INFO(file);
    CHECK(places_in(parsed(test.content(file))).substr(0, at.size()) == at);
    CHECK(places_in(parsed(test.content(file))).find("b: m.onnx ") != std::string::npos);
  }
  CHECK(places_in(parsed(test.content("_run_on_acc_0.onnx"))).substr(0, at.size()) == at);
  CHECK(test.content("_run_on_acc_0.onnx").size() < 1000);
  CHECK(test.content("m.onnx") == bytes);
}

TEST_CASE("weights in a file below the model's folder are referred to by their path from there") {
  const TestFolder test;
  std::filesystem::create_directory(test.path("data"));
  test.with_file("data/w.bin", std::string(16 + 360000, '\2'));
  const std::string path =
      test.with_file("m.onnx", onnx_model(kSourceModel, with_weights("data/w.bin")));
  OnnxSplitText split(path, "Sin");
  REQUIRE(split.write(test.path("."), kReference));
  CHECK(places_in(parsed(test.content("_run_on_acc_0.onnx"))) == "w: data/w.bin 16 360000");
}

TEST_CASE("weights that several partitions read are written once, and all files refer to them") {
  const TestFolder test;
  constexpr const char* kTwice = R"(
    g (float[2, 300] x) => (float[2, 300] y) {
      h = MatMul(x, w) s = Sin(h) t = MatMul(s, w) y = Add(t, b) })";
  const std::string path = test.with_file("m.onnx", onnx_model(kTwice, with_weights()));
  OnnxSplitText split(path, "Sin");
  const auto written = split.write(
      test.path("out"),
      {.root_weights = RootWeights::shared, .annotate = true, .tags = {}, .largest_model = 9000});
  REQUIRE(written);
  CHECK(written->files.front() == "weights.bin");
  CHECK(test.content("out/weights.bin").size() == 360000 + 1200);
  CHECK(test.content("out/weights.bin").substr(0, 360000) == std::string(360000, '\1'));
  const std::string w = "w: weights.bin 0 360000";
  const std::string both = w + ", b: weights.bin 360000 1200";
  CHECK(places_in(parsed(test.content("out/_run_on_acc_0.onnx"))) == w);
  CHECK(places_in(parsed(test.content("out/_run_on_acc_2.onnx"))) == both);
  CHECK(places_in(parsed(test.content("out/root.onnx"))) == both);
  CHECK(places_in(parsed(test.content("out/annotated.onnx"))) == both);
}

TEST_CASE("weights from 1 MiB on begin at a page of weights.bin, smaller ones at 64 bytes") {
  BytePieces data;
  const auto offset_of = [&](std::uint64_t length) {
    return add_aligned(data, {.source = 0, .offset = 0, .length = length});
  };
  CHECK(offset_of(100) == 0);
  CHECK(offset_of(70) == 128);
  CHECK(offset_of(1 << 20) == 4096);
  CHECK(offset_of(8) == 4096 + (1 << 20));
  CHECK(offset_of((1 << 20) - 1) == 4096 + (1 << 20) + 64);
}

TEST_CASE("a folder that does not hold the weights is refused, with the one that does") {
  const TestFolder test;
  const std::string path = test.with_file("m.onnx", onnx_model(kSourceModel, with_weights()));
  std::filesystem::create_directory(test.path("out"));
  OnnxSplitText split(path, "Sin");
  const auto written = split.write(test.path("out"), kReference);
  REQUIRE_FALSE(written);
  const std::string real = std::filesystem::canonical(test.path(".")).string();
  CHECK(format_diagnostic(written.error().at(0)) ==
        test.path("out") + ": error: weights are in \"" + real +
            "/m.onnx\", outside this folder, and runtimes do not follow references there; with "
            "--weights reference give the model's folder: -o " +
            real + "\n");
  CHECK(std::filesystem::is_empty(test.path("out")));
}

TEST_CASE("a file that would replace the model is refused, even with force") {
  const TestFolder test;
  const std::string path = test.with_file("root.onnx", onnx_model(kSourceModel, with_weights()));
  OnnxSplitText split(path, "Sin");
  const auto written = split.write(test.path("."), kReference, true);
  REQUIRE_FALSE(written);
  CHECK(written.error().at(0).message ==
        "is the input of this split, and would be replaced: give the model's file another name");
}

TEST_CASE("a folder that holds the model is not replaced") {
  const TestFolder test;
  std::filesystem::create_directory(test.path("models"));
  const std::string path =
      test.with_file("models/m.onnx", onnx_model(kSourceModel, with_weights()));
  OnnxSplitText split(path, "Sin");
  const auto written = split.write(test.path("models"), {}, true);
  REQUIRE_FALSE(written);
  CHECK(written.error().at(0).message ==
        "holds an input (\"" + path + "\"), and would be replaced: give another folder");
  CHECK(test.content("models/m.onnx").size() > 360000);
}

}  // namespace

}  // namespace cleave
