#include <algorithm>
#include <random>
#include <string>

#include "core/lists/support.h"
#include "core/lowering/lowering.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

// ---- learned pattern test ----

namespace {

std::vector<NodeId> named(const Graph& graph, std::string_view names) {
  std::vector<NodeId> nodes;
  const NodeSet set = nodes_named(graph, names);
  for (const NodeId node : graph.nodes()) {
    if (set.contains(node)) nodes.push_back(node);
  }
  return nodes;
}

// The nodes that the patterns accept.
std::string accepted(const Graph& graph, const std::vector<Pattern>& patterns) {
  SupportList list;
  list.patterns = patterns;
  return names_of(graph, match_support(graph, {list}, {}).supported);
}

constexpr const char* kThree = R"(
    input x: float32[4]
    a = Scale(x) {by=1}
    b = Erf(a)
    c = Scale(x) {by=2}
    d = Erf(c)
    e = Scale(x) {by=3}
    f = Erf(e)
    output b, d, f)";

TEST_CASE("a learned pattern asks for the values that it was seen with") {
  const Graph graph = graph_from_text(kThree);
  const OpFacts facts;
  const auto pattern =
      LearnedPattern::of(graph, facts, named(graph, "a b"), named(graph, "b").front());
  REQUIRE(pattern);
  CHECK(accepted(graph, pattern->patterns()) == "a b");
  CHECK(pattern->around(graph, named(graph, "d").front()) == named(graph, "c d"));
  CHECK(pattern->is_known(graph, facts, named(graph, "a b")));
  CHECK_FALSE(pattern->is_known(graph, facts, named(graph, "c d")));
}

TEST_CASE("a value in which taken occurrences differ is not asked for, unless one was refused") {
  const Graph graph = graph_from_text(kThree);
  const OpFacts facts;
  auto pattern = LearnedPattern::of(graph, facts, named(graph, "a b"), named(graph, "b").front());
  REQUIRE(pattern);
  pattern->add(graph, facts, named(graph, "c d"), true);
  CHECK(pattern->patterns().size() == 1);
  CHECK(accepted(graph, pattern->patterns()) == "a b c d e f");
  pattern->add(graph, facts, named(graph, "e f"), false);
  CHECK(pattern->patterns().size() == 2);
  CHECK(accepted(graph, pattern->patterns()) == "a b c d");
}

TEST_CASE("a learned pattern asks for constants, for what others state, and for places of edges") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    param w: float32[4]
    param s: float32[1]
    first = Scale(x) {by=1}
    a, b = Split(first) {axis=0}
    c = Mix(b, [a, w], x, s, w, k=s) {by=2}
    d = Mix(c) {alpha=1}
    output d)");
  OpFacts facts;
  facts.elements = [](const Graph& of, ValueId value) {
    const std::size_t count = of.value(value).name == "s" ? 1 : 4;
    return std::optional(std::vector<Literal>(count, Literal(2.0)));
  };
  const auto nodes = named(graph, "a c");
  const auto pattern = LearnedPattern::of(graph, facts, nodes, nodes.back());
  REQUIRE(pattern);
  REQUIRE(pattern->patterns().size() == 1);
  const Pattern made = pattern->patterns().front();
  CHECK(made.graph.edges == std::vector<PatternEdge>{{0, 1, 1U, 0U}, {0, 1, 0U, std::nullopt}});
  REQUIRE(made.ops.size() == 2);
  CHECK(made.ops[0].conditions == std::vector{attribute_is("axis", {std::int64_t{0}})});
  Rule mix;
  mix.add(attribute_is("by", {std::int64_t{2}}));
  mix.add(is_stated("alpha", false));
  Condition two = of_input(Property::values, {3});
  two.wanted.list = {Literal(2.0)};
  mix.add(two);
  mix.add(of_input(Property::constant, {4}));
  CHECK(made.ops[1].conditions == mix.conditions);
  const auto whole = named(graph, "first a");
  const auto edges =
      LearnedPattern::of(graph, facts, whole, whole.back())->patterns().front().graph.edges;
  CHECK(edges == std::vector<PatternEdge>{{0, 1, std::nullopt, 0U}});
}

