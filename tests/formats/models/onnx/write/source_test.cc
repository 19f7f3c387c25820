#include "formats/models/onnx/write/source.h"

#include <filesystem>
#include <initializer_list>

#include "formats/models/onnx/write/split_job.h"
#include "formats/models/onnx/write/writer.h"
#include "tests/catch2.h"
#include "tests/formats/models/onnx/write/split_text.h"

namespace cleave {
namespace {

constexpr const char* kModel = R"(
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
  const std::string path = test.with_file("m.onnx", onnx_model(kModel, with_weights()));
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
  const std::string path = test.with_file("m.onnx", onnx_model(kModel, with_weights("data/w.bin")));
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
  const std::string path = test.with_file("m.onnx", onnx_model(kModel, with_weights()));
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
  const std::string path = test.with_file("root.onnx", onnx_model(kModel, with_weights()));
  OnnxSplitText split(path, "Sin");
  const auto written = split.write(test.path("."), kReference, true);
  REQUIRE_FALSE(written);
  CHECK(written.error().at(0).message ==
        "is the input of this split, and would be replaced: give the model's file another name");
}

TEST_CASE("a folder that holds the model is not replaced") {
  const TestFolder test;
  std::filesystem::create_directory(test.path("models"));
  const std::string path = test.with_file("models/m.onnx", onnx_model(kModel, with_weights()));
  OnnxSplitText split(path, "Sin");
  const auto written = split.write(test.path("models"), {}, true);
  REQUIRE_FALSE(written);
  CHECK(written.error().at(0).message ==
        "holds an input (\"" + path + "\"), and would be replaced: give another folder");
  CHECK(test.content("models/m.onnx").size() > 360000);
}

}  // namespace

}  // namespace cleave
