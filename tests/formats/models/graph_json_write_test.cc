#include "core/graph/graph_builder.h"
#include "core/split/split.h"
#include "formats/base/json.h"
#include "formats/models/graph_json.h"
#include "formats/onnx/index/index.h"
#include "tests/catch2.h"
#include "tests/formats/base/graph_description.h"

namespace cleave {

// ---- items test ----

namespace {

TEST_CASE("An attribute that names a device is set to the new device") {
  CHECK(with_device(R"({"name": "a", "attributes": {"device": "cpu", "k": [1, {"x": 2}]}})",
                    "cuda:1") ==
        R"({"name": "a", "attributes": {"k": [1, {"x": 2}], "device": "cuda:1"}})");
}

TEST_CASE("A keyword that reads a device becomes an attribute") {
  CHECK(
      with_device(R"({"name": "a", "kwargs": {"device": "d", "out": "o"}, "attributes": {"k": 1}})",
                  "cuda:1") ==
      R"({"name": "a", "kwargs": {"out": "o"}, "attributes": {"k": 1, "device": "cuda:1"}})");
  CHECK(with_device(R"({"name": "a", "kwargs": {"device": "d"}})", "x\"y") ==
        R"({"name": "a", "kwargs": {}, "attributes": {"device": "x\"y"}})");
}

TEST_CASE("A node that names no device is unchanged") {
  for (const char* node : {R"({"name": "device", "attributes": {"devices": 1}})",
                           R"({"name":"a",  "op": "device"})", R"({"name": "a"})"}) {
    CHECK(with_device(node, "cuda:1") == node);
  }
}

}  // namespace

// ---- writer test ----

namespace {

LoadedModel model_of(std::string_view text) {
  SourceFile source = SourceFile::from_text("m.json", text);
  Loaded<GraphJson> json = read_graph_json(source, {});
  if (!json) FAIL(format_diagnostic(json.error().at(0)));
  return {.source = std::move(source),
          .origin = GraphJsonOrigin{json->output_tree},
          .graph = std::move(json->graph),
          .warnings = std::move(json->warnings),
          .notes = {}};
}

// The parts' numbers of the nodes, in model order; parts are called p0, p1, ...
Partition partition_of(const Graph& graph, const std::vector<std::uint32_t>& parts) {
  PerNode<PartId> part_of(graph.node_count());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    part_of[id_at<NodeId>(i)] = PartId{parts[i]};
    while (names.size() <= parts[i]) names.push_back("p" + std::to_string(names.size()));
  }
  const std::vector<Device> devices(names.size(), Device::acc);
  return make_partition(std::move(part_of), names, devices);
}

struct Written {
  std::string root;
  std::vector<std::string> parts;
};

Written split(const LoadedModel& model, const std::vector<std::uint32_t>& parts) {
  const Partition partition = partition_of(model.graph, parts);
  const Boundaries boundaries = find_boundaries(model.graph, partition);
  Written written{write_root_json(model, partition, boundaries), {}};
  for (const PartId part : partition.parts()) {
    written.parts.push_back(write_part_json(model, partition, boundaries, part));
  }
  return written;
}

std::string header(const std::string& name) {
  return "{\n  \"format\": \"cleave.graph\",\n  \"version\": 1,\n  \"name\": \"" + name + "\",\n";
}

TEST_CASE("a graph is written with one item a line, its items copied") {
  const std::string text = R"({"nodes": [
    {
      "name": "b", "op": "add",
      "inputs": [ "a", {"list": ["x"]} ],
      "mine" : [1.50, "\u0041"],
      "outputs": [{"name": "b"}]
    },
    {"name":"a","op":"relu","inputs":["x"],"outputs":[{"name":"a"}]}],
    "output_tree": {"k":
       ["b"]},
    "outputs": ["b", "\u0062"],
    "version": 1, "inputs": [{"name": "x", "default": {"a":
       null}}], "format": "cleave.graph", "name": "n\"1"})";
  const std::string written = write_graph_json(model_of(text));
  CHECK(written == header("n\\\"1") + R"(  "inputs": [
    {"name": "x", "default": {"a": null}}
  ],
  "outputs": ["b", "b"],
  "output_tree": {"k": ["b"]},
  "parameters": [],
  "nodes": [
    {"name":"a","op":"relu","inputs":["x"],"outputs":[{"name":"a"}]},
    {"name": "b", "op": "add", "inputs": [ "a", {"list": ["x"]} ], "mine" : [1.50, "\u0041"], "outputs": [{"name": "b"}]}
  ]
}
)");
  CHECK(write_graph_json(model_of(written)) == written);
}

