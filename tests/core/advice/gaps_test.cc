#include "core/advice/gaps.h"

#include "core/support/support.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

using What = FailedCondition::What;

std::string key_of(const FailedCondition& failed, const FailedPart& part) {
  std::string key;
  append_key(failed, part, key);
  return key;
}

std::string attribute_key(const AttributeRule& wanted, ValueOrigin origin, std::int64_t value) {
  return key_of({What::attribute, 0}, FailedAttribute{wanted, origin, AttributeValue(value)});
}

TEST_CASE("the key contains an attribute's value if the rule asks for a value") {
  const AttributeRule one{"n", {AttributeValue(std::int64_t{1})}, {}, {}};
  CHECK(attribute_key(one, ValueOrigin::stated, 2) != attribute_key(one, ValueOrigin::stated, 3));
  CHECK(attribute_key(one, ValueOrigin::stated, 2) ==
        attribute_key(one, ValueOrigin::by_default, 2));
  const AttributeRule bound{"n", {}, {}, 1.0};
  CHECK(attribute_key(bound, ValueOrigin::stated, 2) ==
        attribute_key(bound, ValueOrigin::stated, 3));
}

TEST_CASE("the key contains a rank, but not a dim that exceeds a bound") {
  const FailedCondition rank{What::shape, 0, FailedCondition::kRank};
  CHECK(key_of(rank, FailedShape{0, WantedRank{4}, FoundRank{3}}) !=
        key_of(rank, FailedShape{0, WantedRank{4}, FoundRank{2}}));
  const FailedCondition dim{What::shape, 0, FailedCondition::kMaxDim};
  CHECK(key_of(dim, FailedShape{0, WantedMaxDim{8}, FoundDim{0, 9, {}}}) ==
        key_of(dim, FailedShape{0, WantedMaxDim{8}, FoundDim{1, 10, {}}}));
}

TEST_CASE("conditions of different places have different keys") {
  const FailedOpset opset{"", {}, {}};
  CHECK(key_of({What::opset, 0}, opset) != key_of({What::opset, 1}, opset));
}

Rule rule_for(std::string op) {
  Rule rule;
  rule.op = std::move(op);
  return rule;
}

TypeSet types(DType dtype) {
  TypeSet types;
  types.add(dtype);
  return types;
}

// "op f: a b" a line: kind, op, nodes.
std::string describe(const Graph& graph, const std::vector<GapFound>& gaps) {
  std::string text;
  for (const GapFound& found : gaps) {
    const auto kind = static_cast<std::size_t>(found.gap.kind);
    text += std::array{"op ", "condition ", "denied "}[kind] + found.gap.op + ':';
    for (const NodeId node : found.nodes) text += ' ' + std::string(graph.node(node).name);
    text += '\n';
  }
  return text;
}

std::vector<GapFound> gaps_of(const Graph& graph, const std::vector<SupportList>& lists) {
  return find_gaps(graph, lists, {}, match_support(graph, lists, {}).supported);
}

TEST_CASE("Ops that no rule names are distinguished by what they read") {
  const Graph graph = graph_from_text(R"(
    input x: float32[2]
    input i: int64[2]
    a = f(x)
    b = f(i)
    c = f(x, i)
    d = f(a)
    e = g(d, k=i)
    output b, c, e)");
  const auto gaps = gaps_of(graph, {});
  CHECK(describe(graph, gaps) == "op f: a d\nop f: b\nop f: c\nop g: e\n");
  CHECK(gaps[1].gap.remedy.inputs == std::vector<MaybeTypes>{types(DType::int64)});
  CHECK(gaps[3].gap.remedy.kwargs.size() == 1);
}

