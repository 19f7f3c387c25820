#include "formats/models/tflite/write/out_table.h"

#include <string>
#include <tuple>

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

Loaded1 load(const std::string& bytes, const std::string& signature = {}) {
  SourceFile source = SourceFile::from_text("m.tflite", bytes);
  ShapeBindings bindings;
  bindings.signature = signature;
  auto loaded = read_tflite(source, bindings);
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

TEST_CASE("tflite: a partition that asks for a shape is no composite of the root") {
  FlatModel model;
  model.begin_subgraph("main");
  const std::int32_t x = model.tensor("x", {1, 4});
  const std::int32_t sizes = model.tensor("sizes", {2}, kInt32);
  const std::int32_t y = model.tensor("y", {1, 4});
  model.op(schema_operator("SHAPE"), {x}, {sizes});
  model.op(schema_operator("RESHAPE"), {x, sizes}, {y});
  model.set_ends({x}, {y});
  const Loaded1 read = load(model.bytes());
  const Graph& graph = read.loaded.graph;
  const auto plan = plan_tflite_split(read.model(), graph, one_each(graph), TfliteLift::all);
  REQUIRE(plan);
  CHECK(!can_be_composite(read.model(), plan->parts[0]));
  CHECK(can_be_composite(read.model(), plan->parts[1]));
}

// x -> ADD, which keeps "a" -> sum -> MUL, which keeps "b" -> y; both are set up by one subgraph.
FlatModel model_with_two_variables() {
  FlatModel model;
  const auto handle = [&](std::string_view name) {
    const std::int32_t made = model.tensor(std::string(name) + "_handle", {}, kResource);
    OutTable options(schema_table("VarHandleOptions"));
    options.set(tfl::variable::shared_name, name);
    model.op(schema_operator("VAR_HANDLE"), {}, {made})
        .set(tfl::op::builtin_options, std::move(options));
    return made;
  };
  model.begin_subgraph("main");
  std::int32_t last = model.tensor("x", {1, 4});
  const std::int32_t x = last;
  OutTable call(schema_table("CallOnceOptions"));
  call.set(tfl::call_once_subgraph, std::int64_t{1});
  model.op(schema_operator("CALL_ONCE"), {}, {}).set(tfl::op::builtin_options, std::move(call));
  for (const std::string& name : {std::string("a"), std::string("b")}) {
    const std::int32_t its = handle(name);
    const std::int32_t before = model.tensor(name + "_before", {1, 4});
    model.op(schema_operator("READ_VARIABLE"), {its}, {before});
    const std::int32_t after = model.tensor(name == "a" ? "sum" : "y", {1, 4});
    model.op(name == "a" ? schema_operator("ADD") : schema_operator("MUL"), {before, last},
             {after});
    model.op(schema_operator("ASSIGN_VARIABLE"), {its, after}, {});
    last = after;
  }
  model.set_ends({x}, {last});
  model.begin_subgraph("init");
  for (const std::string& name : {std::string("a"), std::string("b")}) {
    const std::int32_t its = handle(name);
    const std::int32_t zeros =
        model.tensor(name + "_zeros", {1, 4}, kFloat32, model.buffer(std::string(16, '\0')));
    model.op(schema_operator("ASSIGN_VARIABLE"), {its, zeros}, {});
  }
  model.set_ends({}, {});
  return model;
}

TEST_CASE("tflite: a bundle has a signature for each partition, which keeps its own variables") {
  const Loaded1 read = load(model_with_two_variables().bytes());
  const Graph& graph = read.loaded.graph;
  const auto plan = plan_tflite_split(read.model(), graph, one_each(graph), TfliteLift::shared);
  REQUIRE(plan);
  REQUIRE(plan->lifted.empty());
  const auto file =
      encode_tflite(tflite_bundle(read.model(), *plan, {"p0", "p1"}, {}, "test"), read.model());
  REQUIRE(file);
  const std::string bytes = bytes_of(file->pieces, read.source.bytes());
  for (const auto& [key, op, variable] :
       {std::tuple{"p0", "ADD", "a"}, std::tuple{"p1", "MUL", "b"}}) {
    const Loaded1 part = load(bytes, key);
    REQUIRE(part.loaded.graph.node_count() == 1);
    CHECK(part.loaded.graph.op(NodeId{0}) == op);
    REQUIRE(part.model().state.variables.size() == 1);
    CHECK(part.model().state.variables[0].shared_name == variable);
    // Its own subgraph sets it up: the handle, and what is written to it.
    const TfliteOperator& call =
        part.model().subgraph().operators[part.model().state.variables[0].init_call];
    const auto init = static_cast<std::size_t>(bodies_of(call).front().subgraph);
    CHECK(part.model().subgraphs[init].operators.size() == 2);
  }
}

TEST_CASE("tflite: a bundle has the first values of variables that the caller keeps") {
  const Loaded1 read = load(model_with_state().bytes());
  const Graph& graph = read.loaded.graph;
  const auto plan = plan_tflite_split(read.model(), graph, one_each(graph), TfliteLift::all);
  REQUIRE(plan);
  const TfliteInit init{.variables = {0}, .file = "bundle.tflite", .signature = "first"};
  const auto file =
      encode_tflite(tflite_bundle(read.model(), *plan, {"p0", "p1"}, init, "test"), read.model());
  REQUIRE(file);
  const std::string bytes = bytes_of(file->pieces, read.source.bytes());
  const Loaded1 first = load(bytes, "first");
  CHECK(first.model().subgraph().operators.empty());
  CHECK(first.loaded.graph.value(first.loaded.graph.outputs()[0]).name == "before");
  CHECK(load(bytes).loaded.graph.op(NodeId{0}) == "ADD");
  CHECK(load(bytes, "p1").loaded.graph.op(NodeId{0}) == "TANH");
  const SourceFile source = SourceFile::from_text("m.tflite", bytes);
  const auto other = read_tflite_model(source, ModelLimits{}, "nope");
  REQUIRE(!other);
  CHECK(other.error().front().message ==
        "has no signature \"nope\"; it has \"p0\", \"p1\", \"first\"");
}

TEST_CASE("tflite: a name that a tensor and a signature have is stored once") {
  const Loaded1 read = load(small_model().bytes());
  const auto plan = plan_tflite_split(read.model(), read.loaded.graph, one_each(read.loaded.graph),
                                      TfliteLift::shared);
  REQUIRE(plan);
  const auto file =
      encode_tflite(tflite_part(read.model(), plan->parts[1], "p1", "test"), read.model());
  REQUIRE(file);
  const std::string bytes = bytes_of(file->pieces, read.source.bytes());
  const std::size_t at = bytes.find("net/conv");
  REQUIRE(at != bytes.npos);
  CHECK(bytes.find("net/conv", at + 1) == bytes.npos);
}

TEST_CASE("tflite: an axis that a tensor does not have is not written for a single scale") {
  FlatModel model = small_model();
  OutTable quantization(schema_table("QuantizationParameters"));
  quantization.set(tfl::quantization::scale, std::string_view("\0\0\0\x3f", 4));  // 0.5
  quantization.set(tfl::quantization::zero_point, std::string_view("\0\0\0\0\0\0\0\0", 8));
  quantization.set(tfl::quantization::dimension, std::int64_t{7});
  model.tensor_table(0).set(tfl::tensor::quantization, std::move(quantization));
  const Loaded1 read = load(model.bytes());
  CHECK(scales_of_no_axis(read.model().subgraph().tensors[0]) == 1);
  REQUIRE(read.loaded.warnings.size() == 1);
  CHECK(read.loaded.warnings[0].message ==
        "1 tensor is quantised along an axis that it does not have, the first is \"x\": LiteRT 2.3 "
        "and later refuse such a model, but take its partitions, which are written without");
  const auto plan = plan_tflite_split(read.model(), read.loaded.graph, one_each(read.loaded.graph),
                                      TfliteLift::shared);
  REQUIRE(plan);
  const auto file =
      encode_tflite(tflite_part(read.model(), plan->parts[0], "p0", "test"), read.model());
  REQUIRE(file);
  const Loaded1 part = load(bytes_of(file->pieces, read.source.bytes()));
  CHECK(part.loaded.warnings.empty());
  const FlatTable written =
      part.model().subgraph().tensors[0].table.table(tfl::tensor::quantization);
  CHECK(written.numbers<float>(tfl::quantization::scale)[0] == 0.5F);
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
