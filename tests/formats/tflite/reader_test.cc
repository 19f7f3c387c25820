#include "formats/tflite/tflite.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/cost/cost.h"
#include "formats/report/words/words.h"
#include "formats/tflite/internal.h"
#include "tests/catch2.h"
#include "tests/formats/tflite/flat_model.h"

namespace cleave {

namespace {

std::vector<std::string> names_of(const Graph& graph, auto ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.emplace_back(graph.value(id).name);
  return names;
}

const Attribute* attribute_of(const Graph& graph, NodeId node, std::string_view name) {
  for (const Attribute& attribute : graph.attributes(node)) {
    if (graph.text(attribute.name) == name) return &attribute;
  }
  return nullptr;
}

TEST_CASE("tflite: a node is called as its first output, its op as the builtin operator") {
  const TfliteRead read = read_bytes(small_model().bytes());
  const Graph& graph = read.loaded.graph;
  REQUIRE(graph.node_count() == 2);
  CHECK(graph.node(NodeId{0}).name == "net/conv");
  CHECK(graph.op(NodeId{0}) == "CONV_2D");
  CHECK(graph.domain(NodeId{0}) == "tflite");
  CHECK(graph.text(graph.node(NodeId{0}).scope) == "net");
  CHECK(names_of(graph, graph.inputs()) == std::vector<std::string>{"x"});
  CHECK(names_of(graph, graph.parameters()) == std::vector<std::string>{"net/weight"});
}

TEST_CASE("tflite: fields that are not stored have the schema's defaults, enums their names") {
  const TfliteRead read = read_bytes(small_model().bytes());
  const Graph& graph = read.loaded.graph;
  const Attribute* const dilation = attribute_of(graph, NodeId{0}, "dilation_w_factor");
  const Attribute* const padding = attribute_of(graph, NodeId{0}, "padding");
  REQUIRE((dilation != nullptr && padding != nullptr));
  CHECK(graph.attribute_pools().integers_of(*dilation).front() == 1);
  CHECK(graph.attribute_pools().strings_of(*padding).front() == "SAME");
}

TEST_CASE("tflite: lists of numbers, truths and reals are values; those of bytes have none") {
  const auto texts_of = [](std::uint32_t op, SchemaFieldId slot, OutTable options) {
    FlatModel model;
    model.begin_subgraph("main");
    const std::int32_t x = model.tensor("x", {2, 1}), y = model.tensor("y", {2, 1});
    model.op(op, {x}, {y}).set(slot, std::move(options));
    model.set_ends({x}, {y});
    const TfliteRead read = read_bytes(model.bytes());
    const Graph& graph = read.loaded.graph;
    std::string texts;
    for (const Attribute& attribute : graph.attributes(NodeId{0})) {
      if (attribute.type == AttributeType::integer) continue;
      texts += std::string(graph.text(attribute.name)) + "=" +
               attribute_text(graph.attribute_pools(), attribute) + "\n";
    }
    return texts;
  };
  OutTable convolution(schema_table("StablehloConvolutionOptions"));
  const auto longs = [](const std::vector<std::int64_t>& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), 8 * values.size());
  };
  convolution.set(schema_field("StablehloConvolutionOptions", "window_strides"),
                  longs({std::int64_t{1} << 40, -2}));
  convolution.set(schema_field("StablehloConvolutionOptions", "window_reversal"),
                  std::string_view("\1\0", 2));
  convolution.set(schema_field("StablehloConvolutionOptions", "precision_config"),
                  std::vector<std::int32_t>{0, 1});
  CHECK(texts_of(schema_operator("STABLEHLO_CONVOLUTION"), tfl::op::builtin_options_2,
                 std::move(convolution)) ==
        "window_strides=[1099511627776, -2]\nwindow_reversal=[1, 0]\nprecision_config=...\n");
  OutTable squeeze(schema_table("SqueezeOptions"));
  squeeze.set(schema_field("SqueezeOptions", "squeeze_dims"), std::vector<std::int32_t>{-1});
  CHECK(texts_of(schema_operator("SQUEEZE"), tfl::op::builtin_options, std::move(squeeze)) ==
        "squeeze_dims=[-1]\n");
  OutTable bucketize(schema_table("BucketizeOptions"));
  const std::vector<float> bounds = {0.5F, -2};
  bucketize.set(schema_field("BucketizeOptions", "boundaries"),
                {reinterpret_cast<const char*>(bounds.data()), 8});
  CHECK(texts_of(schema_operator("BUCKETIZE"), tfl::op::builtin_options, std::move(bucketize)) ==
        "boundaries=[0.5, -2]\n");
  OutTable call(schema_table("StablehloCustomCallOptions"));
  call.set(schema_field("StablehloCustomCallOptions", "call_target_name"), "f");
  call.set(schema_field("StablehloCustomCallOptions", "has_side_effect"), std::int64_t{1});
  call.set(schema_field("StablehloCustomCallOptions", "custom_attributes"), std::string_view("ab"));
  CHECK(texts_of(schema_operator("STABLEHLO_CUSTOM_CALL"), tfl::op::builtin_options_2,
                 std::move(call)) ==
        "call_target_name=\"f\"\nhas_side_effect=true\ncustom_attributes=...\n");
}