TEST_CASE("A condition on a value makes a gap for each value found; a bound makes one gap") {
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x) {mode="cubic", size=9}
    b = f(a) {mode="linear", size=9}
    c = f(b) {mode="near", size=9}
    d = f(c) {mode="near", size=99}
    output d)");
  SupportList list;
  Rule& rule = list.allow.emplace_back(rule_for("f"));
  SECTION("a value") {
    rule.attributes.push_back({"mode", {AttributeValue("near")}, {}, {}});
    const auto gaps = gaps_of(graph, {list});
    CHECK(describe(graph, gaps) == "condition f: a\ncondition f: b\n");
    CHECK(std::get<FailedAttribute>(gaps[0].gap.failed[0]).value == AttributeValue("cubic"));
    CHECK(gaps[0].gap.remedy.attributes[0].accepted ==
          std::vector<AttributeValue>{AttributeValue("cubic")});
  }
  SECTION("a bound") {
    rule.attributes.push_back({"size", {}, {}, 4.0});
    const auto gaps = gaps_of(graph, {list});
    CHECK(describe(graph, gaps) == "condition f: a b c d\n");
    CHECK(gaps[0].gap.remedy.attributes.empty());
  }
}

TEST_CASE("A remedy changes failed conditions to what the node has, and keeps the others") {
  const Graph graph = graph_from_text(R"(
    input x: float16[3,5]
    opset "" 9
    a, b: scalar = f(x, k=x) {p=1, q=2}
    output a, b)");
  SupportList list;
  Rule& rule = list.allow.emplace_back(rule_for("*"));
  rule.why = "because";
  rule.line = 7;
  rule.opset = OpsetRule{.lowest = 11, .highest = 13};
  rule.inputs = {types(DType::float32)};
  rule.outputs = {std::nullopt, types(DType::float32)};
  rule.kwargs = {{"k", types(DType::int8)}};
  rule.attributes = {{"p", {AttributeValue(std::int64_t{1})}, {}, {}}, {"absent", {}, 1.0, {}}};
  rule.shapes = {{.input = 0,
                  .rank = 4,
                  .is_static = true,
                  .max_dim = 4,
                  .multiple_of = {{0, 3}, {1, 4}, {1, 5}}}};
  const auto gaps = gaps_of(graph, {list});
  REQUIRE(gaps.size() == 1);
  const Rule& remedy = gaps[0].gap.remedy;
  CHECK(remedy.op == "f");
  CHECK(remedy.why.empty());
  CHECK(remedy.line == 0);
  CHECK_FALSE(remedy.opset.has_value());
  CHECK(remedy.inputs[0] == types(DType::float16));
  TypeSet scalar;
  scalar.add(ValueType::scalar);
  CHECK(remedy.outputs[1] == scalar);
  CHECK(remedy.kwargs[0].second == types(DType::float16));
  CHECK(remedy.attributes == std::vector<AttributeRule>{rule.attributes[0]});
  CHECK(remedy.shapes == std::vector<ShapeRule>{{.input = 0,
                                                 .rank = 2,
                                                 .is_static = true,
                                                 .max_dim = {},
                                                 .multiple_of = {{0, 3}, {1, 5}}}});
  FilledLists filled({list});
  filled.fill(gaps[0].gap);
  CHECK(match_support(graph, filled.with_remedies(), {}).supported.count() == 1);
}

TEST_CASE("A denied node's remedy is to remove the rule; what still refuses it is the next gap") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = g(a)\n output b");
  SupportList list;
  list.allow.push_back(rule_for("f"));
  list.deny.push_back(rule_for("g"));
  list.deny.emplace_back().node_name = "a";
  const auto gaps = gaps_of(graph, {list});
  CHECK(describe(graph, gaps) == "denied f: a\ndenied g: b\n");
  FilledLists filled({list});
  filled.fill(gaps[0].gap);
  CHECK(filled.lists()[0].deny == std::vector<Rule>{list.deny[0]});
  CHECK(names_of(graph, match_support(graph, filled.with_remedies(), {}).supported) == "a");
  filled.fill(gaps[1].gap);
  CHECK(describe(graph, gaps_of(graph, filled.lists())) == "op g: b\n");
}

TEST_CASE("Body nodes have gaps of their own; their owner has one for its own op only") {
  constexpr const char* kText = R"(
    input x
    a = If(x)
    | h = f(x)
    | i = g(h)
    output a)";
  const Graph graph = graph_from_text(kText);
  SupportList list;
  list.allow.push_back(rule_for("f"));
  CHECK(describe(graph, gaps_of(graph, {list})) == "op If: a\nop g: i\n");
  list.allow.push_back(rule_for("If"));
  CHECK(describe(graph, gaps_of(graph, {list})) == "op g: i\n");
}

}  // namespace

}  // namespace cleave
