#include "formats/models/model_file.h"

#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

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