TEST_CASE("tflite: operators on constants only are constants, and nodes with --fold off") {
  FlatModel model;
  model.begin_subgraph("main");
  const std::int32_t x = model.tensor("x", {2});
  const std::int32_t half = model.tensor("half", {2}, 1, model.buffer(std::string(4, 'h')));
  const std::int32_t weight = model.tensor("weight", {2}), y = model.tensor("y", {2});
  model.op(schema_operator("DEQUANTIZE"), {half}, {weight});
  model.op(schema_operator("MUL"), {x, weight}, {y});
  model.set_ends({x}, {y});
  const TfliteRead read = read_bytes(model.bytes());
  CHECK(read.loaded.graph.node_count() == 1);
  CHECK(read.loaded.graph.constants().size() == 1);
  const TfliteRead off =
      read_bytes(model.bytes(), {.dims = {}, .inputs = {}, .folding = Folding::off});
  CHECK(off.loaded.graph.node_count() == 2);
  CHECK(off.loaded.graph.constants().empty());
}

TEST_CASE("tflite: names that are empty or repeated are made unique, with a note") {
  FlatModel model;
  model.begin_subgraph("main");
  const std::int32_t x = model.tensor("", {2}), a = model.tensor("a", {2}),
                     b = model.tensor("a", {2});
  model.op(schema_operator("RELU"), {x}, {a});
  model.op(schema_operator("RELU"), {a}, {b});
  model.set_ends({x}, {b});
  const TfliteRead read = read_bytes(model.bytes());
  const Graph& graph = read.loaded.graph;
  CHECK(names_of(graph, graph.inputs()) == std::vector<std::string>{"t0"});
  CHECK(graph.node(NodeId{1}).name == "a#2");
  REQUIRE(read.loaded.notes.size() == 1);
  CHECK(read.loaded.notes.front().starts_with("2 tensors have no name of its own"));
}

TEST_CASE("tflite: a resource variable is an input and an output of the graph") {
  const TfliteRead read = read_bytes(model_with_state().bytes());
  const Graph& graph = read.loaded.graph;
  CHECK(graph.node_count() == 2);
  CHECK(names_of(graph, graph.inputs()) == std::vector<std::string>{"x", "before"});
  CHECK(names_of(graph, graph.outputs()) == std::vector<std::string>{"y", "sum"});
  const TfliteState& state = read.loaded.model->state;
  REQUIRE(state.variables.size() == 1);
  CHECK(state.variables[0].shared_name == "counter");
  CHECK(state.variables[0].init_call == 0);
}

