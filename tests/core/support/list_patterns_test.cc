// Patterns of support lists: which nodes they accept, beside rules, deny rules and other lists.
#include "core/support/list_patterns.h"

#include <random>

#include "core/condition/relation.h"
#include "core/split/split.h"
#include "core/support/support.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {
namespace {

Rule rule_for(std::string op) {
  Rule rule;
  rule.op = std::move(op);
  return rule;
}

PatternEdge edge(std::uint32_t from, std::uint32_t to) { return {from, to, {}, {}}; }

// Ops in a row: each reads the one before.
Pattern chain(std::string name, const std::vector<std::string>& ops) {
  Pattern pattern;
  pattern.name = std::move(name);
  for (const std::string& op : ops) pattern.ops.push_back(rule_for(op));
  pattern.graph.op_count = ops.size();
  for (std::uint32_t i = 0; i + 1 < ops.size(); ++i) pattern.graph.edges.push_back(edge(i, i + 1));
  return pattern;
}

SupportList list_of(std::vector<Pattern> patterns, std::vector<Rule> allow = {},
                    std::vector<Rule> deny = {}) {
  SupportList list;
  list.patterns = std::move(patterns);
  list.allow = std::move(allow);
  list.deny = std::move(deny);
  return list;
}

SupportList all_of(SupportList list) {
  list.role = ListRole::all_of;
  return list;
}

std::string accepted(const Graph& graph, const std::vector<SupportList>& lists) {
  return names_of(graph, match_support(graph, lists, {}).supported);
}

// "{a b} {c d}": the nodes of each match.
std::string matches(const Graph& graph, const std::vector<SupportList>& lists) {
  const Support support = match_support(graph, lists, {});
  std::string text;
  for (std::size_t i = 0; i < support.patterns.count(); ++i) {
    text += (i == 0 ? "{" : " {") + names_of(graph, support.patterns.nodes_of(i)) + "}";
  }
  return text;
}

PatternMiss miss_of(const Graph& graph, const std::vector<SupportList>& lists,
                    std::string_view node) {
  const Support support = match_support(graph, lists, {});
  const Reason& reason = support.reasons[node_named(graph, node)];
  REQUIRE(reason.code == ReasonCode::pattern_failed);
  return support.misses[reason.size];
}

ReasonCode code_of(const Graph& graph, const std::vector<SupportList>& lists,
                   std::string_view node) {
  return match_support(graph, lists, {}).reasons[node_named(graph, node)].code;
}

constexpr const char* kTwice = R"(
  input x
  c = Conv(x)
  n = Norm(c)
  r = Relu(n)
  d = Conv(r)
  m = Norm(d)
  s = Relu(m)
  t = Relu(s)
)";

TEST_CASE("the nodes of a match are accepted, as often as it occurs, and no other") {
  const Graph graph = graph_from_text(kTwice);
  const SupportList list = list_of({chain("cnr", {"Conv", "Norm", "Relu"})});
  CHECK(accepted(graph, {list}) == "c n r d m s");
  CHECK(matches(graph, {list}) == "{c n r} {d m s}");
  CHECK(match_support(graph, {list}, {}).patterns.match_of(node_named(graph, "m")) == 1U);
  CHECK(code_of(graph, {list}, "t") == ReasonCode::pattern_failed);
}

TEST_CASE("patterns come in the order of the list, and a node is in one match") {
  const Graph graph = graph_from_text(kTwice);
  const Pattern two = chain("cn", {"Conv", "Norm"});
  const Pattern three = chain("cnr", {"Conv", "Norm", "Relu"});
  CHECK(matches(graph, {list_of({two, three})}) == "{c n} {d m}");
  CHECK(matches(graph, {list_of({three, two})}) == "{c n r} {d m s}");
  CHECK(matches(graph, {list_of({chain("rr", {"Relu", "Relu"}), three})}) == "{s t} {c n r}");
  CHECK(matches(graph, {list_of({two}), list_of({three})}) == "{c n} {d m}");
}

TEST_CASE("rules may accept nodes of a match as well; the match is the same") {
  const Graph graph = graph_from_text(kTwice);
  const Pattern pattern = chain("cnr", {"Conv", "Norm", "Relu"});
  const SupportList list = list_of({pattern}, {rule_for("Conv"), rule_for("Relu")});
  CHECK(matches(graph, {list}) == "{c n r} {d m s}");
  CHECK(accepted(graph, {list}) == "c n r d m s t");
}

