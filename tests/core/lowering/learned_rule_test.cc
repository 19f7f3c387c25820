#include "core/lowering/learned_rule.h"

#include <algorithm>
#include <random>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// Evidence that these nodes failed, by name; all others passed.
class Trial {
 public:
  Trial(std::string_view text, std::string_view failed) : graph_(graph_from_text(text)) {
    const NodeSet set = nodes_named(graph_, failed);
    for (const NodeId node : graph_.nodes()) {
      if (set.contains(node)) {
        evidence_.add_failed(graph_, node);
      } else {
        evidence_.add_passed(graph_, std::vector{node});
      }
    }
  }

  std::vector<LearnedRule> learn() const { return learn_rules(evidence_, {graph_, facts_}); }

  // The nodes refused by a list that allows everything but what the rules deny.
  std::string denied() const {
    SupportList list;
    Rule all;
    all.op = "*";
    list.allow.push_back(all);
    for (const LearnedRule& learned : learn()) list.deny.push_back(learned.rule);
    NodeSet refused(graph_.node_count());
    const Support support = match_support(graph_, {list}, facts_);
    for (const NodeId node : graph_.nodes()) {
      if (!support.supported.contains(node)) refused.insert(node);
    }
    return names_of(graph_, refused);
  }

 private:
  Graph graph_;
  Evidence evidence_;
  OpFacts facts_;
};

TEST_CASE("An op without a passed case is denied as a whole") {
  const Trial trial(R"(
    opset "" 17
    input x: float32[1,8]
    input y: float32[2,8]
    a = Loop(x)
    b = Loop(y)
    c = Relu(x)
    output a, b, c)",
                    "a b");
  const auto rules = trial.learn();
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].rule.op == "Loop");
  CHECK(rules[0].rule.opset == OpsetRule{.lowest = 17, .highest = 17});
  CHECK(rules[0].conditions == 0);
  CHECK(rules[0].failed == 2);
  CHECK_FALSE(rules[0].is_weak());
  CHECK(trial.denied() == "a b");
}

TEST_CASE("One condition on an attribute, rank or dtype separates failed from passed cases") {
  const Trial layout(R"(
    input x: float32[4,1,8]
    input z: float32[5,1,8]
    a = GRU(x) {layout=1, hidden=8}
    b = GRU(x) {layout=0, hidden=8}
    c = GRU(z) {layout=1, hidden=4}
    d = GRU(z) {layout=0, hidden=4}
    output a, b, c, d)",
                     "a c");
  const auto rules = layout.learn();
  REQUIRE(rules.size() == 1);
  REQUIRE(rules[0].rule.attributes.size() == 1);
  CHECK(rules[0].rule.attributes[0].name == "layout");
  CHECK(rules[0].conditions == 1);
  CHECK(rules[0].is_weak());
  CHECK(layout.denied() == "a c");

  const Trial rank(R"(
    input x: float32[1,2,8,8]
    input y: float32[1,2,8,8,8]
    a = GridSample(x)
    b = GridSample(y)
    output a, b)",
                   "b");
  REQUIRE(rank.learn().size() == 1);
  CHECK(rank.learn()[0].rule.shapes.size() == 1);
  CHECK(rank.denied() == "b");

  const Trial dtype(R"(
    input x: float32[1,8]
    input y: int64[1,8]
    a = Abs(x)
    b = Abs(y)
    output a, b)",
                    "b");
  REQUIRE(dtype.learn().size() == 1);
  CHECK(dtype.learn()[0].rule.inputs.size() == 1);
  CHECK(dtype.denied() == "b");
}

TEST_CASE("An input after one that is no tensor, or after a list, separates by its dtype, too") {
  const Trial scalar(R"(
    input x: float32[1,8]
    input y: int64[1,8]
    s: scalar = Size(x)
    a = Scale(s, x)
    b = Scale(s, y)
    output a, b)",
                     "b");
  REQUIRE(scalar.learn().size() == 1);
  REQUIRE(scalar.learn()[0].rule.inputs.size() == 2);
  CHECK_FALSE(scalar.learn()[0].rule.inputs[0].has_value());
  CHECK(scalar.denied() == "b");

  const Trial list(R"(
    input x: float32[1,8]
    input y: int64[1,8]
    a = Gather([x, y], x)
    b = Gather([x, y], y)
    output a, b)",
                   "b");
  CHECK(list.learn()[0].rule.node_name.empty());
  CHECK(list.denied() == "b");
}

