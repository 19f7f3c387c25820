// Each condition where it holds, where it fails, and where it cannot be decided.
#include "core/condition/condition_check.h"

#include <limits>

#include "core/condition/relation.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
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

  // "holds", "fails" or "unknown".
  std::string verdict(const char* node, const Condition& condition) const {
    const auto found = find_instead(graph, node_named(graph, node), condition, facts);
    if (!found) return "holds";
    return is_for_want_of_knowledge(*found) ? "unknown" : "fails";
  }
  FoundInstead found(const char* node, const Condition& condition) const {
    return *find_instead(graph, node_named(graph, node), condition, facts);
  }
};

IntegerRule one_of(std::vector<std::int64_t> numbers) {
  IntegerRule rule;
  rule.one_of = std::move(numbers);
  return rule;
}

IntegerRule range(std::optional<std::int64_t> min, std::optional<std::int64_t> max) {
  IntegerRule rule;
  rule.min = min;
  rule.max = max;
  return rule;
}

TypeSet float32() {
  TypeSet types;
  types.add(DType::float32);
  return types;
}

constexpr InputPlace kInput0{0, false}, kInput1{1, false}, kInput2{2, false};
constexpr InputPlace kMaybe1{1, true}, kMaybe2{2, true};

TEST_CASE("the condition constant asks for a parameter or constant, or for neither") {
  const Case test;
  CHECK(test.verdict("a", ConstantCondition{kInput1, true}) == "holds");
  CHECK(test.verdict("a", ConstantCondition{kInput0, true}) == "fails");
  CHECK(test.verdict("a", ConstantCondition{kInput0, false}) == "holds");
  CHECK(test.verdict("a", ConstantCondition{kInput1, false}) == "fails");
  CHECK(test.found("b", ConstantCondition{kInput2, true}) == FoundInstead(FoundNoInput{}));
  CHECK(test.found("b", ConstantCondition{kInput2, false}) == FoundInstead(FoundNoInput{}));
  CHECK(test.verdict("b", ConstantCondition{kMaybe2, true}) == "holds");
  CHECK(test.verdict("c", ConstantCondition{kMaybe1, true}) == "holds");
}

TEST_CASE("the condition given asks that an optional input is given, or left out") {
  const Case test;
  CHECK(test.verdict("a", GivenCondition{2, true}) == "holds");
  CHECK(test.verdict("b", GivenCondition{2, true}) == "fails");
  CHECK(test.verdict("b", GivenCondition{2, false}) == "holds");
  CHECK(test.verdict("c", GivenCondition{1, false}) == "holds");
  CHECK(test.verdict("c", GivenCondition{2, false}) == "fails");
}

TEST_CASE("the condition outputs_used allows reads of the listed outputs only") {
  const Case test;
  CHECK(test.verdict("d", OutputsUsedCondition{{0}}) == "holds");
  CHECK(test.verdict("d", OutputsUsedCondition{{0, 1}}) == "holds");
  CHECK(test.found("d", OutputsUsedCondition{{1}}) == FoundInstead(FoundReaders{0}));
  CHECK(test.found("a", OutputsUsedCondition{{}}) == FoundInstead(FoundReaders{0}));
}

TEST_CASE("the condition rank takes a list or a range") {
  const Case test;
  CHECK(test.verdict("a", RankCondition{kInput0, one_of({3, 4})}) == "holds");
  CHECK(test.found("a", RankCondition{kInput0, one_of({3, 5})}) == FoundInstead(FoundRank{4}));
  CHECK(test.verdict("a", RankCondition{kInput0, range(3, 5)}) == "holds");
  CHECK(test.verdict("a", RankCondition{kInput0, range(5, {})}) == "fails");
  CHECK(test.verdict("b", RankCondition{kInput1, range(0, 9)}) == "unknown");
  CHECK(test.verdict("f", RankCondition{kInput1, range(0, 9)}) == "fails");  // a scalar, no tensor
  CHECK(test.verdict("b", RankCondition{kInput2, range(0, 9)}) == "fails");
  CHECK(test.verdict("b", RankCondition{kMaybe2, range(0, 9)}) == "holds");
}

TEST_CASE("the condition max_rank bounds the rank of every tensor input") {
  const Case test;
  CHECK(test.verdict("a", MaxRankCondition{4}) == "holds");
  CHECK(test.found("a", MaxRankCondition{3}) == FoundInstead(FoundShapeOf{0, FoundRank{4}}));
  CHECK(test.verdict("b", MaxRankCondition{4}) == "unknown");
  CHECK(test.verdict("f", MaxRankCondition{2}) == "holds");
}