TEST_CASE("conditions of an op hold, fail, or are unknown, which does not match") {
  const Graph graph = graph_from_text(R"(
    input x: float32[1,4]
    input u: float32[?,4]
    a = Conv(x) {group=1}
    b = Relu(a)
    c = Conv(x) {group=2}
    d = Relu(c)
    e: float32[?,4] = Conv(u) {group=1}
    f = Relu(e)
  )");
  Pattern pattern = chain("cr", {"Conv", "Relu"});
  AttributeRule group;
  group.name = "group";
  group.accepted = {AttributeValue(std::int64_t{1})};
  pattern.ops[0].attributes = {group};
  CHECK(matches(graph, {list_of({pattern})}) == "{a b} {e f}");
  pattern.ops[0].shapes.emplace_back().is_static = true;
  CHECK(matches(graph, {list_of({pattern})}) == "{a b}");
  const PatternMiss failing = miss_of(graph, {list_of({pattern})}, "d");
  CHECK(failing.kind == PatternMiss::Kind::failing);
  CHECK(failing.node == node_named(graph, "c"));
  CHECK(failing.op == 0);
  CHECK(miss_of(graph, {list_of({pattern})}, "f").node == node_named(graph, "e"));
}

TEST_CASE("a relation between nodes holds, fails, or is unknown, which does not match") {
  const Graph graph = graph_from_text(R"(
    input x
    a = Mean(x) {axis=1}
    b = Mean(a) {axis=1}
    r = Relu(b)
    c = Mean(x) {axis=1}
    d = Mean(c) {axis=2}
    s = Relu(d)
    e = Mean(x) {axis=1}
    f = Mean(e)
  )");
  Pattern pattern = chain("mm", {"Mean", "Mean"});
  pattern.where = {*parse_pattern_relation("node[0].attr.axis == node[1].attr.axis", 2)};
  const SupportList list = list_of({pattern});
  CHECK(matches(graph, {list}) == "{a b}");
  const PatternMiss fails = miss_of(graph, {list}, "d");
  CHECK(fails.kind == PatternMiss::Kind::whole);
  CHECK(names_of(graph, std::span<const NodeId>(fails.nodes)) == "c d");
  CHECK(miss_of(graph, {list}, "f").kind == PatternMiss::Kind::whole);
}

TEST_CASE("a deny rule on any node stops the match; so do overlays and verdicts") {
  const Graph graph = graph_from_text(kTwice);
  const Pattern pattern = chain("cnr", {"Conv", "Norm", "Relu"});
  Rule by_name;
  by_name.node_name = "m";
  const SupportList denying = list_of({pattern}, {}, {by_name});
  CHECK(matches(graph, {denying}) == "{c n r}");
  CHECK(code_of(graph, {denying}, "m") == ReasonCode::denied);
  const PatternMiss denied = miss_of(graph, {denying}, "d");
  CHECK(denied.kind == PatternMiss::Kind::denied);
  CHECK(denied.node == node_named(graph, "m"));

  const SupportList overlay = list_of({}, {}, {by_name});
  CHECK(matches(graph, {list_of({pattern}), overlay}) == "{c n r}");
  SupportList verdicts = overlay;
  verdicts.role = ListRole::verdicts;
  verdicts.deny.front().is_exact_name = true;
  CHECK(matches(graph, {list_of({pattern}), verdicts}) == "{c n r}");
  // A list's own deny rules are for itself only.
  const SupportList other = list_of({}, {rule_for("Other")}, {by_name});
  CHECK(matches(graph, {list_of({pattern}), other}) == "{c n r} {d m s}");
}

TEST_CASE("a node that only patterns name is denied by dtype, as one that a rule names") {
  const Graph graph = graph_from_text("input x: int64[2]\n a = A(x)\n b = B(a)");
  Rule ints;
  ints.input_dtype.emplace().add(DType::int64);
  const Pattern pattern = chain("ab", {"A", "B"});
  CHECK(code_of(graph, {list_of({pattern}, {}, {ints})}, "a") == ReasonCode::denied);
  CHECK(code_of(graph, {list_of({pattern}), list_of({}, {}, {ints})}, "a") == ReasonCode::denied);
  CHECK(code_of(graph, {list_of({pattern}, {}, {ints})}, "b") == ReasonCode::pattern_failed);
}

TEST_CASE("a verdict that accepts a node wins over a deny rule, in a pattern, too") {
  const Graph graph = graph_from_text(kTwice);
  Rule by_name;
  by_name.node_name = "m";
  by_name.is_exact_name = true;
  SupportList verdicts = list_of({}, {by_name});
  verdicts.role = ListRole::verdicts;
  const SupportList list = list_of({chain("cnr", {"Conv", "Norm", "Relu"})}, {}, {by_name});
  CHECK(matches(graph, {list, verdicts}) == "{c n r} {d m s}");
}

