#include <array>
#include <limits>
#include <optional>
#include <vector>

#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

// ---- node lookup test ----

namespace {

const Graph& graph() {
  static const Graph graph = graph_from_text(R"(
    input x
    input y
    a = f(x, _, [x, y], y, k=y, l=[x], ^x) {n=2}
  )");
  return graph;
}

std::string name_of(const Operand* operand) {
  return operand == nullptr ? "none" : std::string(graph().value(operand->value).name);
}

TEST_CASE("an input is found by its position when it is one value") {
  const NodeId node = node_named(graph(), "a");
  CHECK(name_of(find_plain_input(graph(), node, 0)) == "x");
  CHECK(name_of(find_plain_input(graph(), node, 1)) == "none");
  CHECK(name_of(find_plain_input(graph(), node, 2)) == "none");
  CHECK(name_of(find_plain_input(graph(), node, 3)) == "y");
  CHECK(name_of(find_plain_input(graph(), node, 4)) == "none");
}

TEST_CASE("a keyword argument is found by its name when it is one value") {
  const NodeId node = node_named(graph(), "a");
  CHECK(name_of(find_plain_keyword(graph(), node, "k")) == "y");
  CHECK(name_of(find_plain_keyword(graph(), node, "l")) == "none");
  CHECK(name_of(find_plain_keyword(graph(), node, "m")) == "none");
}

TEST_CASE("an attribute is found by its name") {
  const NodeId node = node_named(graph(), "a");
  CHECK(find_attribute(graph(), node, "n") != nullptr);
  CHECK(find_attribute(graph(), node, "o") == nullptr);
}

}  // namespace

// ---- op name test ----

namespace {

TEST_CASE("the default domain has two names, every other domain one") {
  CHECK(plain_domain("").empty());
  CHECK(plain_domain("ai.onnx").empty());
  CHECK(plain_domain("ai.onnx.ml") == "ai.onnx.ml");
}

TEST_CASE("the name of an operator has its domain before two colons") {
  const auto parts = [](std::string_view text) {
    const ParsedOp name = parse_op(text);
    return std::string(name.domain) + "|" + std::string(name.op) + (name.has_domain ? "|own" : "");
  };
  CHECK(parts("Conv") == "|Conv");
  CHECK(parts("com.microsoft::Gelu") == "com.microsoft|Gelu|own");
  CHECK(parts("ai.onnx::Conv") == "|Conv|own");
  CHECK(parts("*::*") == "*|*|own");
  CHECK(parts("a::b::c") == "a|b::c|own");
  CHECK(parts("a::") == "a||own");
  CHECK(parts("torch.ops.aten.add.Tensor") == "|torch.ops.aten.add.Tensor");
  CHECK(op_text("", "Conv") == "Conv");
  CHECK(op_text("com.microsoft", "Gelu") == "com.microsoft::Gelu");
}

TEST_CASE("the opset of a domain is found under either of its names") {
  const Graph graph = graph_from_text("opset \"ai.onnx\" 13\n opset \"ml\" 2\n input x\n a = f(x)");
  CHECK(imported_opset(graph, "") == 13);
  CHECK(imported_opset(graph, "ai.onnx") == 13);
  CHECK(imported_opset(graph, "ml") == 2);
  CHECK_FALSE(imported_opset(graph, "other"));
}

}  // namespace

// ---- shape overlay test ----

namespace {

const char* const kOpen = R"(
  input x: float32[n,8]
  a: float32[n,8] = Relu(x)
  b: float32[n,4] = Slice(a)
  output b)";

ValueId output_of(const Graph& graph, const char* node) {
  return graph.outputs(node_named(graph, node))[0];
}

