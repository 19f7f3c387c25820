#include "formats/models/tflite/write/out_table.h"

#include "formats/models/tflite/fields.h"
#include "formats/models/tflite/model_reader.h"
#include "formats/models/tflite/write/part_file.h"
#include "tests/catch2.h"
#include "tests/formats/models/tflite/flat_model.h"

namespace cleave {
namespace {

struct Loaded1 {
  SourceFile source;
  TfliteLoaded loaded;
  const TfliteModel& model() const { return *loaded.model; }
};

Loaded1 load(const std::string& bytes) {
  SourceFile source = SourceFile::from_text("m.tflite", bytes);
  auto loaded = read_tflite(source, {});
  if (!loaded) FAIL(loaded.error().front().message);
  return {std::move(source), *std::move(loaded)};
}

// Each node a partition of its own: p0, p1, ...
Partition one_each(const Graph& graph) {
  PerNode<PartId> part_of(graph.node_count());
  std::vector<std::string> names;
  for (const NodeId node : graph.nodes()) {
    part_of[node] = PartId{index(node)};
    names.push_back("p" + std::to_string(index(node)));
  }
  return make_partition(std::move(part_of), std::move(names), {});
}

std::vector<std::string> names_of(const TfliteModel& model,
                                  const std::vector<std::uint32_t>& tensors) {
  std::vector<std::string> names;
  for (const std::uint32_t tensor : tensors)
    names.emplace_back(model.subgraph().tensors[tensor].name);
  return names;
}

TEST_CASE("tflite: a copy of a model has the same contents, weights at multiples of 16") {
  const Loaded1 read = load(small_model().bytes());
  OutTable copy(read.model().walk.root);
  const auto file = encode_tflite(copy, read.model());
  REQUIRE(file);
  const Loaded1 again = load(bytes_of(file->pieces, read.source.bytes()));
  CHECK(again.loaded.graph.node_count() == 2);
  const TfliteBytes& weight = again.model().buffers[1];
  CHECK(weight.size == 24);
  CHECK(weight.offset % 16 == 0);
  CHECK(again.source.bytes().substr(weight.offset, weight.size) == std::string(24, 'w'));
}

TEST_CASE("tflite: a partition has only what it needs") {
  const Loaded1 read = load(small_model().bytes());
  const auto plan = plan_tflite_split(read.model(), read.loaded.graph, one_each(read.loaded.graph),
                                      TfliteLift::shared);
  REQUIRE(plan);
  CHECK(names_of(read.model(), plan->parts[0].inputs) == std::vector<std::string>{"x"});
  CHECK(names_of(read.model(), plan->parts[0].outputs) == std::vector<std::string>{"net/conv"});
  const auto file =
      encode_tflite(tflite_part(read.model(), plan->parts[1], "p1", "test"), read.model());
  REQUIRE(file);
  const Loaded1 part = load(bytes_of(file->pieces, read.source.bytes()));
  CHECK(part.model().subgraph().tensors.size() == 2);
  CHECK(part.model().buffers.size() == 1);
  CHECK(part.model().codes.size() == 1);
  CHECK(part.loaded.graph.op(NodeId{0}) == "RELU");
}

TEST_CASE("tflite: a variable of one partition stays there, one of several goes to the caller") {
  const Loaded1 read = load(model_with_state().bytes());
  const Graph& graph = read.loaded.graph;
  const auto native = plan_tflite_split(read.model(), graph, one_each(graph), TfliteLift::shared);
  REQUIRE(native);
  CHECK(native->lifted.empty());
  REQUIRE(native->parts[0].variables.size() == 1);
  const auto file =
      encode_tflite(tflite_part(read.model(), native->parts[0], "p0", "test"), read.model());
  REQUIRE(file);
  const Loaded1 part = load(bytes_of(file->pieces, read.source.bytes()));
  CHECK(part.model().state.variables.size() == 1);
  CHECK(part.model().subgraph().operators.size() == 5);

  const auto lifted = plan_tflite_split(read.model(), graph, one_each(graph), TfliteLift::all);
  REQUIRE(lifted);
  CHECK(lifted->lifted.size() == 1);
  CHECK(names_of(read.model(), lifted->parts[0].inputs) == std::vector<std::string>{"x", "before"});
  const auto init = encode_tflite(tflite_init(read.model(), {0}, "test"), read.model());
  REQUIRE(init);
  const Loaded1 first = load(bytes_of(init->pieces, read.source.bytes()));
  CHECK(first.model().subgraph().operators.empty());
  CHECK(first.loaded.graph.value(first.loaded.graph.outputs()[0]).name == "before");
}

TEST_CASE("tflite: the root calls each partition as a composite and keeps the state") {
  const Loaded1 read = load(model_with_state().bytes());
  const Graph& graph = read.loaded.graph;
  const auto plan = plan_tflite_split(read.model(), graph, one_each(graph), TfliteLift::all);
  REQUIRE(plan);
  const auto file =
      encode_tflite(tflite_root(read.model(), *plan, {"p0", "p1"}, "test"), read.model());
  REQUIRE(file);
  const Loaded1 root = load(bytes_of(file->pieces, read.source.bytes()));
  REQUIRE(root.loaded.graph.node_count() == 2);
  CHECK(root.loaded.graph.op(NodeId{0}) == "STABLEHLO_COMPOSITE");
  CHECK(root.loaded.graph.body_nodes(NodeId{0}).size() == 1);
  CHECK(root.model().state.variables.size() == 1);
}

TEST_CASE("tflite: a table with fields of a newer schema is not written") {
  const SourceFile source = SourceFile::from_text("m.tflite", small_model().bytes());
  TfliteModel model = *read_tflite_model(source, ModelLimits{});
  const FlatTable op = model.walk.root.tables(tfl::model::operator_codes)[0];
  model.walk.unknown.push_back({op.at(), op.type(), 14});
  const auto file = encode_tflite(OutTable(model.walk.root), model);
  REQUIRE(!file);
  CHECK(file.error().message ==
        "field 14 of OperatorCode is newer than this cleave, so that no partition can have it");
}

}  // namespace
}  // namespace cleave