TEST_CASE("where all lists must accept, a match counts when all accept its nodes") {
  const Graph graph = graph_from_text(kTwice);
  const SupportList patterns = all_of(list_of({chain("cnr", {"Conv", "Norm", "Relu"})}));
  const SupportList rules =
      all_of(list_of({}, {rule_for("Conv"), rule_for("Norm"), rule_for("Relu")}));
  CHECK(accepted(graph, {patterns, rules}) == "c n r d m s");
  CHECK(matches(graph, {patterns, rules}) == "{c n r} {d m s}");

  SupportList some = rules;
  some.deny.emplace_back().node_name = "m";
  CHECK(accepted(graph, {patterns, some}) == "c n r");
  CHECK(matches(graph, {patterns, some}) == "{c n r}");
  const PatternMiss refused = miss_of(graph, {patterns, some}, "d");
  CHECK(refused.kind == PatternMiss::Kind::refused);
  CHECK(refused.node == node_named(graph, "m"));

  // A match that is given up takes along those of other lists that share a node.
  const SupportList pairs =
      all_of(list_of({chain("rc", {"Relu", "Conv"})}, {rule_for("Norm"), rule_for("Conv")}));
  CHECK(accepted(graph, {patterns, pairs}).empty());
  // Both lists by patterns, which overlap in part.
  const SupportList covering = all_of(list_of({chain("cn", {"Conv", "Norm"})}, {rule_for("Relu")}));
  CHECK(accepted(graph, {patterns, covering}) == "c n r d m s");
  CHECK(matches(graph, {patterns, covering}) == "{c n r} {d m s} {c n} {d m}");
}

TEST_CASE("nodes in bodies are accepted by rules only; a node with bodies may be in a match") {
  const Graph graph = graph_from_text(R"(
    input x
    a = A(x)
    i = If(a)
    | p = A(x)
    | q = B(p)
  )");
  CHECK(accepted(graph, {list_of({chain("ai", {"A", "If"}), chain("ab", {"A", "B"})})}).empty());
  CHECK(accepted(graph, {list_of({chain("ai", {"A", "If"})}, {rule_for("A"), rule_for("B")})}) ==
        "a i");
}

TEST_CASE("a pattern of one op is a rule; a glob op counts as near only beside another node") {
  const Graph graph = graph_from_text(R"(
    input x
    d = DQ(x)
    o = Foo(d)
    q = Q(o)
    e = DQ(x)
    p = Bar(e)
    z = Baz(x)
  )");
  CHECK(accepted(graph, {list_of({chain("one", {"Foo"})})}) == "o");
  const SupportList list = list_of({chain("qdq", {"DQ", "*", "Q"})});
  CHECK(matches(graph, {list}) == "{d o q}");
  CHECK(code_of(graph, {list}, "p") == ReasonCode::pattern_failed);
  CHECK(code_of(graph, {list}, "z") == ReasonCode::no_rule);
}

TEST_CASE("a node in a match is taken, and says so to another that needs it") {
  const Graph graph = graph_from_text("input x\n a = A(x)\n b = B(a)\n c = C(b)");
  const SupportList list = list_of({chain("ab", {"A", "B"}), chain("bc", {"B", "C"})});
  const PatternMiss taken = miss_of(graph, {list}, "c");
  CHECK(taken.kind == PatternMiss::Kind::taken);
  CHECK(taken.node == node_named(graph, "b"));
}

TEST_CASE("nodes accepted by a pattern that leaves a condition unchecked are listed") {
  const Graph graph = graph_from_text(kTwice);
  SupportList list = list_of({chain("cnr", {"Conv", "Norm", "Relu"})});
  list.patterns[0].unchecked = "sizes";
  const Support support = match_support(graph, {list}, {});
  REQUIRE(support.unchecked.size() == 6);
  CHECK(support.unchecked.front().is_pattern);
  CHECK(support.unchecked.front().rule == 0);
}

TEST_CASE("steps of the search count as rule checks") {
  const Graph graph = graph_from_text(kTwice);
  const std::vector<SupportList> lists = {list_of({chain("cnr", {"Conv", "Norm", "Relu"})})};
  CHECK(match_support_within(graph, lists, {}, 1000).has_value());
  CHECK_FALSE(match_support_within(graph, lists, {}, 10).has_value());
}

TEST_CASE("a search that would take more steps than it may ends early") {
  const Graph graph = graph_from_text(kTwice);
  const NodesByOp ops(graph);
  std::vector<Pattern> many(1000, chain("cnr", {"Conv", "Norm", "Relu"}));
  const SupportList list = list_of(std::move(many));
  ListPatterns patterns(graph, ops, list, {});
  NodeSet taken(graph.node_count());
  patterns.find([](NodeId) { return false; }, taken, 100,
                [](std::uint32_t, std::span<const NodeId>) {});
  CHECK(patterns.steps() > 100);
  CHECK(patterns.steps() < 200);
}