TEST_CASE("an occurrence is known by the values and types of each of its nodes") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    input h: float16[4]
    a: float32[4] = Scale(x) {by=1}
    b: float32[4] = Erf(a, x)
    c: float32[4] = Scale(x) {by=1}
    d: float32[4] = Erf(c, h)
    e: float32[4] = Scale(x) {by=1}
    f: float32[4] = Erf(e, x)
    output b, d, f)");
  const OpFacts facts;
  const auto all = named(graph, "a b c d e f");
  const std::span<const NodeId> nodes(all);
  const auto pattern = LearnedPattern::of(graph, facts, nodes.first(2), all[1]);
  REQUIRE(pattern);
  CHECK(pattern->is_known(graph, facts, nodes.first(2)));
  CHECK_FALSE(pattern->is_known(graph, facts, nodes.subspan(2, 2)));
  CHECK(pattern->is_known(graph, facts, nodes.subspan(4, 2)));
}

TEST_CASE("a node with a body, or with an attribute that no rule can ask for, is in no pattern") {
  for (const char* const first : {"Scale(x)", "Scale(x) {body}", "Scale(x)\n| h = G(x)"}) {
    const Graph graph = graph_from_text("input x: float32[4]\na = " + std::string(first) +
                                        "\nb = Erf(a)\noutput b");
    const auto nodes = named(graph, "a b");
    const bool is_plain = std::string_view(first) == "Scale(x)";
    CHECK(LearnedPattern::of(graph, {}, nodes, nodes.back()).has_value() == is_plain);
  }
}

TEST_CASE(
    "nodes that no pattern can say are none: an inner value that others read, too many nodes") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    a = Scale(x)
    b = Erf(a)
    c = Relu(a)
    output b, c)");
  const OpFacts facts;
  CHECK_FALSE(LearnedPattern::of(graph, facts, named(graph, "a b"), named(graph, "b").front()));
  std::string chain = "input x: float32[4]\nn0 = Relu(x)\n";
  std::string names = "n0";
  for (int i = 1; i < 17; ++i) {
    chain += "n" + std::to_string(i) + " = Relu(n" + std::to_string(i - 1) + ")\n";
    names += " n" + std::to_string(i);
  }
  const Graph longer = graph_from_text(chain + "output n16");
  CHECK_FALSE(LearnedPattern::of(longer, facts, named(longer, names), named(longer, "n0").front()));
}

}  // namespace

// ---- learned rule test ----

namespace {

// Evidence that these nodes failed, by name; all others passed.
class Trial {
 public:
  Trial(std::string_view text, std::string_view failed, OpFacts facts = {})
      : graph_(graph_from_text(text)), facts_(std::move(facts)) {
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

TEST_CASE("Of an op that never passed, the word is denied by which each node leaves the default") {
  OpFacts facts;
  facts.default_attribute = [](auto, auto op, auto, std::string_view name) {
    return op == "GRU" && name == "direction" ? std::optional<AttributeValue>("forward")
                                              : std::nullopt;
  };
  const auto denied = [&](const char* first, const char* second) {
    const Trial trial("opset \"\" 17\ninput x: float32[1,8]\na = GRU(x) {direction=\"" +
                          std::string(first) + "\", hidden=8}\nb = GRU(x) {direction=\"" + second +
                          "\", hidden=8}\nc = Relu(x)\noutput a, b, c",
                      "a b", facts);
    const auto rules = trial.learn();
    REQUIRE(rules.size() == 1);
    CHECK(rules[0].is_weak() == (rules[0].conditions == 1));
    return rules[0].rule.conditions.empty() ? 0 : rules[0].rule.conditions[0].wanted.one_of.size();
  };
  CHECK(denied("bidirectional", "bidirectional") == 1);
  CHECK(denied("bidirectional", "reverse") == 2);
  CHECK(denied("bidirectional", "forward") == 0);
}

TEST_CASE("Of two attributes that separate the cases, the one that is a word is denied") {
  const Trial trial(R"(
    opset "" 17
    input x: float32[1,8]
    a = Resize(x) {cubic=0.5, mode="cubic"}
    b = Resize(x) {mode="linear"}
    output a, b)",
                    "a");
  const auto rules = trial.learn();
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].rule.conditions[0].name == "mode");
}

