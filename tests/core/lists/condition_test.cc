#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/lists/condition.h"
#include "core/lists/support.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

// ---- attribute value test ----

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

bool rule_holds(std::string_view text, const Condition& attribute) {
  const Graph graph = graph_from_text(text);
  return condition_holds(graph, *graph.nodes().begin(), attribute, onnx_like_facts());
}

TEST_CASE("a rule's condition sees the implied value in models that import an opset") {
  const Condition no_dilation = attribute_is("dilations", {list_of({1, 1})});
  CHECK(rule_holds("opset \"\" 13\n" + std::string(kConv), no_dilation));
  CHECK_FALSE(rule_holds(kConv, no_dilation));
}

TEST_CASE("negative axes equal the axes counted from the front if the rank is known") {
  const Condition last = attribute_is("axis", {std::int64_t{-1}});
  CHECK(rule_holds("input x: float32[1,2,3,4]\n a = Softmax(x) {axis=3}", last));
  CHECK_FALSE(rule_holds("input x: float32[1,2,3,4]\n a = Softmax(x) {axis=2}", last));
  CHECK_FALSE(rule_holds("input x: float32\n a = Softmax(x) {axis=3}", last));
  CHECK(rule_holds("input x: float32\n a = Softmax(x) {axis=-1}", last));
  const Condition both = attribute_is("axes", {list_of({2, 3})});
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

// ---- condition check test ----
//
// Each condition where it holds, where it fails, and where it cannot be decided.

namespace {

constexpr const char* kGraph = R"(
    input x: float32[1,32,batch,8]
    input n: int64
    input y: float32[1,4]
    input s: scalar
    input u: tensor
    param w: float32[64,32,3,3]
    param k: int64[1]
    a = Conv(x, w, k) {group=1}
    b = Conv(x, n)
    c = Clip(y, _, k)
    d, e = Split(y, y)
    f = Use(d, s)
    g = Use(d, u)
    output a
)";

// The elements of "w" are 1, 2, 4; of "k" -1 ; others are not read.
std::optional<std::vector<Literal>> elements(const Graph& graph, ValueId value) {
  if (graph.value(value).name == "w") return std::vector<Literal>{1.0, 2.0, 4.0};
  if (graph.value(value).name == "k") return std::vector<Literal>{std::int64_t{-1}};
  return std::nullopt;
}

struct Case {
  Graph graph = graph_from_text(kGraph);
  OpFacts facts = {{}, {}, elements};

  // "holds", or what the node has instead.
  std::string verdict(const char* node, const Condition& condition) const {
    FailedPart failed;
    const NodeId id = node_named(graph, node);
    const bool holds = condition_holds(graph, id, condition, facts, &failed);
    CHECK(condition_holds(graph, id, condition, facts) == holds);
    return holds ? "holds" : failed.subject + ": " + failed.actual;
  }
};

constexpr InputPlace kInput0{0, false}, kInput1{1, false}, kInput2{2, false};
constexpr InputPlace kMaybe1{1, true}, kMaybe2{2, true};

Condition asks(Condition condition, const std::function<void(Accepted&)>& set) {
  set(condition.wanted);
  return condition;
}

Condition constant(const InputPlace& place, bool yes) {
  return asks(of_input(Property::constant, place), [=](Accepted& wanted) { wanted.yes = yes; });
}

Condition given(std::uint32_t position, bool yes) {
  return asks(of_input(Property::given, {position, false}),
              [=](Accepted& wanted) { wanted.yes = yes; });
}

Condition one_of(Condition condition, std::vector<AttributeValue> values) {
  condition.wanted.one_of = std::move(values);
  return condition;
}

Condition range(Condition condition, std::optional<double> min, std::optional<double> max) {
  condition.wanted.min = min;
  condition.wanted.max = max;
  return condition;
}

Condition rank(const InputPlace& place) { return of_input(Property::rank, place); }

Condition dim(const InputPlace& place, std::int64_t axis) {
  Condition condition = of_input(Property::dim, place);
  condition.axis = axis;
  return condition;
}

Condition used(std::vector<AttributeValue> outputs) {
  Condition condition;
  condition.property = Property::outputs_used;
  return one_of(condition, std::move(outputs));
}

Condition relation(const char* text) { return relation_condition(*parse_relation(text)); }

constexpr std::int64_t kZero = 0, kOne = 1, kThree = 3, kFour = 4, kFive = 5, kSixteen = 16;

TEST_CASE("the condition constant asks for a parameter or constant, or for neither") {
  const Case test;
  CHECK(test.verdict("a", constant(kInput1, true)) == "holds");
  CHECK(test.verdict("a", constant(kInput0, true)) == "input 0: no constant");
  CHECK(test.verdict("a", constant(kInput0, false)) == "holds");
  CHECK(test.verdict("a", constant(kInput1, false)) == "input 1: a constant");
  CHECK(test.verdict("b", constant(kInput2, true)) == "input 2: not given");
  CHECK(test.verdict("b", constant(kInput2, false)) == "input 2: not given");
  CHECK(test.verdict("b", constant(kMaybe2, true)) == "holds");
  CHECK(test.verdict("c", constant(kMaybe1, true)) == "holds");
}

TEST_CASE("the condition given asks that an optional input is given, or left out") {
  const Case test;
  CHECK(test.verdict("a", given(2, true)) == "holds");
  CHECK(test.verdict("b", given(2, true)) == "input 2: left out");
  CHECK(test.verdict("b", given(2, false)) == "holds");
  CHECK(test.verdict("c", given(1, false)) == "holds");
  CHECK(test.verdict("c", given(2, false)) == "input 2: given");
}

TEST_CASE("the condition outputs_used allows reads of the listed outputs only") {
  const Case test;
  CHECK(test.verdict("d", used({kZero})) == "holds");
  CHECK(test.verdict("d", used({kZero, kOne})) == "holds");
  CHECK(test.verdict("d", used({kOne})) == "output 0: read");
  CHECK(test.verdict("a", used({})) == "output 0: read");
}

TEST_CASE("the condition rank takes a list or a range") {
  const Case test;
  CHECK(test.verdict("a", one_of(rank(kInput0), {kThree, kFour})) == "holds");
  CHECK(test.verdict("a", one_of(rank(kInput0), {kThree, kFive})) == "shape of input 0: rank 4");
  CHECK(test.verdict("a", range(rank(kInput0), 3, 5)) == "holds");
  CHECK(test.verdict("a", range(rank(kInput0), 5, {})) == "shape of input 0: rank 4");
  CHECK(test.verdict("b", range(rank(kInput1), 0, 9)) == "shape of input 1: of unknown rank");
  CHECK(test.verdict("f", range(rank(kInput1), 0, 9)) == "shape of input 1: a scalar");
  CHECK(test.verdict("b", range(rank(kInput2), 0, 9)) == "input 2: not given");
  CHECK(test.verdict("b", range(rank(kMaybe2), 0, 9)) == "holds");
}

TEST_CASE("the condition max_rank bounds the rank of every tensor input") {
  const Case test;
  const auto at_most = [](double most) { return range(of_inputs(Property::rank), {}, most); };
  CHECK(test.verdict("a", at_most(4)) == "holds");
  CHECK(test.verdict("a", at_most(3)) == "shape of input 0: rank 4");
  CHECK(test.verdict("b", at_most(4)) == "shape of input 1: of unknown rank");
  CHECK(test.verdict("f", at_most(2)) == "holds");
}

TEST_CASE("the condition dims names an axis from either end") {
  const Case test;
  CHECK(test.verdict("a", one_of(dim(kInput0, 0), {kOne})) == "holds");
  CHECK(test.verdict("a", range(dim(kInput0, -1), {}, 8)) == "holds");
  CHECK(test.verdict("a", range(dim(kInput0, 1), {}, 8)) == "shape of input 0: 32 in dim 1");
  CHECK(test.verdict("a", dim(kInput0, 2)) == "shape of input 0: \"batch\" in dim 2");
  CHECK(test.verdict("a", dim(kInput0, 3)) == "holds");
  CHECK(test.verdict("a", dim(kInput0, 7)) == "shape of input 0: rank 4");
  const auto of_16 = [](Accepted& wanted) { wanted.multiple_of = kSixteen; };
  CHECK(test.verdict("a", asks(dim(kInput0, 1), of_16)) == "holds");
  CHECK(test.verdict("a", asks(dim(kInput0, 3), of_16)) == "shape of input 0: 8 in dim 3");
  CHECK(test.verdict("b", dim(kInput1, 0)) == "shape of input 1: of unknown rank");
  CHECK(test.verdict("b", dim(kInput2, 0)) == "input 2: not given");
}

TEST_CASE("the condition inputs asks for one set of types, or the same type, for all inputs") {
  const Case test;
  const Condition same = of_inputs(Property::same_type);
  const Condition floats =
      asks(of_inputs(Property::type), [](Accepted& wanted) { wanted.types.add(DType::float32); });
  CHECK(test.verdict("d", floats) == "holds");
  CHECK(test.verdict("b", floats) == "input 1: int64");
  CHECK(test.verdict("d", same) == "holds");
  CHECK(test.verdict("b", same) == "the type of inputs: float32 at 0 and int64 at 1");
  CHECK(test.verdict("g", floats) == "input 1: of unknown dtype");
  CHECK(test.verdict("g", same) == "the type of inputs: float32 at 0 and of unknown dtype at 1");
}

TEST_CASE("the condition input_shape asks for static or open shapes") {
  const Case test;
  const Condition fixed = of_inputs(Property::known);
  Condition batched = fixed;
  batched.axis = 1;
  const Condition open = asks(fixed, [](Accepted& wanted) { wanted.yes = false; });
  const std::string of_x = "shape of input 0: \"batch\" in dim 2";
  CHECK(test.verdict("d", fixed) == "holds");
  CHECK(test.verdict("c", fixed) == "holds");
  CHECK(test.verdict("a", fixed) == of_x);
  CHECK(test.verdict("d", batched) == "holds");
  CHECK(test.verdict("a", batched) == of_x);
  const Graph batch = graph_from_text("input x: float32[n,2]\n a = f(x)");
  CHECK(condition_holds(batch, NodeId{0}, batched, {}));
  CHECK(test.verdict("a", open) == "holds");
  CHECK(test.verdict("b", open) == "holds");
  CHECK(test.verdict("d", open) == "the shape of inputs: known in every dim");
}

TEST_CASE("the condition values checks each element of a constant, or all of them in order") {
  const Case test;
  const auto each = [](const InputPlace& input, std::vector<AttributeValue> values) {
    return one_of(of_input(Property::values, input), std::move(values));
  };
  CHECK(test.verdict("c", each(kInput2, {std::int64_t{-1}})) == "holds");
  CHECK(test.verdict("c", each(kInput2, {-1.0, 0.0})) == "holds");
  CHECK(test.verdict("c", each(kInput2, {kZero})) == "input 2: -1 in element 0");
  CHECK(test.verdict("a", each(kInput0, {kZero})) == "input 0: no constant");
  CHECK(test.verdict("b", each(kInput2, {kZero})) == "input 2: not given");
  CHECK(test.verdict("b", each(kMaybe2, {kZero})) == "holds");

  Condition condition = of_input(Property::values, kInput1);
  Accepted& wanted = condition.wanted;
  wanted.power_of_two = true;
  wanted.finite = true;
  wanted.max = 4;
  CHECK(test.verdict("a", condition) == "holds");
  wanted.max = 3;
  CHECK(test.verdict("a", condition) == "input 1: 4 in element 2");
  wanted.max.reset();
  wanted.list = {1.0, 2.0, 4.0};
  CHECK(test.verdict("a", condition) == "holds");
  wanted.list = {1.0, 2.0};
  CHECK(test.verdict("a", condition) == "input 1: 3 elements");

  Case blind;
  blind.facts = {};
  CHECK(blind.verdict("a", condition) == "input 1: a constant whose elements are not read");
}

TEST_CASE("a parameter that the model writes is no constant") {
  Case test;
  test.facts.is_written = [&](ValueId value) { return test.graph.value(value).name == "w"; };
  CHECK(test.verdict("a", constant(kInput1, true)) == "input 1: written by the model");
  CHECK(test.verdict("a", constant(kInput1, false)) == "holds");
  CHECK(test.verdict("a", constant(kInput2, true)) == "holds");
  CHECK(test.verdict("a", relation("in[1].constant")) == "in[1].constant: false");
  CHECK(test.verdict("a", relation("in[2].constant")) == "holds");
  const Condition finite =
      asks(of_input(Property::values, kInput1), [](Accepted& wanted) { wanted.finite = true; });
  CHECK(test.verdict("a", finite) == "input 1: written by the model");
}

TEST_CASE("the condition layout takes one of several, and is unknown where no format states it") {
  Case test;
  LayoutSet last, dense;
  last.add(LayoutName::channels_last);
  dense.add(LayoutName::contiguous);
  dense.add(LayoutName::channels_last);
  const auto layout = [](const InputPlace& place, LayoutSet layouts) {
    return asks(of_input(Property::layout, place),
                [=](Accepted& wanted) { wanted.layouts = layouts; });
  };
  CHECK(test.verdict("a", layout(kInput1, dense)) == "input 1: of unknown layout");
  const TensorLayout rows{strided_layouts(std::vector<std::int64_t>{64, 32, 3, 3},
                                          std::vector<std::int64_t>{288, 9, 3, 1}),
                          {288, 9, {}, 1}};
  test.facts.layout = [&](ValueId value) -> std::optional<TensorLayout> {
    if (test.graph.value(value).name == "w") return rows;
    return std::nullopt;
  };
  CHECK(test.verdict("a", layout(kInput1, dense)) == "holds");
  CHECK(test.verdict("a", layout(kInput1, last)) == "input 1: contiguous");
  CHECK(test.verdict("a", layout(kInput0, dense)) == "input 0: of unknown layout");
  CHECK(test.verdict("f", layout(kInput1, dense)) == "input 1: a scalar");
  CHECK(test.verdict("b", layout(kInput2, dense)) == "input 2: not given");
  CHECK(test.verdict("b", layout(kMaybe2, dense)) == "holds");
  CHECK(test.verdict("a", relation("in[1].stride[1] % 3 == 0")) == "holds");
  CHECK(test.verdict("a", relation("in[1].stride[0] % 16 == 1")) ==
        "in[1].stride[0] % 16 == 1: 0 == 1");
  CHECK(test.verdict("a", relation("in[1].stride[2] == 3")) ==
        "in[1].stride[2] == 3: in[1].stride[2] is unknown");
  CHECK(test.verdict("a", relation("in[0].stride[0] == 3")) ==
        "in[0].stride[0] == 3: in[0].stride[0] is unknown");
}

TEST_CASE("the condition quantized asks for ways of quantisation and types of the numbers") {
  Case test;
  using Kind = Quantization::Kind;
  using Of = Condition::Of;
  using Ways = std::vector<QuantizationSet::Way>;
  const auto wanted = [](Of of, const InputPlace& place, const Ways& ways,
                         const std::vector<DType>& types = {}) {
    Condition condition = of_input(Property::quantization, place);
    condition.of = of;
    for (const auto way : ways) condition.wanted.quantization.add(way);
    for (const DType type : types) condition.wanted.quantization.types.add(type);
    return condition;
  };
  const auto x_is = [&](const Ways& ways, const std::vector<DType>& types = {}) {
    return test.verdict("a", wanted(Of::input, kInput0, ways, types));
  };
  CHECK(x_is({QuantizationSet::tensor}) == "input 0: of unknown quantisation");
  test.facts.quantization = [](const Graph& graph, ValueId id) -> std::optional<Quantization> {
    const std::string_view name = graph.value(id).name;
    if (name == "x") return Quantization{Kind::tensor, DType::int8, {0.5}, {3}, 0};
    if (name == "w") return Quantization{Kind::axis, DType::int8, {1, 2}, {0, 0}, 0};
    if (name == "a") return Quantization{Kind::other, DType::int16, {}, {}, 0};
    if (name == "n") return std::nullopt;
    return Quantization{};
  };
  const std::string x = "input 0: quantised per tensor to int8, not symmetrically";
  const std::string w_has = "input 1: quantised per axis to int8";
  const std::string a_has = "output 0: quantised in another way to int16, not symmetrically";
  CHECK(x_is({QuantizationSet::tensor}) == "holds");
  CHECK(x_is({}) == "holds");
  CHECK(x_is({QuantizationSet::none, QuantizationSet::axis}) == x);
  CHECK(x_is({QuantizationSet::symmetric}) == x);
  CHECK(x_is({QuantizationSet::tensor}, {DType::int8, DType::uint8}) == "holds");
  CHECK(x_is({}, {DType::int16}) == x);
  const auto w = [&](auto... rest) { return wanted(Of::input, kInput1, rest...); };
  CHECK(test.verdict("a", w(Ways{QuantizationSet::symmetric})) == "holds");
  CHECK(test.verdict("a", w(Ways{QuantizationSet::tensor})) == w_has);
  CHECK(test.verdict("b", w(Ways{QuantizationSet::none})) == "input 1: of unknown quantisation");
  CHECK(test.verdict("b", wanted(Of::input, kInput2, {})) == "input 2: not given");
  CHECK(test.verdict("b", wanted(Of::input, kMaybe2, {})) == "holds");
  CHECK(test.verdict("a", wanted(Of::output, kInput0, {QuantizationSet::other})) == "holds");
  CHECK(test.verdict("a", wanted(Of::output, kInput1, {QuantizationSet::tensor})) == "holds");
  CHECK(test.verdict("a", wanted(Of::activations, {}, {QuantizationSet::tensor})) == a_has);
  const Ways tensor_or_other = {QuantizationSet::tensor, QuantizationSet::other};
  CHECK(test.verdict("a", wanted(Of::activations, {}, tensor_or_other)) == "holds");
  CHECK(test.verdict("a", wanted(Of::every, {}, tensor_or_other)) == w_has);
  CHECK(test.verdict("c", wanted(Of::every, {}, {QuantizationSet::none}, {DType::int8})) ==
        "holds");  // without numbers no type is asked for
  const auto as_x = [](Condition condition) {
    condition.wanted.quantization.as_input_0 = true;
    return condition;
  };
  CHECK(test.verdict("a", as_x(w(Ways{QuantizationSet::axis}))) == "holds");
  CHECK(test.verdict("a", as_x(wanted(Of::output, kInput0, {QuantizationSet::other}))) == a_has);
  CHECK(test.verdict("c", as_x(wanted(Of::every, {}, {QuantizationSet::none}))) == "holds");
}

TEST_CASE("the condition values can ask for powers of two and finite numbers") {
  Case test;
  Condition condition = of_input(Property::values, kInput1);
  condition.wanted.power_of_two = true;
  const auto with = [&](double value) {
    test.facts.elements = [value](const Graph&, ValueId) {
      return std::optional(std::vector<Literal>{value});
    };
    return test.verdict("a", condition);
  };
  CHECK(with(0.25) == "holds");
  CHECK(with(3) == "input 1: 3 in element 0");
  CHECK(with(0) == "input 1: 0 in element 0");
  CHECK(with(-2) == "input 1: -2 in element 0");
  CHECK(with(std::numeric_limits<double>::infinity()) == "input 1: inf in element 0");
  condition.wanted.power_of_two = false;
  condition.wanted.finite = true;
  CHECK(with(3) == "holds");
  CHECK(with(std::numeric_limits<double>::quiet_NaN()) == "input 1: nan in element 0");
}

TEST_CASE("conditions can ask that an attribute is absent, or that a relation holds") {
  const Case test;
  CHECK(test.verdict("b", is_stated("group", false)) == "holds");
  CHECK(test.verdict("a", is_stated("group", false)) == "attribute group: stated");
  CHECK(test.verdict("a", is_stated("group", true)) == "holds");
  CHECK(test.verdict("b", is_stated("group", true)) == "attribute group: absent");
  CHECK(test.verdict("a", relation("in[0].rank == 4")) == "holds");
  CHECK(test.verdict("a", relation("in[0].rank == 3")) == "in[0].rank == 3: 4 == 3");
  CHECK(test.verdict("a", relation("in[0].dim[2] == 3")) ==
        "in[0].dim[2] == 3: in[0].dim[2] is unknown");
}

}  // namespace