TEST_CASE("parts and root have their own nodes, inputs and outputs") {
  const LoadedModel model = model_of(R"({"format": "cleave.graph", "version": 1, "name": "m",
    "inputs": [{"name": "x", "dtype": "float32", "shape": ["N"], "default": 1, "target": "x_"},
               {"name": "unused", "type": "scalar"}],
    "outputs": ["c", "x", "w2", "c"], "output_tree": ["c", {"k": "x"}, "w2", "c"],
    "parameters": [{"name": "w", "dtype": "float32", "shape": [2], "buffer": true},
                   {"name": "w2"}, {"name": "no"}],
    "nodes": [
      {"name": "a", "op": "chunk", "inputs": ["x", null], "kwargs": {"k": "w"},
       "outputs": [{"name": "a", "type": "tuple", "py_type": "tuple",
                    "elements": [{"dtype": "bool", "shape": []}]}, null, {"name": "a2"}]},
      {"name": "b", "op": "f", "inputs": [{"list": ["a"]}, "a2"], "module_parameters": ["w"],
       "outputs": [{"name": "b"}]},
      {"name": "c", "op": "g", "inputs": ["b", "x"], "outputs": [{"name": "c"}]}]})");
  const Written written = split(model, {0, 1, 0 + 2});
  CHECK(written.root == header("m") + R"(  "inputs": [
    {"name": "x", "dtype": "float32", "shape": ["N"], "default": 1, "target": "x_"},
    {"name": "unused", "type": "scalar"}
  ],
  "outputs": ["c", "x", "w2", "c"],
  "output_tree": ["c", {"k": "x"}, "w2", "c"],
  "parameters": [
    {"name": "w2"}
  ],
  "nodes": [
    {"name": "p0", "op": "cleave.call", "target": "p0", "inputs": ["x"], "outputs": [{"name": "a", "type": "tuple", "py_type": "tuple", "elements": [{"dtype": "bool", "shape": []}]}, {"name": "a2"}]},
    {"name": "p1", "op": "cleave.call", "target": "p1", "inputs": ["a", "a2"], "outputs": [{"name": "b"}]},
    {"name": "p2", "op": "cleave.call", "target": "p2", "inputs": ["b", "x"], "outputs": [{"name": "c"}]}
  ]
}
)");
  CHECK(written.parts[0] == header("p0") + R"(  "inputs": [
    {"name": "x", "dtype": "float32", "shape": ["N"], "default": 1, "target": "x_"}
  ],
  "outputs": ["a", "a2"],
  "parameters": [
    {"name": "w", "dtype": "float32", "shape": [2], "buffer": true}
  ],
  "nodes": [
    {"name": "a", "op": "chunk", "inputs": ["x", null], "kwargs": {"k": "w"}, "outputs": [{"name": "a", "type": "tuple", "py_type": "tuple", "elements": [{"dtype": "bool", "shape": []}]}, null, {"name": "a2"}]}
  ]
}
)");
  CHECK(written.parts[1] == header("p1") + R"(  "inputs": [
    {"name": "a", "type": "tuple", "py_type": "tuple", "elements": [{"dtype": "bool", "shape": []}]},
    {"name": "a2"}
  ],
  "outputs": ["b"],
  "parameters": [
    {"name": "w", "dtype": "float32", "shape": [2], "buffer": true}
  ],
  "nodes": [
    {"name": "b", "op": "f", "inputs": [{"list": ["a"]}, "a2"], "module_parameters": ["w"], "outputs": [{"name": "b"}]}
  ]
}
)");
  for (const std::string& part : written.parts) CHECK(model_of(part).warnings.empty());
  CHECK(model_of(written.root).graph.node_count() == 3);
}