TEST_CASE("tflite: open dims have the size in the file until --dim sets them") {
  FlatModel model = small_model();
  for (const std::int32_t tensor : {0, 2, 3}) {
    model.tensor_table(tensor).set(schema_field("Tensor", "shape_signature"),
                                   std::vector<std::int32_t>{-1, 4, 4, tensor == 0 ? 2 : 3});
  }
  const std::string bytes = model.bytes();
  const TfliteRead open = read_bytes(bytes);
  const Dim dim = open.loaded.graph.shape(ValueId{0})[0];
  CHECK(dim.is_symbol());
  CHECK(dim.counted_size() == 1);
  const TfliteRead bound = read_bytes(bytes, {.dims = {{"N", 8}}, .inputs = {}});
  CHECK(bound.loaded.graph.shape(ValueId{0})[0] == Dim::fixed(8));
  CHECK(op_flops(bound.loaded.graph, NodeId{0}) == 2.0 * (8 * 4 * 4 * 3) * 2);
  const TfliteRead shaped = read_bytes(bytes, {.dims = {}, .inputs = {{"x", {8, 4, 4, 2}}}});
  CHECK(shaped.loaded.graph.shape(ValueId{0})[0] == Dim::fixed(8));
}

// The small model as signature "step" behind "reset", which sets a variable only.
FlatModel model_with_signatures() {
  FlatModel model = small_model();
  model.begin_subgraph("reset");
  const std::int32_t handle = model.tensor("handle", {}, kResource);
  const std::int32_t zeros =
      model.tensor("zeros", {4}, kFloat32, model.buffer(std::string(16, '\0')));
  model.op(schema_operator("VAR_HANDLE"), {}, {handle});
  model.op(schema_operator("ASSIGN_VARIABLE"), {handle, zeros}, {});
  model.set_ends({}, {});
  std::vector<OutTable> signatures;
  for (const auto& [key, subgraph] : {std::pair("reset", 1), std::pair("step", 0)}) {
    OutTable signature(schema_table("SignatureDef"));
    signature.set(tfl::signature::key, std::string_view(key));
    signature.set(tfl::signature::subgraph_index, std::int64_t{subgraph});
    signatures.push_back(std::move(signature));
  }
  model.root().set(tfl::model::signature_defs, std::move(signatures));
  return model;
}

TEST_CASE("tflite: the first signature that has nodes is read unless one is asked for") {
  const std::string bytes = model_with_signatures().bytes();
  const TfliteRead read = read_bytes(bytes);
  CHECK(read.loaded.graph.node_count() == 2);
  CHECK(read.loaded.model->signature.bytes(tfl::signature::key) == "step");
  CHECK(
      read.loaded.notes ==
      std::vector<std::string>{"this is signature \"step\"; --signature reads another: \"reset\""});
  const TfliteRead reset = read_bytes(bytes, {.dims = {}, .inputs = {}, .signature = "reset"});
  CHECK(reset.loaded.graph.node_count() == 0);
}

TEST_CASE("tflite: bodies are nodes of the operator that calls them") {
  FlatModel model;
  model.begin_subgraph("main");
  const std::int32_t which = model.tensor("which", {}, 6), x = model.tensor("x", {2});
  const std::int32_t y = model.tensor("y", {2});
  OutTable options(schema_table("IfOptions"));
  options.set(schema_field("IfOptions", "then_subgraph_index"), std::int64_t{1});
  options.set(schema_field("IfOptions", "else_subgraph_index"), std::int64_t{2});
  model.op(schema_operator("IF"), {which, x}, {y})
      .set(tfl::op::builtin_options, std::move(options));
  model.set_ends({which, x}, {y});
  for (const char* const name : {"then", "else"}) {
    model.begin_subgraph(name);
    const std::int32_t in = model.tensor("in", {2}), out = model.tensor("out", {2});
    model.op(schema_operator("NEG"), {in}, {out});
    model.set_ends({in}, {out});
  }
  const TfliteRead read = read_bytes(model.bytes());
  CHECK(read.loaded.graph.node_count() == 1);
  CHECK(read.loaded.graph.body_nodes(NodeId{0}).size() == 2);
}

