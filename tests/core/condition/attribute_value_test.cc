#include "core/condition/attribute_value.h"

#include <limits>
#include <optional>
#include <vector>

#include "core/support/rule_check.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

AttributeValue list_of(std::initializer_list<std::int64_t> numbers) {
  std::vector<Literal> list;
  for (const std::int64_t number : numbers) list.emplace_back(number);
  return list;
}

// The implied value of an attribute of the only node of a graph.
std::optional<AttributeValue> implied(std::string_view text, std::string_view attribute) {
  const Graph graph = graph_from_text(text);
  return implied_attribute(graph, *graph.nodes().begin(), attribute);
}

constexpr std::string_view kConv =
    "input x: float32[1,3,8,8]\n param w: float32[4,3,5,7]\n a = Conv(x, w)";

TEST_CASE("a convolution has a 1 for each spatial axis, no padding and its weight's kernel") {
  CHECK(implied(kConv, "dilations") == list_of({1, 1}));
  CHECK(implied(kConv, "strides") == list_of({1, 1}));
  CHECK(implied(kConv, "pads") == list_of({0, 0, 0, 0}));
  CHECK(implied(kConv, "kernel_shape") == list_of({5, 7}));
  CHECK_FALSE(implied(kConv, "group"));
}

TEST_CASE("the padding is not implied where another attribute decides it") {
  const std::string head = "input x: float32[1,3,8,8]\n param w: float32[4,3,5,7]\n a = ";
  CHECK_FALSE(implied(head + "Conv(x, w) {auto_pad=\"SAME_UPPER\"}", "pads"));
  CHECK(implied(head + "Conv(x, w) {auto_pad=\"VALID\"}", "pads") == list_of({0, 0, 0, 0}));
  CHECK_FALSE(implied(head + "ConvTranspose(x, w) {output_shape=[9, 9]}", "pads"));
  CHECK(implied(head + "ConvTranspose(x, w)", "output_padding") == list_of({0, 0}));
}

TEST_CASE("a pool of unknown rank takes the rank of its kernel") {
  CHECK(implied("input x: float32\n a = MaxPool(x) {kernel_shape=[3]}", "strides") == list_of({1}));
  CHECK_FALSE(implied("input x: float32\n a = MaxPool(x)", "strides"));
}

TEST_CASE("the axes follow from the rank if no input gives them") {
  CHECK(implied("input x: float32[2,3,4]\n a = Transpose(x)", "perm") == list_of({2, 1, 0}));
  CHECK(implied("input x: float32[2,n,4]\n a = ReduceMean(x)", "axes") == list_of({0, 1, 2}));
  CHECK_FALSE(implied("input x: float32[2]\n input i\n a = ReduceMean(x, i)", "axes"));
  CHECK(implied("input x: float32[1,3,1]\n a = Squeeze(x)", "axes") == list_of({0, 2}));
  CHECK_FALSE(implied("input x: float32[1,n]\n a = Squeeze(x)", "axes"));
  CHECK_FALSE(implied("input x: float32\n a = Transpose(x)", "perm"));
}

TEST_CASE("a split without sizes makes equal parts, and the last part is the rest") {
  CHECK(implied("input x: float32[2,9]\n a, b = Split(x) {axis=-1}", "split") == list_of({5, 4}));
  CHECK_FALSE(implied("input x: float32[n]\n a, b = Split(x)", "split"));
}

TEST_CASE("an attribute that came later has the value that keeps the earlier behaviour") {
  CHECK(implied("input x\n a = Resize(x)", "antialias") == AttributeValue(std::int64_t{0}));
  CHECK(implied("input x\n a = Gelu(x)", "approximate") == AttributeValue("none"));
  CHECK_FALSE(implied("input x\n a = ml::Resize(x)", "antialias"));
}

OpFacts onnx_like_facts() {
  OpFacts facts;
  facts.default_attribute = [](std::string_view, std::string_view, std::int64_t, std::string_view) {
    return std::optional<AttributeValue>();
  };
  return facts;
}

bool rule_holds(std::string_view text, const AttributeRule& attribute) {
  const Graph graph = graph_from_text(text);
  Rule rule;
  rule.attributes = {attribute};
  std::vector<FailedCondition> failed;
  find_failed_conditions(graph, *graph.nodes().begin(), rule, onnx_like_facts(), failed);
  return failed.empty();
}

TEST_CASE("a rule's condition sees the implied value in models that import an opset") {
  const AttributeRule no_dilation{"dilations", {list_of({1, 1})}, {}, {}};
  CHECK(rule_holds("opset \"\" 13\n" + std::string(kConv), no_dilation));
  CHECK_FALSE(rule_holds(kConv, no_dilation));
}