TEST_CASE("Two conditions are combined if one is not enough") {
  const Trial trial(R"(
    input x: float32[1,8]
    input y: int64[1,8]
    a = Pool(x) {ceil=0}
    b = Pool(y) {ceil=0}
    c = Pool(x) {ceil=1}
    d = Pool(y) {ceil=1}
    output a, b, c, d)",
                    "d");
  const auto rules = trial.learn();
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].conditions == 2);
  CHECK(trial.denied() == "d");
}

TEST_CASE("Numbers on one side of those that passed become a range") {
  const Trial trial(R"(
    input x: float32[1,8]
    a = Pool(x) {size=3}
    b = Pool(x) {size=7}
    c = Pool(x) {size=11}
    d = Pool(x) {size=13}
    e = Pool(x) {size=17}
    output a, b, c, d, e)",
                    "c d e");
  const auto rules = trial.learn();
  REQUIRE(rules.size() == 1);
  REQUIRE(rules[0].rule.attributes.size() == 1);
  CHECK(rules[0].rule.attributes[0].min == 9);
  CHECK_FALSE(rules[0].is_weak());
  CHECK(trial.denied() == "c d e");
}

TEST_CASE("Several rules are learned if none covers all failed cases") {
  const Trial trial(R"(
    input x: float32[1,8]
    input y: int64[1,8]
    a = Pool(x) {mode="max"}
    b = Pool(y) {mode="max"}
    c = Pool(x) {mode="sum"}
    output a, b, c)",
                    "b c");
  CHECK(trial.learn().size() == 2);
  CHECK(trial.denied() == "b c");
}

TEST_CASE("Cases that no condition separates are denied by name") {
  const Trial dims(R"(
    input x: float32[1,8]
    input y: float32[1,9]
    a = Pool(x)
    b = Pool(y)
    output a, b)",
                   "b");
  REQUIRE(dims.learn().size() == 1);
  CHECK(dims.learn()[0].rule.node_name == "b");
  CHECK(dims.denied() == "b");
}

TEST_CASE("A case that both failed and passed is denied by name, and is not evidence for a rule") {
  const Graph graph = graph_from_text(R"(
    input x: float32[1,8]
    a = Pool(x) {mode="max"}
    b = Pool(x) {mode="max"}
    output a, b)");
  const OpFacts facts;
  Evidence evidence;
  evidence.add_passed(graph, std::vector{NodeId{0}});
  evidence.add_failed(graph, NodeId{1});
  const auto rules = learn_rules(evidence, {graph, facts});
  REQUIRE(rules.size() == 1);
  CHECK_FALSE(rules[0].rule.node_name.empty());
}

TEST_CASE("A learned rule denies exactly the planted failures, in 300 random trials") {
  std::size_t by_condition = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    std::string text = "input x: float32[1,8]\ninput y: int64[1,8]\ninput z: float32[1,2,8]\n";
    std::string failed;
    std::string outputs;
    const std::size_t planted = random() % 3;
    for (int i = 0; i < 40; ++i) {
      const std::size_t input = random() % 3;
      const std::size_t mode = random() % 3;
      const std::size_t size = random() % 8;
      const std::string name = "n" + std::to_string(i);
      text += name + " = Pool(" + std::string(1, "xyz"[input]) + ") {mode=" + std::to_string(mode) +
              ", size=" + std::to_string(size) + "}\n";
      const bool is_bad = planted == 0   ? mode == 1
                          : planted == 1 ? input == 2
                                         : size >= 5 && mode == 2;
      if (is_bad) failed += (failed.empty() ? "" : " ") + name;
      outputs += (i == 0 ? "output " : ", ") + name;
    }
    if (failed.empty()) continue;
    const Trial trial(text + outputs + "\n", failed);
    INFO("seed " << seed);
    CHECK(trial.denied() == failed);
    const auto rules = trial.learn();
    if (planted < 2) {
      REQUIRE(rules.size() == 1);
      CHECK(rules[0].conditions == 1);
      ++by_condition;
    }
  }
  CHECK(by_condition > 150);
}

}  // namespace
}  // namespace cleave