TEST_CASE("a graph with shapes shows them, and the graph below keeps its own") {
  const Graph graph = graph_from_text(kOpen);
  ShapeOverlay shapes;
  const std::vector<std::int64_t> sizes = {3, 8};
  shapes.add(output_of(graph, "a"), sizes);
  const Graph seen = graph.with_shapes(shapes);
  CHECK(value_bytes(seen, output_of(seen, "a")) == 3 * 8 * 4);
  CHECK(seen.shape(output_of(seen, "b"))[0].is_symbol());
  CHECK(seen.shape(output_of(seen, "b"))[1].size() == 4);
  CHECK_FALSE(value_bytes(graph, output_of(graph, "a")));
}

TEST_CASE("of two shapes for a value the first holds") {
  const Graph graph = graph_from_text(kOpen);
  ShapeOverlay shapes;
  shapes.add(output_of(graph, "a"), std::vector<std::int64_t>{3, 8});
  shapes.add(output_of(graph, "a"), std::vector<std::int64_t>{5});
  CHECK(graph.with_shapes(shapes).shape(output_of(graph, "a")).size() == 2);
}

TEST_CASE("shapes are laid over shapes") {
  const Graph graph = graph_from_text(kOpen);
  ShapeOverlay first, second;
  first.add(output_of(graph, "a"), std::vector<std::int64_t>{3, 8});
  second.add(output_of(graph, "b"), std::vector<std::int64_t>{3, 4});
  const Graph seen = graph.with_shapes(first).with_shapes(second);
  CHECK(value_bytes(seen, output_of(seen, "a")) == 3 * 8 * 4);
  CHECK(value_bytes(seen, output_of(seen, "b")) == 3 * 4 * 4);
}

TEST_CASE("a graph with shapes lives on without the graph below") {
  std::optional<Graph> graph = graph_from_text(kOpen);
  ShapeOverlay shapes;
  shapes.add(output_of(*graph, "a"), std::vector<std::int64_t>{});
  const Graph seen = graph->with_shapes(shapes);
  graph.reset();
  CHECK(seen.op(node_named(seen, "a")) == "Relu");
  CHECK(seen.has_rank(output_of(seen, "a")));
  CHECK(seen.shape(output_of(seen, "a")).empty());
  CHECK(seen.with_shapes({}).node_count() == 2);
}

}  // namespace

// ---- shape test ----