TEST_CASE("Of a type and an attribute that separate the cases, the type is denied") {
  const Trial trial(R"(
    input x: float64[1,8]
    input y: float32[1,8]
    a = Conv(x) {kernel_shape=[1,1]}
    b = Conv(y) {kernel_shape=[3,3]}
    output a, b)",
                    "a");
  const auto rules = trial.learn();
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].rule.conditions.empty());
  REQUIRE(rules[0].rule.inputs.size() == 1);
  CHECK(rules[0].rule.inputs[0].has_value());
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
  REQUIRE(rules[0].rule.conditions.size() == 1);
  CHECK(rules[0].rule.conditions[0].name == "layout");
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
  CHECK(rank.learn()[0].rule.conditions == conditions_of(ShapeEntry{.rank = 5}));
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
  CHECK(rules[0].rule.conditions == std::vector{attribute_within("size", 9, {})});
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
    input x: float32[1,9]
    input y: float32[1,8]
    a = Pool(x)
    b = Pool(y)
    output a, b)",
                   "b");
  REQUIRE(dims.learn().size() == 1);
  CHECK(dims.learn()[0].rule.node_name == "b");
  CHECK(dims.denied() == "b");
}

TEST_CASE("What fails of an op beyond a size is denied by the size of its tensors") {
  const Trial trial(R"(
    input x: float32[1,8]
    input y: float32[1,100]
    input z: float32[1,201]
    a = Pool(x)
    b = Pool(y)
    c = Pool(z)
    output a, b, c)",
                    "c");
  const auto rules = trial.learn();
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].rule.op == "Pool");
  REQUIRE(rules[0].limit);
  CHECK(rules[0].limit->of == SizeOf::tensor_bytes);
  CHECK(rules[0].limit->most == 601);
  CHECK(trial.denied() == "c");
}

TEST_CASE(
    "Where several ops fail beyond a size within which all passes, one rule stands for them") {
  const Trial trial(R"(
    input x: float32[1,8]
    input y: float32[1,100]
    a = Pool(x)
    b = Pool(y)
    c: float32[1,100] = Relu(y)
    d: float32[1,99] = Neg(x)
    output a, b, c, d)",
                    "b c");
  const auto rules = trial.learn();
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].rule.op.empty());
  CHECK(rules[0].failed == 2);
  CHECK(trial.denied() == "b c");
}

