#include "tests/fuzz/fixture.h"

#include "formats/models/graph_json.h"
#include "tests/fuzz/demands.h"

namespace cleave::fuzz {
namespace {

constexpr std::string_view kFixture = R"({
  "format": "cleave.graph", "version": 1, "name": "fixture",
  "inputs": [{"name": "x", "dtype": "float32", "shape": [1, 3, 8, 8]}],
  "outputs": ["fc", "loss"],
  "output_tree": {"logits": {"value": "fc"}, "loss": [{"value": "loss"}]},
  "parameters": [{"name": "conv.weight", "dtype": "float32", "shape": [8, 3, 3, 3]}],
  "nodes": [
    {"name": "conv", "op": "Conv", "inputs": ["x", "conv.weight"],
     "module_parameters": ["conv.weight"],
     "attributes": {"group": 1, "kernel_shape": [3, 3], "auto_pad": "SAME_UPPER"},
     "outputs": [{"name": "conv", "dtype": "float32", "shape": [1, 8, 8, 8]}]},
    {"name": "relu", "op": "Relu", "inputs": ["conv"],
     "outputs": [{"name": "relu", "dtype": "float32", "shape": [1, 8, "N", 8]}]},
    {"name": "size", "op": "size", "inputs": ["relu"],
     "outputs": [{"name": "size", "type": "scalar"}]},
    {"name": "view", "op": "view", "inputs": ["relu", {"list": ["size"]}],
     "outputs": [{"name": "view", "dtype": "float32", "shape": [1, 512]}]},
    {"name": "fc", "op": "MatMul", "domain": "my.domain", "inputs": ["view"],
     "kwargs": {"other": "view"},
     "outputs": [{"name": "fc", "dtype": "float16", "shape": [1, 512]}]},
    {"name": "loss", "op": "mean", "inputs": ["fc"],
     "outputs": [{"name": "loss", "dtype": "float32", "shape": []}]}
  ]
})";

LoadedModel made() {
  SourceFile source = SourceFile::from_text("fixture.json", kFixture);
  Loaded<GraphJson> json = read_graph_json(source, {});
  demand(json.has_value(), "the fixture is a model");
  return LoadedModel{.source = std::move(source),
                     .origin = GraphJsonOrigin{json->output_tree},
                     .graph = std::move(json->graph),
                     .warnings = {},
                     .notes = {}};
}

}  // namespace

const LoadedModel& fixture() {
  static const LoadedModel kModel = made();
  return kModel;
}

}  // namespace cleave::fuzz