TEST_CASE("the condition dims names an axis from either end") {
  const Case test;
  CHECK(test.verdict("a", DimCondition{kInput0, 0, one_of({1})}) == "holds");
  CHECK(test.verdict("a", DimCondition{kInput0, -1, range({}, 8)}) == "holds");
  CHECK(test.found("a", DimCondition{kInput0, 1, range({}, 8)}) ==
        FoundInstead(FoundDim{1, 32, {}}));
  CHECK(test.verdict("a", DimCondition{kInput0, 2, {}}) == "unknown");
  CHECK(test.verdict("a", DimCondition{kInput0, 3, {}}) == "holds");
  CHECK(test.verdict("a", DimCondition{kInput0, 7, {}}) == "fails");
  IntegerRule sixteen;
  sixteen.multiple_of = 16;
  CHECK(test.verdict("a", DimCondition{kInput0, 1, sixteen}) == "holds");
  CHECK(test.verdict("a", DimCondition{kInput0, 3, sixteen}) == "fails");
  CHECK(test.verdict("b", DimCondition{kInput1, 0, {}}) == "unknown");
  CHECK(test.verdict("b", DimCondition{kInput2, 0, {}}) == "fails");
}

TEST_CASE("the condition inputs asks for one set of types, or the same type, for all inputs") {
  const Case test;
  CHECK(test.verdict("d", EveryInputCondition{float32()}) == "holds");
  CHECK(test.found("b", EveryInputCondition{float32()}) ==
        FoundInstead(FoundType{1, ValueType::tensor, DType::int64}));
  CHECK(test.verdict("d", SameInputsCondition{}) == "holds");
  CHECK(test.verdict("b", SameInputsCondition{}) == "fails");
  CHECK(test.verdict("g", EveryInputCondition{float32()}) == "unknown");
  CHECK(test.verdict("g", SameInputsCondition{}) == "unknown");
}

TEST_CASE("the condition input_shape asks for static or open shapes") {
  using Shape = InputShapeCondition::Shape;
  const Case test;
  CHECK(test.verdict("d", InputShapeCondition{Shape::fixed}) == "holds");
  CHECK(test.verdict("c", InputShapeCondition{Shape::fixed}) == "holds");
  CHECK(test.verdict("a", InputShapeCondition{Shape::fixed}) == "unknown");
  CHECK(test.verdict("d", InputShapeCondition{Shape::batched}) == "holds");
  CHECK(test.verdict("a", InputShapeCondition{Shape::batched}) == "unknown");  // dim 2 of x
  const Graph batch = graph_from_text("input x: float32[n,2]\n a = f(x)");
  CHECK_FALSE(find_instead(batch, NodeId{0}, InputShapeCondition{Shape::batched}, {}));
  CHECK(test.verdict("a", InputShapeCondition{Shape::open}) == "holds");
  CHECK(test.verdict("b", InputShapeCondition{Shape::open}) == "holds");
  CHECK(test.verdict("d", InputShapeCondition{Shape::open}) == "fails");
}

TEST_CASE("the condition values checks each element of a constant, or all of them in order") {
  const Case test;
  const auto each = [](InputPlace input, std::vector<Literal> one_of) {
    ValuesCondition wanted;
    wanted.input = input;
    wanted.one_of = std::move(one_of);
    return wanted;
  };
  CHECK(test.verdict("c", each(kInput2, {std::int64_t{-1}})) == "holds");
  CHECK(test.verdict("c", each(kInput2, {-1.0, 0.0})) == "holds");
  CHECK(test.found("c", each(kInput2, {std::int64_t{0}})) ==
        FoundInstead(FoundElement{0, std::int64_t{-1}}));
  CHECK(test.found("a", each(kInput0, {std::int64_t{0}})) == FoundInstead(FoundVariable{}));
  CHECK(test.found("b", each(kInput2, {std::int64_t{0}})) == FoundInstead(FoundNoInput{}));
  CHECK(test.verdict("b", each(kMaybe2, {std::int64_t{0}})) == "holds");

  ValuesCondition wanted;
  wanted.input = kInput1;
  wanted.power_of_two = true;
  wanted.finite = true;
  wanted.max = 4;
  CHECK(test.verdict("a", wanted) == "holds");
  wanted.max = 3;
  CHECK(test.found("a", wanted) == FoundInstead(FoundElement{2, 4.0}));
  wanted.max.reset();
  wanted.list = {1.0, 2.0, 4.0};
  CHECK(test.verdict("a", wanted) == "holds");
  wanted.list = {1.0, 2.0};
  CHECK(test.found("a", wanted) == FoundInstead(FoundCount{3}));

  Case blind;
  blind.facts = {};
  CHECK(blind.verdict("a", wanted) == "unknown");
}