TEST_CASE(
    "Ops that are refused in different words have no common size: each has rules of its own") {
  const Graph graph = graph_from_text(R"(
    input x: float32[1,8]
    input y: float32[1,100]
    a = Gemm(x)
    b = Gemm(y)
    c = Gemm(y) {trans=1}
    d = Gru(y)
    e = Embedding(y)
    output a, b, c, d, e)");
  const OpFacts facts;
  Evidence evidence;
  evidence.add_passed(graph, std::vector{NodeId{0}});
  for (const NodeId node : {NodeId{1}, NodeId{2}}) evidence.add_failed(graph, node, "too wide");
  evidence.add_failed(graph, NodeId{3}, "no cells");
  const auto rules = learn_rules(evidence, {graph, facts});
  REQUIRE(rules.size() == 2);
  CHECK(rules[0].rule.op == "Gemm");
  CHECK(rules[0].limit);
  CHECK(rules[1].rule.op == "Gru");
  CHECK(rules[1].conditions == 0);

  // In the same words they have.
  evidence.add_failed(graph, NodeId{4}, "too wide");
  CHECK(learn_rules(evidence, {graph, facts})[0].rule.op.empty());
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

// What is learned where those named by `passed` and `failed` were tried: for each rule its op, the
// node's name or what it asks for, and the nodes that it is made of.
std::string learned(std::string_view text, std::string_view passed, std::string_view failed,
                    const OpFacts& facts = {}) {
  const Graph graph = graph_from_text(text);
  Evidence evidence;
  evidence.add_passed(graph, named(graph, passed));
  for (const NodeId node : named(graph, failed)) evidence.add_failed(graph, node);
  std::string all;
  for (const LearnedRule& one : learn_rules(evidence, {graph, facts})) {
    all += one.rule.op + (one.rule.node_name.empty() ? "" : " " + one.rule.node_name);
    for (const Condition& condition : one.rule.conditions) {
      all += " " + condition.name;
      for (const AttributeValue& value : condition.wanted.one_of) {
        all += "=" + attribute_value_text(value);
      }
    }
    for (std::size_t i = 0; i < one.rule.inputs.size(); ++i) {
      if (one.rule.inputs[i]) all += " type of " + std::to_string(i);
    }
    if (one.limit) all += one.limit->of == SizeOf::axis_elements ? " of an axis" : " of bytes";
    all += ": " + names_of(graph, one.failing) + ", " + std::to_string(one.failed) + " of " +
           std::to_string(one.failed + one.passed);
    all += (one.rule.why.empty() ? "" : " (" + one.rule.why + ")") + "\n";
  }
  return all;
}

TEST_CASE("Of a case that is denied by name all nodes are, and those not tried say so") {
  CHECK(learned(R"(
    input x: float32[1,9]
    input y: float32[1,8]
    a = Pool(x)
    b = Pool(y)
    c = Pool(y)
    d = Relu(y)
    e = Pool(y)
    f = Pool(y)
    output a, b, c, d, e, f)",
                "a", "c e") ==
        "Pool c: c, 1 of 2\nPool e: e, 1 of 2\n"
        "Pool b: e, 1 of 2 (not tried alone: same op, types and attributes as \"e\")\n"
        "Pool f: e, 1 of 2 (not tried alone: same op, types and attributes as \"e\")\n");
}

TEST_CASE("Of rules as short as each other the one that denies the fewest nodes is learned") {
  const std::string tried = R"(
    input x: float32[1,8]
    a = Pool(x) {m=1, n=1}
    b = Pool(x) {m=2, n=2}
    )";
  const std::string end = "\noutput a, b";
  CHECK(learned(tried + end, "b", "a") == "Pool m=1: a, 1 of 2\n");
  CHECK(learned(tried + "c = Pool(x) {m=1}" + end, "b", "a") == "Pool n=1: a, 1 of 2\n");
  CHECK(learned(tried + "c = Pool(x) {m=3, n=1}" + end, "b", "a") == "Pool m=1: a, 1 of 2\n");
  CHECK(learned(R"(
    input x: float32[1,8]
    a = Pool(x) {i=1, j=1, k=1}
    b = Pool(x) {i=2, j=2, k=2}
    c = Pool(x) {i=1}
    d = Pool(x) {j=1}
    e = Pool(x) {j=1}
    output a, b)",
                "b", "a") == "Pool k=1: a, 1 of 2\n");
  // Nodes of another domain or op change nothing of the rule.
  for (const char* const other : {"ml::Pool", "Relu"}) {
    const std::string more = "c = Pool(x) {m=1}\nd = " + std::string(other) +
                             "(x) {n=1}\ne = " + std::string(other) + "(x) {n=1}";
    CHECK(learned(tried + more + end, "b", "a") == "Pool n=1: a, 1 of 2\n");
  }
}

