#include "core/support/rule_index.h"

#include <numeric>
#include <random>

#include "core/support/rule_check.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

TEST_CASE("the rules of an op are those that name it, in the order of the list") {
  std::vector<Rule> rules;
  const auto add = [&](const char* op, const char* domain) {
    rules.emplace_back();
    rules.back().op = op;
    rules.back().domain = domain;
  };
  add("Conv", "");
  add("C*", "");
  add("", "");
  add("Conv", "com.microsoft");
  add("Conv", "ai.onnx");
  add("*onv", "com.microsoft");
  add("aten.conv2d", "");
  add("conv2d", "aten");
  add("*", "*");
  add("*", "com.*");
  add("Conv", "*");
  add("conv*", "aten");
  const RulesByOp by_op(rules);
  CHECK(by_op.names("", "Conv") == RuleIndices{0, 1, 2, 4, 8, 10});
  CHECK(by_op.names("com.microsoft", "Conv") == RuleIndices{2, 3, 5, 8, 9, 10});
  CHECK(by_op.names("", "torch.ops.aten.conv2d.default") == RuleIndices{2, 6, 7, 8, 11});
  CHECK(by_op.names("", "aten::conv2d") == RuleIndices{2, 7, 8, 11});  // as TorchScript has it
  CHECK(by_op.names("", "Relu") == RuleIndices{2, 8});
  for (const auto& [domain, op] :
       {std::pair("", "Conv"), std::pair("com.microsoft", "Conv"),
        std::pair("", "torch.ops.aten.conv2d.default"), std::pair("", "aten::conv2d")}) {
    RuleIndices wanted;
    for (std::uint32_t i = 0; i < rules.size(); ++i) {
      if (names_op(rules[i], domain, op)) wanted.push_back(i);
    }
    CHECK(by_op.names(domain, op) == wanted);
  }
}

TEST_CASE("rules that are not wanted are left out") {
  std::vector<Rule> rules(2);
  rules[0].op = rules[1].op = "Conv";
  rules[1].node_name = "a*";
  const RulesByOp by_op(rules, [](const Rule& rule) { return rule.node_name.empty(); });
  CHECK(by_op.names("", "Conv") == RuleIndices{0});
}

Rule for_name(const char* name) {
  Rule rule;
  rule.node_name = name;
  return rule;
}

TEST_CASE("rules are found by a node's name, ascending") {
  Rule literal = for_name("a*");
  literal.is_exact_name = true;
  const std::vector<Rule> rules = {for_name("a*"), for_name("ab"), for_name("b"), literal};
  RulesByName by_name;
  CHECK(by_name.empty());
  for (std::uint32_t i = 0; i < rules.size(); ++i) by_name.add(rules[i], i);
  CHECK_FALSE(by_name.empty());
  CHECK(by_name.matches("ab") == RuleIndices{0, 1});
  CHECK(by_name.matches("ac") == RuleIndices{0});
  CHECK(by_name.matches("b") == RuleIndices{2});
  CHECK(by_name.matches("a*") == RuleIndices{0, 3});  // a name may hold a star
  CHECK(by_name.matches("c").empty());
}

Rule rule_on(const char* name, std::vector<AttributeValue> accepted) {
  Rule rule;
  rule.op = std::string(1, 'f');
  AttributeRule& attribute = rule.attributes.emplace_back();
  attribute.name = std::string(name);
  attribute.accepted = std::move(accepted);
  return rule;
}

bool holds(const Graph& graph, NodeId node, const Rule& rule) {
  std::vector<FailedCondition> failed;
  find_failed_conditions(graph, node, rule, {}, failed);
  return failed.empty();
}

TEST_CASE("rules that ask for another value of an attribute are not candidates") {
  const Graph graph = graph_from_text("input x\n a = f(x) {group=3, mode=\"nearest\"}");
  const std::vector<Rule> rules = {
      rule_on("group", {std::int64_t{1}}),       rule_on("group", {std::int64_t{2}, 3.0}),
      rule_on("mode", {std::string("nearest")}), rule_on("mode", {std::string("linear")}),
      rule_on("none", {std::int64_t{1}}),        Rule{},
      rule_on("axis", {std::int64_t{-1}})};
  const RuleFilter filter(rules, {0, 1, 2, 3, 4, 5, 6});
  CHECK(filter.candidates(graph, node_named(graph, "a"), {}) == RuleIndices{1, 2, 5, 6});
}

TEST_CASE("every rule that holds is a candidate, and a third of the others are not") {
  std::mt19937 chance(3);
  const auto some_value = [&]() -> AttributeValue {
    const auto number = static_cast<std::int64_t>(chance() % 4);
    switch (chance() % 5) {
      case 0:
        return static_cast<double>(number);
      case 1:
        return static_cast<double>(number) + 0.5;
      case 2:
        return std::string(1, static_cast<char>('a' + number));
      case 3:
        return std::vector<Literal>{number, number + 1};
      default:
        return number;
    }
  };
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x) {k=1, m="b"}
    b = f(x) {k=[1, 2], m=2.5}
    c = f(x) {m=0.0}
    d = f(x)
  )");
  std::vector<Rule> rules;
  for (int i = 0; i < 200; ++i) {
    rules.push_back(rule_on(chance() % 2 == 0 ? "k" : "m", {some_value(), some_value()}));
  }
  RuleIndices all(rules.size());
  std::iota(all.begin(), all.end(), 0U);
  const RuleFilter filter(rules, all);
  for (const NodeId node : graph.nodes()) {
    const RuleIndices found = filter.candidates(graph, node, {});
    CHECK(std::is_sorted(found.begin(), found.end()));
    CHECK(found.size() < rules.size() * 2 / 3);
    for (const std::uint32_t i : all) {
      if (holds(graph, node, rules[i])) CHECK(std::binary_search(found.begin(), found.end(), i));
    }
  }
}

}  // namespace

}  // namespace cleave