// ---- tensor layout test ----
//
// Layouts from sizes and strides: the numbers are those of torch.Tensor.is_contiguous.

namespace {

// "contiguous channels_last", without "strided", which every tensor with strides is.
std::string layouts(const std::vector<std::int64_t>& sizes,
                    const std::vector<std::int64_t>& strides) {
  const LayoutSet set = strided_layouts(sizes, strides);
  CHECK(set.contains(LayoutName::strided));
  CHECK_FALSE(set.contains(LayoutName::sparse));
  std::string text;
  for (const LayoutName name :
       {LayoutName::contiguous, LayoutName::channels_last, LayoutName::channels_last_3d}) {
    if (!set.contains(name)) continue;
    text += (text.empty() ? "" : " ") + std::string(kLayoutNames[static_cast<std::size_t>(name)]);
  }
  return text;
}

TEST_CASE("contiguous is row-major without gaps") {
  CHECK(layouts({}, {}) == "contiguous");
  CHECK(layouts({5}, {1}) == "contiguous");
  CHECK(layouts({5}, {2}) == "");
  CHECK(layouts({2, 3}, {3, 1}) == "contiguous");
  CHECK(layouts({2, 3}, {1, 2}) == "");
  CHECK(layouts({2, 3}, {4, 1}) == "");
  CHECK(layouts({2, 3}, {0, 1}) == "");
}

TEST_CASE("channels_last has dim 1 innermost") {
  CHECK(layouts({2, 3, 4, 5}, {60, 20, 5, 1}) == "contiguous");
  CHECK(layouts({2, 3, 4, 5}, {60, 1, 15, 3}) == "channels_last");
  CHECK(layouts({2, 3, 4, 5, 6}, {360, 1, 90, 18, 3}) == "channels_last_3d");
  CHECK(layouts({2, 3, 4}, {12, 1, 3}) == "");
}

TEST_CASE("the stride of a dim of size 1 does not count, and an empty tensor is contiguous") {
  CHECK(layouts({2, 1, 4, 4}, {16, 16, 4, 1}) == "contiguous channels_last");
  CHECK(layouts({2, 3, 1, 1}, {3, 1, 1, 1}) == "contiguous channels_last");
  CHECK(layouts({1, 3}, {77, 1}) == "contiguous");
  CHECK(layouts({0, 3, 4, 4}, {48, 16, 4, 1}) == "contiguous");
}

TEST_CASE("sizes whose product does not fit 64 bits have no dense layout") {
  const std::int64_t large = std::int64_t{1} << 40;
  CHECK(layouts({large, large, 2}, {2 * large, 2, 1}) == "");
}

}  // namespace

}  // namespace cleave