TEST_CASE("an alias names a parameter of its own file, or none") {
  const LoadedModel model = model_of(R"({"format": "cleave.graph", "version": 1,
    "parameters": [{"name": "w"}, {"name": "v1", "alias_of": "w", "dtype": "bool"},
                   {"name": "v2", "alias_of": "v1"}, {"name": "v3", "alias_of": "w"}],
    "nodes": [
      {"name": "a", "op": "f", "inputs": ["v2", "v3"]},
      {"name": "b", "op": "f", "inputs": ["v1", "w"]},
      {"name": "c", "op": "f", "inputs": ["v1"]}]})");
  const Written written = split(model, {0, 1, 2});
  const auto parameters_of = [](const std::string& text) {
    const std::size_t begin = text.find("  \"parameters\"");
    return text.substr(begin, text.find("  \"nodes\"") - begin);
  };
  CHECK(parameters_of(written.parts[0]) ==
        "  \"parameters\": [\n    {\"name\": \"v2\"},\n"
        "    {\"name\": \"v3\", \"alias_of\": \"v2\"}\n  ],\n");
  CHECK(parameters_of(written.parts[1]) ==
        "  \"parameters\": [\n    {\"name\": \"v1\", \"alias_of\": \"w\", \"dtype\": \"bool\"},\n"
        "    {\"name\": \"w\"}\n  ],\n");
  CHECK(parameters_of(written.parts[2]) ==
        "  \"parameters\": [\n    {\"name\": \"v1\", \"dtype\": \"bool\"}\n  ],\n");
  for (const std::string& part : written.parts) model_of(part);
}

TEST_CASE("a parameter that is passed to a part becomes an input there") {
  const LoadedModel model = model_of(R"({"format": "cleave.graph", "version": 1,
    "parameters": [{"name": "w", "get_attr": true, "target": "t", "dtype": "bool", "shape": [1]}],
    "nodes": [{"name": "a", "op": "f", "inputs": ["w"]}]})");
  const Partition partition = partition_of(model.graph, {0});
  Boundaries boundaries = find_boundaries(model.graph, partition);
  std::swap(boundaries.inputs, boundaries.parameters);
  CHECK(write_part_json(model, partition, boundaries, PartId{0}) == header("p0") + R"(  "inputs": [
    {"name": "w", "dtype": "bool", "shape": [1]}
  ],
  "outputs": [],
  "parameters": [],
  "nodes": [
    {"name": "a", "op": "f", "inputs": ["w"]}
  ]
}
)");
  const std::string root = write_root_json(model, partition, boundaries);
  CHECK(root.find(
            R"({"name": "w", "get_attr": true, "target": "t", "dtype": "bool", "shape": [1]})") !=
        root.npos);
}

