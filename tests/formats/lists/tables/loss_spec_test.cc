#include "formats/lists/tables/loss_spec.h"

#include "formats/models/graph_json/graph_json.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

LoadedModel model_of(const std::string& outputs, const std::string& tree = "") {
  const std::string text =
      R"({"format": "cleave.graph", "version": 1, "name": "m", "inputs": [], "parameters": [],)"
      R"( "outputs": )" +
      outputs + (tree.empty() ? "" : ", \"output_tree\": " + tree) +
      R"(, "nodes": [{"name": "n", "op": "f", "inputs": [], "outputs": [{"name": "a"},)"
      R"( {"name": "b"}, {"name": "loss"}]}]})";
  SourceFile source = SourceFile::from_text("m.json", text);
  auto read = read_graph_json(source, {});
  REQUIRE(read.has_value());
  const SourceSpan span = read->output_tree;
  return {.source = std::move(source),
          .origin = GraphJsonOrigin{span},
          .graph = std::move(read->graph)};
}

// The loss; else the message, with notes on separate lines.
std::string found(const LoadedModel& model, const std::optional<std::string>& spec) {
  const auto loss = find_loss(model, spec);
  if (loss) return std::string(model.graph.value(*loss).name);
  std::string text = loss.error().message;
  for (const std::string& note : loss.error().notes) text += "\n" + note;
  return text;
}

TEST_CASE("Without a spec the loss is the output with that name") {
  CHECK(found(model_of(R"(["a", "loss"])"), std::nullopt) == "loss");
  CHECK(found(model_of(R"(["a", "b"])", R"({"loss": "b", "out": "a"})"), "") == "b");
  CHECK(found(model_of(R"(["a", "b"])"), "") ==
        "the model has no output \"loss\"\nits outputs: \"a\", \"b\"");
}

TEST_CASE("A name may be an output's, or a key of the returned structure") {
  CHECK(found(model_of(R"(["a", "b"])"), "a") == "a");
  CHECK(found(model_of(R"(["a", "b"])", R"({"l": "b", "out": "a"})"), "l") == "b");
  CHECK(found(model_of(R"(["loss", "b"])"), "losss") ==
        "the model has no output \"losss\"\ndid you mean \"loss\"?");
}

TEST_CASE("A spec marks the loss in the returned structure") {
  CHECK(found(model_of(R"(["a"])"), "true") == "a");
  CHECK(found(model_of(R"(["a", "b"])"), "[false, true]") == "b");
  CHECK(found(model_of(R"(["a", "b", "loss"])", R"(["a", {"y": ["b"], "l": "loss"}])"),
              R"([false, {"l": false, "y": [true]}])") == "b");
  CHECK(found(model_of(R"(["a", "b"])", R"(["a", ["b", null, 3]])"), "[true, false]") == "a");
}

TEST_CASE("A spec of another structure is refused") {
  const LoadedModel list = model_of(R"(["a", "b"])");
  CHECK(found(list, "[true]") ==
        "the loss spec has a list of 1 for the output, which is a list of 2");
  CHECK(found(list, R"({"a": true})") ==
        "the loss spec has an object for the output, which is a list of 2");
  CHECK(found(list, "[[true], false]") ==
        "the loss spec has a list for the output[0], which is the value \"a\"");
  CHECK(found(list, "true") == "the loss must be a value, but the output is a list of 2");
  CHECK(found(list, "[1, true]") ==
        "the loss spec has 1 for the output[0]: it holds true, false, lists and objects");
  CHECK(found(list, "[true") == "the loss spec is not valid JSON: [true");
  const LoadedModel object = model_of(R"(["a", "b"])", R"({"x": "a", "y": "b"})");
  CHECK(found(object, R"({"x": true, "z": false})") ==
        "the loss spec has other keys than the output\nthe spec: \"x\", \"z\"\n"
        "the model: \"x\", \"y\"");
  CHECK(found(object, "[true, false]") ==
        "the loss spec has a list for the output, which is an object");
  CHECK(found(model_of(R"(["a"])", R"(["a", null])"), "[false, true]") ==
        "the loss must be a value, but the output[1] is null");
}

TEST_CASE("Exactly one output is the loss") {
  const LoadedModel list = model_of(R"(["a", "b"])");
  CHECK(found(list, "[false, false]") == "the loss spec marks no output: one must be true");
  CHECK(found(list, "false") == "the loss spec marks no output: one must be true");
  CHECK(found(list, "[true, true]") ==
        "the loss spec marks several outputs, \"a\" and \"b\": one must be true");
}

}  // namespace
}  // namespace cleave