namespace {

const Dim kUnknown;
const Dim kBatch = Dim::symbol(NameId{7});

std::vector<Dim> sizes(std::initializer_list<std::int64_t> list) {
  std::vector<Dim> dims;
  for (const std::int64_t size : list) dims.push_back(Dim::fixed(size));
  return dims;
}

TEST_CASE("A dim is a size, a symbol or unknown") {
  CHECK(Dim::fixed(0).is_fixed());
  CHECK(Dim::fixed(224).size() == 224);
  CHECK(kBatch.is_symbol());
  CHECK(kBatch.name() == NameId{7});
  CHECK(Dim::symbol(NameId{0}).name() == NameId{0});
  CHECK(kUnknown.is_unknown());
  CHECK(!kUnknown.is_fixed());
  CHECK(kBatch != Dim::symbol(NameId{8}));
}

TEST_CASE("A symbol may know the size it was traced with, which counts elements and no more") {
  const Dim traced = Dim::symbol(NameId{7}, 3);
  CHECK(traced.is_symbol());
  CHECK(!traced.is_fixed());
  CHECK(traced.name() == NameId{7});
  CHECK(traced.counted_size() == 3);
  CHECK(kBatch.counted_size() == -1);
  CHECK(Dim::symbol(NameId{7}, 0).counted_size() == 0);
  CHECK(Dim::symbol(NameId{7}, std::int64_t{1} << 30).counted_size() == -1);
  CHECK(Dim::fixed(5).counted_size() == 5);
  CHECK(kUnknown.counted_size() == -1);
  CHECK(element_count(std::array{Dim::fixed(2), traced}) == 6U);
}

TEST_CASE("Axes count from the front or from the back") {
  CHECK(axis_of(0, 4) == 0U);
  CHECK(axis_of(-1, 4) == 3U);
  CHECK(axis_of(-4, 4) == 0U);
  CHECK(!axis_of(4, 4));
  CHECK(!axis_of(-5, 4));
  CHECK(!axis_of(0, 0));
  CHECK(!axis_of(std::numeric_limits<std::int64_t>::min(), 4));
}

TEST_CASE("Elements are the product of the dims") {
  CHECK(element_count(sizes({})) == 1U);
  CHECK(element_count(sizes({2, 3, 4})) == 24U);
}

TEST_CASE("A dim that is not fixed leaves the count unknown, unless another is zero") {
  CHECK(!element_count(std::array{Dim::fixed(2), kBatch}));
  CHECK(!element_count(std::array{kUnknown}));
  CHECK(element_count(std::array{kUnknown, Dim::fixed(0)}) == 0U);
}

TEST_CASE("A product past 63 bits is not a count") {
  CHECK(element_count(sizes({std::int64_t{1} << 31, std::int64_t{1} << 31})) == std::uint64_t{1}
                                                                                    << 62);
  CHECK(!element_count(sizes({std::int64_t{1} << 32, std::int64_t{1} << 31})));
  CHECK(element_count(sizes({std::int64_t{1} << 62, std::int64_t{1} << 62, 0})) == 0U);
}

TEST_CASE("Bytes follow from the width of elements; elements below a byte are packed") {
  CHECK(tensor_bytes(DType::float32, sizes({1, 64, 112, 112})) == 3'211'264U);
  CHECK(tensor_bytes(DType::boolean, sizes({5})) == 5U);
  CHECK(tensor_bytes(DType::complex128, sizes({2})) == 32U);
  CHECK(tensor_bytes(DType::int4, sizes({3})) == 2U);
  CHECK(tensor_bytes(DType::int4, sizes({4})) == 2U);
  CHECK(tensor_bytes(DType::uint2, sizes({5})) == 2U);
}

TEST_CASE("Bytes are unknown where an element has no width, or there are too many") {
  CHECK(!tensor_bytes(DType::string, sizes({3})));
  CHECK(!tensor_bytes(DType::unknown, sizes({3})));
  CHECK(!tensor_bytes(DType::float64, sizes({std::int64_t{1} << 62})));
}

}  // namespace

// ---- written memory test ----

namespace {

// "a<b x": a before b, since both use x.
std::string order_in(const char* text) {
  const Graph graph = graph_from_text(text);
  std::string all;
  for (const RunOrder& order : order_of_writes(graph)) {
    all += (all.empty() ? "" : ", ") + std::string(graph.node(order.before).name) + "<" +
           std::string(graph.node(order.after).name) + " " +
           order.memory.substr(1, order.memory.find('"', 1) - 1);
  }
  return all;
}

TEST_CASE("A write in place comes after earlier uses of the memory and before later ones") {
  CHECK(
      order_in("input x\n a = f(x)\n b = f(a)\n w = torch.relu_(a)\n c = f(a)\n output b, c, w") ==
      "a<w a, b<w a, w<c a");
  CHECK(order_in("input x\n a = f(x)\n b = f(a)\n output b").empty());
}

TEST_CASE(
    "Operators, methods and overloads say that they write; names with two underscores do not") {
  for (const char* const op : {"_operator.iadd", "_operator.setitem", "add_",
                               "torch.ops.aten.add_.Tensor", "torch.Tensor.add_"}) {
    const std::string text =
        std::string("input x\n input y\n a = f(x)\n w = ") + op + "(a, y)\n c = f(a)\n output c";
    CHECK(order_in(text.c_str()) == "a<w a, w<c a");
  }
  CHECK(order_in("input x\n a = f(x)\n w = x.__iadd__(a)\n c = f(a)\n output c").empty());
}

TEST_CASE("Views share the memory of what they view") {
  CHECK(order_in("input x\n a = f(x)\n v = view(a)\n w = add_(v)\n c = f(a)\n output c") ==
        "a<w a, v<w a, w<c a");
}

}  // namespace

}  // namespace cleave