TEST_CASE("terms of a where count as rule checks") {
  const Graph graph = graph_from_text("input x\na = Relu(x)\noutput a");
  std::vector<SupportList> lists(1);
  const auto relation = parse_relation("in[0].rank == 1");
  REQUIRE(relation.has_value());
  lists[0].allow.resize(10);
  for (Rule& rule : lists[0].allow) {
    rule.op = "Relu";
    rule.conditions.emplace_back(RelationCondition{*relation});
  }
  const std::size_t checks = 10 * (1 + relation->terms.size());
  CHECK(match_support_within(graph, lists, {}, checks).has_value());
  CHECK_FALSE(match_support_within(graph, lists, {}, checks - 1).has_value());
}

// ---- in a split ----

TEST_CASE("a match that loses a node goes to the CPU as a whole") {
  // The acc finder drops `s`, which makes a size for a CPU node.
  const Graph graph = graph_from_text(R"(
    input x
    a = A(x)
    b, s: scalar = B(a)
    c = C(b)
    y = Cpu(s)
  )");
  const std::vector<SupportList> lists = {list_of({chain("abc", {"A", "B", "C"})})};
  const auto split = split_graph({graph, lists, {}}, {});
  REQUIRE(split.has_value());
  CHECK(names_of(graph, split->support.supported) == "a b c");
  CHECK(describe(graph, split->reasons) ==
        "a: pattern_group b\nb: non_tensor_output y\nc: non_tensor_input b\ny: no_rule\n");
}

TEST_CASE("in splits of random graphs a match is on the accelerator whole, or not at all") {
  std::size_t whole = 0, none = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    const RandomGraph random = random_graph(seed, 14);
    const Graph& graph = random.graph;
    INFO("seed " << seed << "\n" << random.text);
    SupportList list =
        list_of({chain("two", {"*", "*"}), chain("three", {"*", "*", "*"})}, {rule_for("*a*")}, {});
    if (seed % 3 == 0) list.deny.emplace_back().node_name = "*3*";
    if (seed % 5 == 0) list.limits.most[0] = 4;
    SplitOptions options;
    options.keep_qdq = seed % 2 == 0;
    options.host_shapes = seed % 4 == 0;
    options.min_acc_size = seed % 7;
    options.extend.which = ExtendOptions::Which::all;
    if (seed % 11 == 0) options.most_kept = 1;
    const auto split = split_graph({graph, std::vector{list}, {}}, options);
    REQUIRE(split.has_value());
    const PatternMatches& found = split->support.patterns;
    for (std::size_t i = 0; i < found.count(); ++i) {
      const auto nodes = found.nodes_of(i);
      const PartId part = split->partition.part_of[nodes.front()];
      const bool is_acc = split->partition.is_acc(part);
      (is_acc ? whole : none) += 1;
      for (const NodeId node : nodes) {
        REQUIRE(split->support.supported.contains(node));
        if (is_acc) REQUIRE(split->partition.part_of[node] == part);
        REQUIRE(split->partition.is_acc(split->partition.part_of[node]) == is_acc);
      }
    }
  }
  CHECK(whole > 300);
  CHECK(none > 100);
}

TEST_CASE("a pattern of 16 equal ops on a chain of 100,000 nodes is matched in linear work") {
  std::string text = "input x\nn0 = A(x)\n";
  constexpr std::uint32_t kNodes = 100'000;
  for (std::uint32_t i = 1; i < kNodes; ++i) {
    text += "n" + std::to_string(i) + " = A(n" + std::to_string(i - 1) + ")\n";
  }
  const Graph graph = graph_from_text(text);
  const std::vector<SupportList> fits = {
      list_of({chain("long", std::vector<std::string>(16, "A"))})};
  // Each node is a candidate a few times, and once more to judge it.
  const auto support = match_support_within(graph, fits, {}, std::uint64_t{kNodes} * 12);
  REQUIRE(support.has_value());
  CHECK(support->patterns.count() == kNodes / 16);
  // Where it fails at the last op everywhere, each anchor takes 16 steps.
  std::vector<SupportList> fails = fits;
  fails[0].patterns[0].ops[15].node_name = "none";
  const auto refused = match_support_within(graph, fails, {}, std::uint64_t{kNodes} * 80);
  REQUIRE(refused.has_value());
  CHECK(refused->patterns.count() == 0);
}

}  // namespace
}  // namespace cleave