TEST_CASE("negative axes equal the axes counted from the front if the rank is known") {
  const AttributeRule last{"axis", {AttributeValue(std::int64_t{-1})}, {}, {}};
  CHECK(rule_holds("input x: float32[1,2,3,4]\n a = Softmax(x) {axis=3}", last));
  CHECK_FALSE(rule_holds("input x: float32[1,2,3,4]\n a = Softmax(x) {axis=2}", last));
  CHECK_FALSE(rule_holds("input x: float32\n a = Softmax(x) {axis=3}", last));
  CHECK(rule_holds("input x: float32\n a = Softmax(x) {axis=-1}", last));
  const AttributeRule both{"axes", {list_of({2, 3})}, {}, {}};
  CHECK(rule_holds("input x: float32[1,2,3,4]\n a = ReduceMean(x) {axes=[-1, -2]}", both));
  CHECK(rule_holds("input x: float32[1,2]\n a: float32[1,2,1,1] = Unsqueeze(x) {axes=[-2, -1]}",
                   both));
}

// A number as it is, which neither an integer of 64 bits nor a double holds for all.
std::optional<long double> number_of(const AttributeValue& value) {
  if (const auto* const integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* const real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

TEST_CASE("values are equal when their numbers or texts are, and then they have one key") {
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  std::vector<AttributeValue> values;
  for (const std::int64_t number :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{1} << 53,
        (std::int64_t{1} << 53) + 1, kLeast, kLeast + 1, kMost, kMost - 1}) {
    values.emplace_back(number);
  }
  for (const double number :
       {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 0x1p53, 0x1p63, -0x1p63, 0x1.8p63, -0x1.8p63, 1e300,
        std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    values.emplace_back(number);
  }
  for (const char* const text : {"", "0", "1", "i1", "[", "d0"}) values.emplace_back(text);
  const std::size_t singles = values.size();
  for (std::size_t a = 0; a < singles; ++a) {
    for (std::size_t b = 0; b < singles; ++b) {
      const auto x = number_of(values[a]), y = number_of(values[b]);
      const bool same = x && y ? *x == *y : values[a] == values[b];
      INFO(a << " and " << b);
      CHECK(equal_values(values[a], values[b]) == same);
      CHECK((value_key(values[a]) == value_key(values[b])) == same);
    }
  }
}

TEST_CASE("lists are equal when they have equal items in one order, and no list equals an item") {
  using List = std::vector<Literal>;
  const std::vector<AttributeValue> lists = {
      List{},         List{1.0},      List{1.0, 2.0}, List{2.0, 1.0},     List{1.0, 2.0, 3.0},
      List{"1", "2"}, List{"1", 2.0}, List{"i1"},     List{"1", "2", ""}, AttributeValue(1.0)};
  for (std::size_t a = 0; a < lists.size(); ++a) {
    for (std::size_t b = 0; b < lists.size(); ++b) {
      INFO(a << " and " << b);
      CHECK(equal_values(lists[a], lists[b]) == (a == b));
      CHECK((value_key(lists[a]) == value_key(lists[b])) == (a == b));
    }
  }
  CHECK(equal_values(List{1.0, 2.0}, list_of({1, 2})));
  CHECK(value_key(List{1.0, 2.0}) == value_key(list_of({1, 2})));
}

TEST_CASE("the last parts of a split may be empty, and its axis is 0 where none is stated") {
  CHECK(implied("input x: float32[4,9]\n a, b, c = Split(x)", "split") == list_of({2, 2, 0}));
  CHECK(implied("input x: float32[6,9]\n a, b, c = Split(x)", "split") == list_of({2, 2, 2}));
  CHECK(implied("input x: float32[6,9]\n a, b = Split(x) {axis=1}", "split") == list_of({5, 4}));
  CHECK_FALSE(implied("input x: float32[6,9]\n a, b = Split(x) {axis=2}", "split"));
  CHECK_FALSE(implied("input x: float32[6,9]\n a, b = Split(x) {axis=-3}", "split"));
  CHECK_FALSE(implied("input x: float32[6]\n input s\n a, b = Split(x, s)", "split"));
  CHECK_FALSE(implied("input x: float32\n a, b = Split(x)", "split"));
}

TEST_CASE("what a node states comes first, then the format's default, then what is implied") {
  const Graph graph = graph_from_text("opset \"\" 13\n" + std::string(kConv) +
                                      " {group=2, alpha=0.5, mode=\"x\", pads=[1,2,3,4], body}");
  const NodeId node = *graph.nodes().begin();
  OpFacts facts = onnx_like_facts();
  CHECK(attribute_value(graph, node, "group", facts) == AttributeValue(std::int64_t{2}));
  CHECK(attribute_value(graph, node, "alpha", facts) == AttributeValue(0.5));
  CHECK(attribute_value(graph, node, "mode", facts) == AttributeValue("x"));
  CHECK(attribute_value(graph, node, "pads", facts) == list_of({1, 2, 3, 4}));
  CHECK_FALSE(attribute_value(graph, node, "body", facts));
  CHECK_FALSE(attribute_value(graph, node, "beta", facts));
  CHECK(attribute_value(graph, node, "strides", facts) == list_of({1, 1}));
  CHECK_FALSE(attribute_value(graph, node, "strides", {}));
  facts.default_attribute = [](std::string_view, std::string_view op, std::int64_t opset,
                               std::string_view name) {
    CHECK(op == "Conv");
    return std::optional<AttributeValue>(std::string(name) + std::to_string(opset));
  };
  CHECK(attribute_value(graph, node, "strides", facts) == AttributeValue("strides13"));
}

}  // namespace

}  // namespace cleave