TEST_CASE("Conditions are combined in each pair that can be, and each rule covers what it can") {
  CHECK(learned(R"(
    input x: float32[1,8]
    input y: int64[1,8]
    a = Pool(x) {all=0, ceil=1}
    b = Pool(x) {all=0, ceil=2}
    c = Pool(y) {all=0, ceil=0}
    d = Pool(y) {all=0, ceil=1}
    e = Pool(y) {all=0, ceil=2}
    output a, b, c, d, e)",
                "a b c",
                "d e") == "Pool ceil=1 type of 0: d, 1 of 4\nPool ceil=2 type of 0: e, 1 of 4\n");
  CHECK(learned(R"(
    input x: float32[1,8]
    a = Pool(x) {i=1, k=1}
    b = Pool(x) {i=1, k=1, m=3}
    c = Pool(x) {j=1, k=1}
    d = Pool(x) {k=2}
    output a, b, c, d)",
                "d", "a b c") == "Pool k=1: b a c, 3 of 4\n");
}

TEST_CASE("A word is denied only where each failed case states one that is not the default") {
  OpFacts facts;
  facts.default_attribute = [](auto, auto, auto, auto) { return AttributeValue("forward"); };
  const auto denied = [&](const std::string& first, const std::string& second) {
    return learned("input x: float32[1,8]\na = GRU(x) {direction=\"" + first +
                       "\", hidden=8}\nb = GRU(x) {direction=\"" + second + "\"}\noutput a, b",
                   "", "a b", facts);
  };
  CHECK(denied("forward", "reverse") == "GRU: a b, 2 of 2\n");
  CHECK(denied("reverse", "forward") == "GRU: b a, 2 of 2\n");
}

TEST_CASE("An op that never passed is denied in the opsets seen, whichever models state one") {
  const Graph with = graph_from_text("opset \"\" 17\ninput x: float32[1]\na = Loop(x)\noutput a");
  const Graph without = graph_from_text("input x: float32[1]\na = Loop(x)\noutput a");
  Evidence evidence;
  evidence.add_failed(with, NodeId{0});
  evidence.add_failed(without, NodeId{0});
  const OpFacts facts;
  const auto rules = learn_rules(evidence, {with, facts});
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].rule.opset == OpsetRule{.lowest = 17, .highest = 17});
}

// ---- rule condition test ----

Rule on_input(std::size_t position, DType dtype) {
  Rule rule;
  rule.op = "Pool";
  rule.inputs.resize(position + 1);
  rule.inputs[position].emplace().add(dtype);
  return rule;
}

Rule on_opset(std::int64_t opset) {
  Rule rule;
  rule.op = "Pool";
  rule.opset = OpsetRule{.lowest = opset, .highest = opset};
  return rule;
}

Rule on_attribute(const std::string& name) {
  Rule rule;
  rule.op = "Pool";
  rule.add(attribute_is(name, {std::int64_t{1}}));
  return rule;
}

Rule on_rank(std::uint32_t input, std::int64_t rank) {
  Rule rule;
  rule.op = "Pool";
  rule.add(ShapeEntry{.input = input, .rank = rank});
  return rule;
}

TEST_CASE("Two rules are combined where they ask about different things") {
  const Rule first = on_input(0, DType::int64), second = on_input(1, DType::int8);
  CHECK(may_be_combined(first, second));
  CHECK(may_be_combined(second, first));
  CHECK_FALSE(may_be_combined(first, on_input(0, DType::int8)));
  CHECK_FALSE(may_be_combined(second, on_input(1, DType::int64)));
  CHECK(may_be_combined(second, on_input(2, DType::int8)));
  CHECK(may_be_combined(on_opset(9), first));
  CHECK(may_be_combined(first, on_opset(9)));
  CHECK_FALSE(may_be_combined(on_opset(9), on_opset(11)));
  CHECK(may_be_combined(on_attribute("a"), on_attribute("b")));
  CHECK_FALSE(may_be_combined(on_attribute("a"), on_attribute("a")));
  CHECK(may_be_combined(on_rank(0, 4), on_attribute("a")));
  CHECK(may_be_combined(on_rank(0, 4), on_rank(1, 4)));
  CHECK_FALSE(may_be_combined(on_rank(1, 4), on_rank(1, 5)));

  const Rule both = combined(second, combined(on_opset(9), on_rank(0, 4)));
  CHECK(both.opset == on_opset(9).opset);
  CHECK(both.inputs == second.inputs);
  CHECK(both.conditions == on_rank(0, 4).conditions);
  const Rule types = combined(second, on_input(2, DType::boolean));
  REQUIRE(types.inputs.size() == 3);
  CHECK_FALSE(types.inputs[0]);
  CHECK(types.inputs[1] == second.inputs[1]);
  CHECK(types.inputs[2] == on_input(2, DType::boolean).inputs[2]);
  CHECK(combined(first, second).inputs == combined(second, first).inputs);
}