TEST_CASE("tflite: models that say impossible things are refused by what they say") {
  SECTION("a tensor that does not exist") {
    FlatModel model = small_model();
    model.op(schema_operator("RELU"), {17}, {3});
    CHECK(fault_of_tflite(model.bytes()) ==
          "subgraph 0: operator 2 (RELU): its inputs name tensor 17, but there are 4");
  }
  SECTION("two makers") {
    FlatModel model = small_model();
    model.op(schema_operator("RELU"), {0}, {2});
    CHECK(fault_of_tflite(model.bytes()) ==
          "subgraph 0: operator 2 (RELU): it makes tensor 2, which operator 0 makes, too");
  }
  SECTION("data that is too short") {
    FlatModel model = small_model();
    model.tensor_table(1).set(tfl::tensor::shape,
                              std::vector<std::int32_t>{1 << 30, 1 << 30, 4, 4});
    CHECK(fault_of_tflite(model.bytes()) ==
          "subgraph 0: tensor 1, \"net/weight\", has 24 bytes of data, fewer than its shape asks "
          "for");
  }
  SECTION("data in another file that is too short") {
    FlatModel model = small_model();
    model.move_out(1, 7, "weights.bin", 0, 23);
    CHECK(fault_of_tflite(model.bytes()) ==
          "subgraph 0: tensor 1, \"net/weight\", has 23 bytes of data, fewer than its shape asks "
          "for");
  }
  SECTION("data in an external buffer that there is not") {
    FlatModel model = small_model();
    model.tensor_table(1).set(tfl::tensor::external_buffer, std::int64_t{9});
    CHECK(fault_of_tflite(model.bytes()) ==
          "subgraph 0: tensor 1 is in external buffer 9, which the model does not have");
  }
  SECTION("external buffers of one id") {
    FlatModel model = small_model();
    model.move_out(1, 7, "weights.bin", 0, 24);
    model.move_out(0, 7, "more.bin", 0, 128);
    CHECK(fault_of_tflite(model.bytes()) == "several external buffers have the id 7");
  }
  SECTION("a subgraph that calls itself") {
    FlatModel model = small_model();
    OutTable options(schema_table("WhileOptions"));
    model.op(schema_operator("WHILE"), {0}, {}).set(tfl::op::builtin_options, std::move(options));
    CHECK(fault_of_tflite(model.bytes()) ==
          "subgraph 0 calls itself, or subgraphs that call themselves");
  }
  SECTION("an old version") {
    FlatModel model = small_model();
    model.root().set(tfl::model::version, std::int64_t{1});
    CHECK(fault_of_tflite(model.bytes()) ==
          "is of version 1 of the format, from before 2017; cleave reads version 3");
  }
  SECTION("more operators than the limit") {
    CHECK(fault_of_tflite(small_model().bytes(), {.nodes = 1}) ==
          "has more than 1 nodes; --limit nodes=N sets the most that is read");
  }
}

TEST_CASE("tflite: tensors of each type need as many bytes of data as their shape asks for") {
  for (std::uint8_t type = 0; type < 23; ++type) {
    const std::uint64_t bits = tflite_type_bits(type);
    const auto fault_with = [&](std::uint64_t bytes) {
      FlatModel model;
      model.begin_subgraph("main");
      const std::int32_t x = model.tensor("x", {1});
      model.tensor("w", {3, 5}, type, model.buffer(std::string(bytes, 'w')));
      model.set_ends({x}, {x});
      return fault_of_tflite(model.bytes());
    };
    CAPTURE(type, bits);
    const std::uint64_t needed = (15 * bits + 7) / 8;
    CHECK(fault_with(std::max<std::uint64_t>(needed, 1)).empty());
    CHECK(fault_with(needed + 9).empty());
    if (needed < 2) continue;
    CHECK(fault_with(needed - 1) == "subgraph 0: tensor 1, \"w\", has " +
                                        std::to_string(needed - 1) +
                                        " bytes of data, fewer than its shape asks for");
    CHECK(fault_with(1) ==
          "subgraph 0: tensor 1, \"w\", has 1 bytes of data, fewer than its shape asks for");
  }
}

TEST_CASE("tflite: shapes whose product overflows are refused where data is there") {
  const auto fault_with = [](std::vector<std::int32_t> shape) {
    FlatModel model;
    model.begin_subgraph("main");
    const std::int32_t x = model.tensor("x", {1});
    model.tensor("w", std::move(shape), kInt8, model.buffer("1234"));
    model.set_ends({x}, {x});
    return fault_of_tflite(model.bytes());
  };
  constexpr std::int32_t kMost = INT32_MAX;
  CHECK(fault_with({}).empty());
  CHECK(fault_with({4}).empty());
  CHECK(fault_with({2, 2}).empty());
  CHECK(fault_with({kMost, kMost, 0, kMost}).empty());
  CHECK(fault_with({5}).ends_with("fewer than its shape asks for"));
  CHECK(fault_with({kMost, kMost, kMost}).ends_with("fewer than its shape asks for"));
  CHECK(fault_with({-1}) == "subgraph 0: tensor 1 has the dim -1");
}