TEST_CASE("a parameter that the model writes is no constant") {
  Case test;
  test.facts.is_written = [&](ValueId value) { return test.graph.value(value).name == "w"; };
  CHECK(test.found("a", ConstantCondition{kInput1, true}) == FoundInstead(FoundWritten{}));
  CHECK(test.verdict("a", ConstantCondition{kInput1, false}) == "holds");
  CHECK(test.verdict("a", ConstantCondition{kInput2, true}) == "holds");
  CHECK(test.verdict("a", RelationCondition{*parse_relation("in[1].constant")}) == "fails");
  CHECK(test.verdict("a", RelationCondition{*parse_relation("in[2].constant")}) == "holds");
  ValuesCondition wanted;
  wanted.input = kInput1;
  wanted.finite = true;
  CHECK(test.found("a", wanted) == FoundInstead(FoundWritten{}));
}

TEST_CASE("the condition layout takes one of several, and is unknown where no format states it") {
  Case test;
  LayoutSet last, dense;
  last.add(LayoutName::channels_last);
  dense.add(LayoutName::contiguous);
  dense.add(LayoutName::channels_last);
  CHECK(test.verdict("a", LayoutCondition{kInput1, dense}) == "unknown");
  const TensorLayout rows{strided_layouts(std::vector<std::int64_t>{64, 32, 3, 3},
                                          std::vector<std::int64_t>{288, 9, 3, 1}),
                          {288, 9, {}, 1}};
  test.facts.layout = [&](ValueId value) -> std::optional<TensorLayout> {
    if (test.graph.value(value).name == "w") return rows;
    return std::nullopt;
  };
  CHECK(test.verdict("a", LayoutCondition{kInput1, dense}) == "holds");
  CHECK(test.found("a", LayoutCondition{kInput1, last}) == FoundInstead(FoundLayout{rows}));
  CHECK(test.verdict("a", LayoutCondition{kInput0, dense}) == "unknown");
  CHECK(test.verdict("f", LayoutCondition{kInput1, dense}) == "fails");  // a scalar, no tensor
  CHECK(test.verdict("b", LayoutCondition{kInput2, dense}) == "fails");
  CHECK(test.verdict("b", LayoutCondition{kMaybe2, dense}) == "holds");
  CHECK(test.verdict("a", RelationCondition{*parse_relation("in[1].stride[1] % 3 == 0")}) ==
        "holds");
  CHECK(test.verdict("a", RelationCondition{*parse_relation("in[1].stride[0] % 16 == 1")}) ==
        "fails");
  CHECK(test.verdict("a", RelationCondition{*parse_relation("in[1].stride[2] == 3")}) == "unknown");
  CHECK(test.verdict("a", RelationCondition{*parse_relation("in[0].stride[0] == 3")}) == "unknown");
}