// A model as the reader of another format would make it.
LoadedModel made_model() {
  GraphBuilder builder;
  builder.set_name("made");
  const Dim dims[] = {Dim::fixed(2), Dim::symbol(builder.intern("N")), Dim()};
  const ShapeId shape = builder.intern_shape(dims);
  const ValueDecl x{"x", ValueType::tensor, DType::float32, shape, true};
  builder.add_input(x, {});
  builder.add_parameter({"w", ValueType::tensor, DType::int8, kNone<ShapeId>, true}, {});
  builder.add_node({.name = "n 1", .op = "Conv", .domain = "ai.x", .scope = "top.conv"});
  builder.add_operand(builder.value_named("x"), OperandSlot::positional(0));
  builder.add_operand(builder.value_named("w"), OperandSlot::positional(2));
  builder.add_operand(builder.value_named("x"), OperandSlot::positional(3).inside_list());
  builder.add_operand(builder.value_named("w"), OperandSlot::positional(3).inside_list());
  builder.add_operand(builder.value_named("x"), OperandSlot::keyword(builder.intern("k")));
  builder.add_operand(builder.value_named("w"), OperandSlot::capture());
  builder.add_output({"s", ValueType::sequence, DType::unknown, kNone<ShapeId>, true}, 1);
  const std::int64_t integers[] = {1, -2};
  const double reals[] = {1.0, 0.5};
  const std::string_view strings[] = {"a\n"};
  const std::span<const std::int64_t> one(integers, 1);
  builder.add_attribute(builder.intern("is"), integers, AttributeType::integers);
  builder.add_attribute(builder.intern("i"), one, AttributeType::integer);
  builder.add_attribute(builder.intern("b"), one, AttributeType::boolean);
  builder.add_attribute(builder.intern("rs"), reals, AttributeType::reals);
  builder.add_attribute(builder.intern("s"), strings, AttributeType::string);
  builder.add_opaque_attribute(builder.intern("body"));
  builder.set_measured_cost({.flops = 2, .time_us = -1, .bytes = -1});
  builder.add_graph_output(builder.value_named("s"), {});
  auto graph = builder.finish();
  REQUIRE(graph);
  return {.source = SourceFile::from_text("m.onnx", "0123456789"),
          .origin = OnnxOrigin{std::unique_ptr<OnnxModel, DeleteOnnxModel>(new OnnxModel)},
          .graph = std::move(*graph)};
}

TEST_CASE("a graph that was not read from JSON is written from its records") {
  LoadedModel model = made_model();
  OnnxTensor tensor;
  tensor.raw = model.source.bytes().substr(3, 4);
  model.onnx()->graph.initializers.push_back(tensor);
  model.onnx()->tensor_index = {0xffffffff, 0};
  const std::string written = write_graph_json(model);
  CHECK(written == header("made") + R"(  "inputs": [
    {"name": "x", "type": "tensor", "dtype": "float32", "shape": [2, "N", null]}
  ],
  "outputs": ["s"],
  "parameters": [
    {"name": "w", "type": "tensor", "dtype": "int8", "location": "m.onnx", "offset": 3, "bytes": 4}
  ],
  "nodes": [
    {"name": "n 1", "op": "Conv", "domain": "ai.x", "inputs": ["x", null, "w", {"list": ["x", "w"]}, "w"], "kwargs": {"k": "x"}, "outputs": [null, {"name": "s", "type": "sequence", "elements": [{"type": "tensor"}]}], "attributes": {"is": [1, -2], "i": 1, "b": true, "rs": [1.0, 0.5], "s": "a\n"}, "scope": "top.conv", "cost": {"flops": 2.0}}
  ]
}
)");
  const LoadedModel again = model_of(written);
  CHECK(again.warnings.empty());
  CHECK(write_graph_json(again) == written);
  CHECK(described(again.graph) ==
        "input x: float32[2, N, ?]\nparameter w: int8[...]\n"
        "node n 1 = Conv(0:x 2:w 3:[x] 3:[w] 4:w k=x )\n"
        "  is integers 1 -2\n  i integer 1\n  b boolean 1\n  rs reals 1 0.5\n  s string a\n\n"
        "  -> s: sequence\noutput s\n");
}

TEST_CASE("weights in another file are named by their path") {
  LoadedModel model = made_model();
  model.source = SourceFile::from_text("dir/m.onnx", "");
  OnnxTensor tensor;
  tensor.is_external = true;
  tensor.location = "w.bin";
  tensor.offset = 64;
  model.onnx()->graph.initializers.push_back(tensor);
  model.onnx()->tensor_index = {0xffffffff, 0};
  CHECK(
      write_graph_json(model).find(
          R"({"name": "w", "type": "tensor", "dtype": "int8", "location": "dir/w.bin", "offset": 64})") !=
      std::string::npos);
}

}  // namespace

}  // namespace cleave