TEST_CASE("A rule holds of nodes of its op and domain alone") {
  const Graph graph = graph_from_text(
      "opset \"\" 9\nopset \"ml\" 9\ninput x\na = Pool(x)\nb = Relu(x)\nc = ml::Pool(x)\noutput a, "
      "b, c");
  std::string held;
  for (const NodeId node : graph.nodes()) {
    const bool holds = holds_of(on_opset(9), {.graph = &graph, .node = node}, {});
    held += holds ? graph.node(node).name : "-";
  }
  CHECK(held == "a--");
}

// The texts of the conditions, with the numbers of a range and of a size.
std::string conditions_text(const std::string& text, const std::string& failed) {
  const Graph graph = graph_from_text(text);
  const NodeSet set = nodes_named(graph, failed);
  Evidence evidence;
  for (const NodeId node : graph.nodes()) {
    if (set.contains(node)) {
      evidence.add_failed(graph, node);
    } else {
      evidence.add_passed(graph, std::vector{node});
    }
  }
  std::string all;
  for (const RuleCondition& one : conditions_of({"", "Pool"}, evidence.cases({"", "Pool"}), {})) {
    all += (all.empty() ? "" : "; ") + one.text;
    if (one.text.ends_with(" range")) {
      const Accepted& wanted = one.rule.conditions.front().wanted;
      if (wanted.min) all += " from " + std::to_string(static_cast<int>(*wanted.min));
      if (wanted.max) all += " to " + std::to_string(static_cast<int>(*wanted.max));
    }
    if (one.limit) {
      all += (one.limit->of == SizeOf::axis_elements ? " of an axis above " : " in bytes above ") +
             std::to_string(one.limit->most) + ", refused " + std::to_string(one.limit->refused);
    }
  }
  return all;
}

std::string pools(const std::string& first, const std::string& second, const std::string& third) {
  return "input x: float32[2,8]\ninput u\na = Pool(x) {" + first + "}\nb = Pool(x) {" + second +
         "}\nc = Pool(x) {" + third + "}\noutput a, b, c\n";
}

TEST_CASE("The conditions of failed cases are listed, with ranges on the side where they are") {
  const std::string inputs = "; input 0 has rank 2; input 0 is float32";
  CHECK(conditions_text(pools("k=3", "k=5", "k=10"), "a b") ==
        "attribute k in a range to 7; attribute k is 3; attribute k is 5" + inputs);
  CHECK(conditions_text(pools("k=3", "k=8", "k=9"), "b c") ==
        "attribute k in a range from 6; attribute k is 8; attribute k is 9" + inputs);
  CHECK(conditions_text(pools("k=-4", "k=-3", "k=-2"), "b c") ==
        "attribute k in a range from -3; attribute k is -2; attribute k is -3" + inputs);
  // One number is no range, nor is what has numbers that passed on both sides, or a text.
  CHECK(conditions_text(pools("k=3", "k=5", "k=10"), "a") == "attribute k is 3" + inputs);
  CHECK(conditions_text(pools("k=3", "k=5", "k=10"), "a c") ==
        "attribute k is 10; attribute k is 3" + inputs);
  CHECK(conditions_text(pools("k=3", "k=5", "k=\"same\""), "a b") ==
        "attribute k is 3; attribute k is 5" + inputs);
  // A node that does not state the attribute is no number; the others are compared.
  CHECK(conditions_text(pools("m=1", "k=5", "k=10"), "a c") ==
        "attribute k is 10; attribute m is 1" + inputs);
  CHECK(conditions_text(pools("k=20", "m=1", "k=10"), "a b c") ==
        "attribute k is 10; attribute k is 20; attribute m is 1" + inputs);
}