TEST_CASE("the condition quantized asks for ways of quantisation and types of the numbers") {
  Case test;
  using Kind = Quantization::Kind;
  using Of = QuantizedCondition::Of;
  const auto wanted = [](Of of, InputPlace place, std::vector<QuantizationSet::Way> ways,
                         std::vector<DType> types = {}) {
    QuantizedCondition condition{of, place, {}};
    for (const auto way : ways) condition.wanted.add(way);
    for (const DType type : types) condition.wanted.types.add(type);
    return condition;
  };
  const auto x_is = [&](std::vector<QuantizationSet::Way> ways, std::vector<DType> types = {}) {
    return test.verdict("a", wanted(Of::input, kInput0, std::move(ways), std::move(types)));
  };
  CHECK(x_is({QuantizationSet::tensor}) == "unknown");
  test.facts.quantization = [](const Graph& graph, ValueId id) -> std::optional<Quantization> {
    const std::string_view name = graph.value(id).name;
    if (name == "x") return Quantization{Kind::tensor, DType::int8, {0.5}, {3}, 0};
    if (name == "w") return Quantization{Kind::axis, DType::int8, {1, 2}, {0, 0}, 0};
    if (name == "a") return Quantization{Kind::other, DType::int16, {}, {}, 0};
    if (name == "n") return std::nullopt;
    return Quantization{};
  };
  CHECK(x_is({QuantizationSet::tensor}) == "holds");
  CHECK(x_is({}) == "holds");
  CHECK(x_is({QuantizationSet::none, QuantizationSet::axis}) == "fails");
  CHECK(x_is({QuantizationSet::symmetric}) == "fails");
  CHECK(x_is({QuantizationSet::tensor}, {DType::int8, DType::uint8}) == "holds");
  CHECK(x_is({}, {DType::int16}) == "fails");
  const auto w = [&](auto... rest) { return wanted(Of::input, kInput1, rest...); };
  using Ways = std::vector<QuantizationSet::Way>;
  CHECK(test.verdict("a", w(Ways{QuantizationSet::symmetric})) == "holds");
  CHECK(test.found("a", w(Ways{QuantizationSet::tensor})) ==
        FoundInstead(FoundQuantization{1, false, Kind::axis, true, DType::int8}));
  CHECK(test.verdict("b", w(Ways{QuantizationSet::none})) == "unknown");
  CHECK(test.verdict("b", wanted(Of::input, kInput2, {})) == "fails");
  CHECK(test.verdict("b", wanted(Of::input, kMaybe2, {})) == "holds");
  CHECK(test.verdict("a", wanted(Of::output, kInput0, {QuantizationSet::other})) == "holds");
  CHECK(test.verdict("a", wanted(Of::output, kInput1, {QuantizationSet::tensor})) == "holds");
  CHECK(test.verdict("a", wanted(Of::activations, {}, {QuantizationSet::tensor})) == "fails");
  const Ways tensor_or_other = {QuantizationSet::tensor, QuantizationSet::other};
  CHECK(test.verdict("a", wanted(Of::activations, {}, tensor_or_other)) == "holds");
  CHECK(test.verdict("a", wanted(Of::every, {}, tensor_or_other)) == "fails");  // w is per axis
  CHECK(test.verdict("c", wanted(Of::every, {}, {QuantizationSet::none}, {DType::int8})) ==
        "holds");  // without numbers no type is asked for
  const auto as_x = [](QuantizedCondition condition) {
    condition.wanted.as_input_0 = true;
    return condition;
  };
  CHECK(test.verdict("a", as_x(w(Ways{QuantizationSet::axis}))) == "holds");
  CHECK(test.verdict("a", as_x(wanted(Of::output, kInput0, {QuantizationSet::other}))) == "fails");
  CHECK(test.verdict("c", as_x(wanted(Of::every, {}, {QuantizationSet::none}))) == "holds");
}

TEST_CASE("the condition values can ask for powers of two and finite numbers") {
  Case test;
  ValuesCondition wanted;
  wanted.input = kInput1;
  wanted.power_of_two = true;
  const auto with = [&](double value) {
    test.facts.elements = [value](const Graph&, ValueId) {
      return std::optional(std::vector<Literal>{value});
    };
    return test.verdict("a", wanted);
  };
  CHECK(with(0.25) == "holds");
  CHECK(with(3) == "fails");
  CHECK(with(0) == "fails");
  CHECK(with(-2) == "fails");
  CHECK(with(std::numeric_limits<double>::infinity()) == "fails");
  wanted.power_of_two = false;
  wanted.finite = true;
  CHECK(with(3) == "holds");
  CHECK(with(std::numeric_limits<double>::quiet_NaN()) == "fails");
}

TEST_CASE("conditions can ask that an attribute is absent, or that a relation holds") {
  const Case test;
  CHECK(test.verdict("b", AbsentAttributeCondition{"group"}) == "holds");
  CHECK(test.verdict("a", AbsentAttributeCondition{"group"}) == "fails");
  CHECK(test.verdict("a", AbsentAttributeCondition{"group", false}) == "holds");
  CHECK(test.verdict("b", AbsentAttributeCondition{"group", false}) == "fails");
  const auto relation = [](const char* text) { return RelationCondition{*parse_relation(text)}; };
  CHECK(test.verdict("a", relation("in[0].rank == 4")) == "holds");
  CHECK(test.verdict("a", relation("in[0].rank == 3")) == "fails");
  CHECK(test.verdict("a", relation("in[0].dim[2] == 3")) == "unknown");
}

}  // namespace
}  // namespace cleave
