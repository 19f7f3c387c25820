#include "core/condition/attribute_value.h"

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

}  // namespace

}  // namespace cleave