TEST_CASE("Ranges are of what states the attribute, and of numbers that passed on no side") {
  const auto four = [](const char* first) {
    return "input x: float32[2,8]\na = Pool(x) {" + std::string(first) +
           "}\nb = Pool(x) {k=3}\nc = Pool(x) {k=4}\nd = Pool(x) {k=8, z=1}\noutput a, b, c, d\n";
  };
  const std::string inputs = "; input 0 has rank 2; input 0 is float32";
  const std::string numbers = "attribute k is 3; attribute k is 4";
  CHECK(conditions_text(four("j=1"), "b c") == "attribute k in a range to 6; " + numbers + inputs);
  CHECK(conditions_text(four("k=4, z=2"), "b c") == numbers + inputs);
  CHECK(conditions_text(four("k=3, z=2"), "c d") ==
        "attribute k in a range from 4; attribute k is 4; attribute k is 8; attribute z is 1" +
            inputs);
  CHECK(conditions_text(four("k=4, z=2"), "c d") ==
        "attribute k is 4; attribute k is 8; attribute z is 1" + inputs);
  // What is in a list, or given by a keyword, has no place to ask for.
  CHECK(conditions_text("input x: float32[2,8]\na = Pool([x], k=x)\noutput a\n", "a").empty());
}

TEST_CASE("A limit is half way between the largest that passed and the least that failed") {
  const auto sized = [](int passed, int failed, const std::string& more) {
    return "opset \"\" 17\ninput x: int8[" + std::to_string(passed) + "]\ninput y: int8[" +
           std::to_string(failed) + "]\na: int8[1] = Pool(x)\nb: int8[1] = Pool(y)\n" + more +
           "output a, b\n";
  };
  const std::string others = "input 0 has rank 1; input 0 is int8; opset 17";
  CHECK(conditions_text(sized(10, 21, ""), "b") ==
        others + "; size in bytes above 15, refused 21; size of an axis above 15, refused 21");
  CHECK(conditions_text(sized(10, 11, ""), "b") ==
        others + "; size in bytes above 10, refused 11; size of an axis above 10, refused 11");
  CHECK(conditions_text(sized(10, 9, ""), "b") == others);
  CHECK(conditions_text(sized(10, 21, "c: int8[4] = Pool(y)\nd: int8[25] = Pool(x)\n"), "b d") ==
        others);
}

TEST_CASE("A limit is of what failed in one way, and of cases that never passed") {
  const Graph graph = graph_from_text(R"(
    input x: int8[10]
    input y: int8[15]
    input z: int8[21]
    a: int8[1] = Pool(x)
    b: int8[1] = Pool(y)
    c: int8[1] = Pool(y)
    d: int8[1] = Pool(z)
    e: int8[1] = Pool(x) {m=1}
    output a, b, c, d, e)");
  Evidence evidence;
  evidence.add_passed(graph, named(graph, "a b"));
  evidence.add_failed(graph, node_named(graph, "c"), "z");  // as b, which passed
  evidence.add_failed(graph, node_named(graph, "d"), "z");
  evidence.add_failed(graph, node_named(graph, "e"), "no m");
  std::string limits;
  for (const RuleCondition& one : conditions_of({"", "Pool"}, evidence.cases({"", "Pool"}), {})) {
    if (one.limit) limits += std::to_string(one.limit->most) + " ";
  }
  CHECK(limits == "17 17 ");
}