TEST_CASE("tflite: numbers of tensors, codes, buffers and types are those that there are") {
  const auto fault_with = [](const std::function<void(FlatModel&)>& change) {
    FlatModel model = small_model();
    change(model);
    return fault_of_tflite(model.bytes());
  };
  const auto with_op = [&](std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs) {
    return fault_with([&](FlatModel& model) {
      model.tensor("more", {1});
      model.op(schema_operator("RELU"), inputs, outputs);
    });
  };
  CHECK(with_op({0}, {4}).empty());
  CHECK(with_op({-1, 0}, {4}).empty());
  CHECK(with_op({5}, {4}) ==
        "subgraph 0: operator 2 (RELU): its inputs name tensor 5, but there are 5");
  CHECK(with_op({-2}, {4}) ==
        "subgraph 0: operator 2 (RELU): its inputs name tensor -2, but there are 5");
  CHECK(with_op({0}, {-1}) ==
        "subgraph 0: operator 2 (RELU): its outputs name tensor -1, but there are 5");
  CHECK(with_op({0}, {0}) ==
        "subgraph 0: operator 2 (RELU): it makes tensor 0, which is an input of the subgraph");
  CHECK(with_op({0}, {2}) ==
        "subgraph 0: operator 2 (RELU): it makes tensor 2, which operator 0 makes, too");
  CHECK(fault_with([](FlatModel& model) { model.set_ends({4}, {3}); }) ==
        "subgraph 0: its inputs name tensor 4, but there are 4");
  CHECK(fault_with([](FlatModel& model) { model.set_ends({0}, {-1}); }) ==
        "subgraph 0: its outputs name tensor -1, but there are 4");
  const auto with_buffer = [&](std::int64_t number) {
    return fault_with(
        [&](FlatModel& model) { model.tensor_table(0).set(tfl::tensor::buffer, number); });
  };
  CHECK(with_buffer(1).ends_with("fewer than its shape asks for"));
  CHECK(with_buffer(2) == "subgraph 0: tensor 0 is in buffer 2, but there are 2");
  const auto with_type = [&](std::int64_t number) {
    return fault_with(
        [&](FlatModel& model) { model.tensor_table(0).set(tfl::tensor::type, number); });
  };
  CHECK(with_type(22).empty());
  CHECK(with_type(-1) == "subgraph 0: tensor 0 is of type -1, which is newer than this cleave");
  CHECK(with_type(100) == "subgraph 0: tensor 0 is of type 100, which is newer than this cleave");
  const auto with_code = [&](std::int64_t number) {
    return fault_with([&](FlatModel& model) {
      const std::int32_t more = model.tensor("more", {1});
      model.op(schema_operator("RELU"), {0}, {more}).set(tfl::op::opcode_index, number);
    });
  };
  CHECK(with_code(1).empty());
  CHECK(with_code(2) == "subgraph 0: operator 2 has code 2, but there are 2");
  const auto of_operator = [&](std::uint32_t code) {
    return fault_with([&](FlatModel& model) {
      const std::int32_t more = model.tensor("more", {1});
      model.op(code, {0}, {more});
    });
  };
  CHECK(of_operator(kSchemaOperatorCount - 1).empty());
  CHECK(of_operator(kSchemaOperatorCount) == "operator code 2 is " +
                                                 std::to_string(kSchemaOperatorCount) +
                                                 ", an operator that is newer than this cleave");
}