TEST_CASE("An op that passes has the opsets and types that it was seen with") {
  const Graph graph = graph_from_text(R"(
    opset "" 17
    input x: float32[4]
    input y: float16[4]
    input s: scalar
    input t: tensor
    a = Add(x, x)
    b = Add(y, x)
    c = Add(x, s)
    d = Add(x, x, y)
    e = Add([x, x])
    f = Add(x, y)
    g = Add(x, t)
    output a, b, c, d, e, f, g)");
  const auto rule = [&](std::string_view names) {
    AllowedOp op;
    for (const NodeId node : named(graph, names)) op.add(graph, node, {});
    CHECK(op.rule().opset == OpsetRule{.lowest = 17, .highest = 17});
    CHECK(op.rule().op == "Add");
    std::string text;
    for (const MaybeTypes& types : op.rule().inputs) {
      for (const DType dtype : {DType::float16, DType::float32}) {
        TypeSet one;
        one.add(dtype);
        if ((types.value().dtypes & one.dtypes) != 0) text += std::string(dtype_name(dtype)) + " ";
      }
      text += "| ";
    }
    return text;
  };
  CHECK(rule("a") == "float32 | float32 | ");
  CHECK(rule("a b") == "float16 float32 | float32 | ");
  CHECK(rule("c") == "float32 | ");
  CHECK(rule("b c") == "float16 float32 | ");
  CHECK(rule("a d") == "float32 | float32 | ");
  CHECK(rule("d") == "float32 | float32 | float16 | ");
  CHECK(rule("e a").empty());
  CHECK(rule("a f") == "float32 | float16 float32 | ");
  CHECK(rule("g") == "float32 | ");
}

}  // namespace

// ---- node case test ----

namespace {

// The case of the node "a".
std::string case_of(const std::string& text) {
  const Graph graph = graph_from_text(text);
  return node_case(graph, node_named(graph, "a"));
}

constexpr const char* kInputs =
    "input x: float32[1,n,?]\n input u: int64\n param w: float32[3]\n input s: scalar\n";

TEST_CASE("a node's case has the types and shapes of its inputs, and which are constant") {
  CHECK(case_of(std::string(kInputs) + "a = Conv(x, w)") ==
        "Conv(0:float32[1,n,?], 1:const float32[3]) {} -> 1");
  CHECK(case_of(std::string(kInputs) + "a = F(u, s)") == "F(0:int64, 1:scalar) {} -> 1");
  CHECK(case_of(std::string(kInputs) + "a, b = F()") == "F() {} -> 2");
}

TEST_CASE("a node's case says how its inputs are given") {
  CHECK(case_of(std::string(kInputs) + "a = F([x, w], k=u, ^s)") ==
        "F(0*:float32[1,n,?], 0*:const float32[3], k=int64, ^scalar) {} -> 1");
}

TEST_CASE("a node's case has its attributes in the order of their names") {
  CHECK(case_of("input x: float32[1]\na = F(x) {p=2, k=[1,-2,3], m=\"s\", f=0.5}") ==
        "F(0:float32[1]) {f=[0.5] k=[1,-2,3] m=[\"s\"] p=[2]} -> 1");
}

TEST_CASE("a node with an opaque attribute or a body is a case of its own") {
  CHECK(case_of("input x: float32[1]\na = F(x) {p=2, body}") ==
        "F(0:float32[1]) {body= p=[2]} of \"a\" -> 1");
  CHECK(case_of("input x: float32[1]\na = F(x)\n| h = G(x)") == "F(0:float32[1]) {} of \"a\" -> 1");
}

TEST_CASE("a node's case has the opset of its domain") {
  CHECK(case_of("opset \"ml\" 3\nopset \"\" 17\ninput x: float32[1]\na = F(x)") ==
        "F@17(0:float32[1]) {} -> 1");
  CHECK(case_of("opset \"ml\" 3\nopset \"ai.onnx\" 16\ninput x: float32[1]\na = F(x)") ==
        "F@16(0:float32[1]) {} -> 1");
  CHECK(case_of("opset \"\" 17\nopset \"ml\" 3\ninput x: float32[1]\na = ml::F(x)") ==
        "ml::F@3(0:float32[1]) {} -> 1");
  CHECK(case_of("opset \"ai.onnx\" 17\ninput x: float32[1]\na = ml::F(x)") ==
        "ml::F(0:float32[1]) {} -> 1");
}

}  // namespace

}  // namespace cleave