TEST_CASE("tflite: an operator reads what earlier ones make, not what it makes itself") {
  const auto fault = [](std::vector<std::int32_t> inputs) {
    FlatModel model = small_model();
    const std::int32_t one = model.tensor("one", {1}), two = model.tensor("two", {1});
    model.op(schema_operator("CONCATENATION"), std::move(inputs), {one});
    model.op(schema_operator("RELU"), {one}, {two});
    return fault_of_tflite(model.bytes());
  };
  CHECK(fault({-1, 1, 0, 3}).empty());
  CHECK(fault({-1, 1, 4}).find("operator 2 reads tensor 4, which operator 2 makes") !=
        std::string::npos);
  CHECK(fault({0, 5}) == "subgraph 0: operator 2 reads tensor 5, which operator 3 makes later");
}

TEST_CASE(
    "tflite: operators that share a variable tensor stay together, after some that are no node") {
  FlatModel model;
  model.begin_subgraph("main");
  const std::int32_t x = model.tensor("x", {2}), y = model.tensor("y", {2});
  const std::int32_t handle = model.tensor("handle", {}, kResource);
  const std::int32_t read = model.tensor("read", {2}), state = model.tensor("state", {2}),
                     alone = model.tensor("alone", {2}), made = model.tensor("made", {2}),
                     more = model.tensor("more", {2}), last = model.tensor("last", {2});
  for (const std::int32_t tensor : {state, alone}) {
    model.tensor_table(tensor).set(tfl::tensor::is_variable, std::int64_t{1});
  }
  model.op(schema_operator("VAR_HANDLE"), {}, {handle});
  model.op(schema_operator("READ_VARIABLE"), {handle}, {read});
  model.op(schema_operator("ADD"), {x, state}, {made});
  model.op(schema_operator("SQRT"), {made}, {more});
  model.op(schema_operator("SVDF"), {more, read, read, -1, state}, {last});
  model.op(schema_operator("ADD"), {last, alone}, {y});
  model.set_ends({x}, {y});
  const TfliteRead loaded = read_bytes(model.bytes());
  REQUIRE(loaded.loaded.graph.node_count() == 4);
  CHECK(tflite_ties(loaded.model()).whole ==
        std::vector<std::vector<NodeId>>{{NodeId{0}, NodeId{2}}});
}

TEST_CASE("tflite: a variable is a value unless it is set up by what is no plain write") {
  for (const bool is_absent : {false, true}) {
    FlatModel model = model_with_state();
    if (is_absent) model.op(schema_operator("ASSIGN_VARIABLE"), {0, -1}, {});
    const TfliteRead read = read_bytes(model.bytes());
    CHECK(read.model().state.variables.empty() == is_absent);
    CHECK(read.model().state.is_value == !is_absent);
    CHECK(read.loaded.graph.inputs().size() == (is_absent ? 1U : 2U));
  }
}

TEST_CASE("tflite: data of an external buffer may be larger than all memory") {
  FlatModel model = small_model();
  model.move_out(1, 7, "weights.bin", 0, std::uint64_t{1} << 61);
  model.tensor_table(1).set(tfl::tensor::shape, std::vector<std::int32_t>{30, 1, 1, 2});
  CHECK(fault_of_tflite(model.bytes()).empty());
}

TEST_CASE("tflite: limits of names, dims, values and nodes are those that are given") {
  const auto fault = [](const ModelLimits& limits) {
    return fault_of_tflite(small_model().bytes(), limits);
  };
  CHECK(fault({.nodes = 2}).empty());
  CHECK(fault({.values = 4}).empty());
  CHECK(fault({.values = 3}).find("has more than 3 values") != std::string::npos);
  CHECK(fault({.dims = 4}).empty());
  CHECK(fault({.dims = 3}).find("has more than 3 dims") != std::string::npos);
  CHECK(fault({.name_bytes = 10}).empty());
  CHECK(fault({.name_bytes = 9}).find("subgraph 0: the name of tensor 1 has more than 9 bytes") !=
        std::string::npos);
  FlatModel model = small_model();
  model.tensor_table(0).set(tfl::tensor::name, "\xff");
  CHECK(fault_of_tflite(model.bytes()) ==
        "subgraph 0: the name of tensor 0, \"\\xFF\", is not UTF-8: --limit utf8=lenient reads it "
        "all the "
        "same");
  CHECK(fault_of_tflite(model.bytes(), {.names = NameBytes::any}).empty());
}

}  // namespace

}  // namespace cleave
