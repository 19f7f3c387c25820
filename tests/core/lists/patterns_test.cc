#include <algorithm>
#include <random>

#include "core/lists/condition.h"
#include "core/lists/support.h"
#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {

// ---- pattern search test ----

namespace {

using Kind = PatternFault::Kind;

std::pair<Kind, std::size_t> fault_of(std::size_t ops, std::vector<PatternEdge> edges) {
  const auto fault = find_pattern_fault({ops, std::move(edges)});
  REQUIRE(fault.has_value());
  return {fault->kind, fault->at};
}

PatternEdge edge(std::uint32_t from, std::uint32_t to) { return {from, to, {}, {}}; }

TEST_CASE("one op, a chain, a diamond and an edge for each of two inputs are patterns") {
  CHECK_FALSE(find_pattern_fault({1, {}}).has_value());
  CHECK_FALSE(find_pattern_fault({3, {edge(2, 1), edge(1, 0)}}).has_value());
  CHECK_FALSE(
      find_pattern_fault({4, {edge(0, 1), edge(0, 2), edge(1, 3), edge(2, 3)}}).has_value());
  CHECK_FALSE(find_pattern_fault({2, {{0, 1, 0, 0}, {0, 1, 0, 1}}}).has_value());
}

TEST_CASE("a pattern has 1 to 16 ops and at most 256 edges") {
  CHECK(fault_of(0, {}) == std::pair(Kind::no_op, std::size_t{0}));
  CHECK(fault_of(17, {}) == std::pair(Kind::too_many_ops, std::size_t{0}));
  std::vector<PatternEdge> chain, many;
  for (std::uint32_t i = 0; i + 1 < 16; ++i) chain.push_back(edge(i, i + 1));
  CHECK_FALSE(find_pattern_fault({16, chain}).has_value());
  for (std::uint32_t i = 0; i < 257; ++i) many.push_back({0, 1, i, std::nullopt});
  CHECK(fault_of(2, many) == std::pair(Kind::too_many_edges, std::size_t{0}));
}

TEST_CASE("faults of edges say which edge or op is at fault") {
  CHECK(fault_of(2, {edge(0, 1), edge(1, 2)}) == std::pair(Kind::no_such_op, std::size_t{1}));
  CHECK(fault_of(2, {edge(0, 1), edge(0, 1)}) == std::pair(Kind::repeated_edge, std::size_t{1}));
  CHECK(fault_of(1, {edge(0, 0)}) == std::pair(Kind::cycle, std::size_t{0}));
  CHECK(fault_of(3, {edge(0, 1), edge(1, 2), edge(2, 1)}) ==
        std::pair(Kind::cycle, std::size_t{1}));
  CHECK(fault_of(4, {edge(0, 1), edge(2, 3)}) == std::pair(Kind::unconnected, std::size_t{2}));
  CHECK(fault_of(2, {}) == std::pair(Kind::unconnected, std::size_t{1}));
}

using Nodes = std::vector<NodeId>;
using Ops = std::vector<std::string>;

// Nodes fit ops of the same name.
PatternQuery query_of(const Graph& graph, const PatternGraph& pattern, const Ops& ops) {
  return {graph, pattern,
          [&graph, &ops](std::uint32_t op, NodeId node) {
            return graph.op(node) == ops[op] ? NodeFit::fits : NodeFit::other_op;
          },
          [](std::span<const NodeId>) { return true; }};
}

// The nodes of the match around the named node, which is `anchor` of the pattern; else "".
std::string match(std::string_view text, const Ops& ops, std::vector<PatternEdge> edges,
                  std::string_view node, std::uint32_t anchor = 0) {
  const Graph graph = graph_from_text(text);
  const PatternGraph pattern{ops.size(), std::move(edges)};
  const PatternQuery query = query_of(graph, pattern, ops);
  PatternSearch search(query, anchor);
  if (!search.run(node_named(graph, node))) return {};
  return names_of(graph, search.nodes());
}

PatternMiss miss(const Graph& graph, const Ops& ops, std::vector<PatternEdge> edges,
                 std::string_view node, std::uint32_t anchor = 0) {
  const PatternGraph pattern{ops.size(), std::move(edges)};
  const PatternQuery query = query_of(graph, pattern, ops);
  PatternSearch search(query, anchor);
  REQUIRE_FALSE(search.run(node_named(graph, node)));
  return search.miss();
}

constexpr const char* kNorm = R"(
  input x
  m = Mean(x)
  d = Sub(x, m)
  p = Pow(d)
  v = Mean(p)
  s = Sqrt(v)
  y = Div(d, s)
  z = Relu(y)
)";

TEST_CASE("a pattern is found from any of its ops, nodes by op") {
  const Ops ops = {"Mean", "Sub", "Pow", "Mean", "Sqrt", "Div"};
  const std::vector<PatternEdge> edges = {edge(0, 1), edge(1, 2), edge(2, 3),
                                          edge(3, 4), edge(4, 5), edge(1, 5)};
  const std::array<const char*, 6> names = {"m", "d", "p", "v", "s", "y"};
  for (std::uint32_t op = 0; op < 6; ++op) {
    CHECK(match(kNorm, ops, edges, names[op], op) == "m d p v s y");
  }
  CHECK(match(kNorm, ops, edges, "v", 0).empty());
}

TEST_CASE("an edge without positions takes either operand; one with positions takes that one") {
  constexpr const char* kText = R"(
    input x
    a = Sig(x)
    b = Mul(x, a)
    c, d = Split(x)
    e = Mul(d, x)
  )";
  CHECK(match(kText, {"Sig", "Mul"}, {edge(0, 1)}, "a") == "a b");
  CHECK(match(kText, {"Sig", "Mul"}, {{0, 1, {}, 1}}, "a") == "a b");
  CHECK(match(kText, {"Sig", "Mul"}, {{0, 1, {}, 0}}, "a").empty());
  CHECK(match(kText, {"Split", "Mul"}, {{0, 1, 1, 0}}, "c") == "c e");
  CHECK(match(kText, {"Split", "Mul"}, {{0, 1, 0, {}}}, "c").empty());
}

TEST_CASE("inner values have no reader outside and are no outputs of the graph") {
  const std::vector<PatternEdge> edges = {edge(0, 1)};
  CHECK(match("input x\n a = A(x)\n b = B(a)\n c = C(b)", {"A", "B"}, edges, "a") == "a b");
  const Graph read = graph_from_text("input x\n a = A(x)\n b = B(a)\n c = C(a)");
  const PatternMiss outside = miss(read, {"A", "B"}, edges, "a");
  CHECK(outside.kind == PatternMiss::Kind::read_outside);
  CHECK(outside.node == node_named(read, "a"));
  CHECK(outside.other == node_named(read, "c"));
  CHECK(outside.value == value_named(read, "a"));
  const Graph output = graph_from_text("input x\n a = A(x)\n b = B(a)\n output a, b");
  const PatternMiss returned = miss(output, {"A", "B"}, edges, "b", 1);
  CHECK(returned.kind == PatternMiss::Kind::read_outside);
  CHECK(returned.other == kNone<NodeId>);
  // The output of the last op is not inner, and neither is a second output that only others read.
  CHECK(match("input x\n a, u = A(x)\n b = B(a)\n c = C(b, u)\n output b, u", {"A", "B"}, edges,
              "a") == "a b");
  // A body that reads the value counts as a reader.
  CHECK(match("input x\n a = A(x)\n b = B(a)\n i = If(x, ^a)\n | h = A(x)", {"A", "B"}, edges, "a")
            .empty());
}

TEST_CASE("what one node of a match reads from another must be an edge of the pattern") {
  const Graph graph = graph_from_text("input x\n a = A(x)\n b = B(a)\n c = C(b, a)");
  const PatternMiss other = miss(graph, {"A", "B", "C"}, {edge(0, 1), edge(1, 2)}, "a");
  CHECK(other.kind == PatternMiss::Kind::other_edge);
  CHECK(other.node == node_named(graph, "c"));
  CHECK(other.other == node_named(graph, "a"));
  CHECK(match("input x\n a = A(x)\n b = B(a)\n c = C(b, a)", {"A", "B", "C"},
              {edge(0, 1), edge(1, 2), edge(0, 2)}, "a") == "a b c");
  // Both operands are the same value: an edge with a position says so of one only.
  CHECK(match("input x\n a = A(x)\n b = B(a, a)", {"A", "B"}, {edge(0, 1)}, "a") == "a b");
  CHECK(match("input x\n a = A(x)\n b = B(a, a)", {"A", "B"}, {{0, 1, {}, 0}}, "a").empty());
}

TEST_CASE("a miss says what is in the way where most ops have nodes") {
  const Graph graph = graph_from_text("input x\n a = A(x)\n b = B(a)\n d = D(b)\n e = E(x)\n");
  const PatternMiss reader = miss(graph, {"A", "B", "C"}, {edge(0, 1), edge(1, 2)}, "a");
  CHECK(reader.kind == PatternMiss::Kind::no_neighbor);
  CHECK(reader.node == node_named(graph, "b"));
  CHECK(reader.edge == 1);
  CHECK(reader.op == 2);
  CHECK(reader.placed == 2);
  const PatternMiss maker = miss(graph, {"C", "A"}, {edge(0, 1)}, "a", 1);
  CHECK(maker.kind == PatternMiss::Kind::no_neighbor);
  CHECK(maker.node == node_named(graph, "a"));
  CHECK(maker.op == 0);
  const PatternMiss gap = miss(graph_from_text("input x\n a = A(x)\n b = B(a)\n c = C(a)\n"),
                               {"A", "B", "C"}, {edge(0, 1), edge(0, 2), edge(1, 2)}, "a");
  CHECK(gap.kind == PatternMiss::Kind::no_edge);
  CHECK(gap.edge == 2);
}

TEST_CASE("the nodes must fit as a whole; another choice is tried when they do not") {
  const Graph graph = graph_from_text(R"(
    input x
    a = A(x)
    b = B(a)
    c = B(a)
  )");
  const PatternGraph pattern{3, {edge(0, 1), edge(0, 2)}};
  const Ops ops = {"A", "B", "B"};
  PatternQuery query = query_of(graph, pattern, ops);
  query.whole_fits = [&](std::span<const NodeId> nodes) {
    return nodes[1] == node_named(graph, "c");
  };
  PatternSearch search(query, 0);
  CHECK(search.run(node_named(graph, "a")));
  CHECK(names_of(graph, search.nodes()) == "a c b");
  query.whole_fits = [](std::span<const NodeId>) { return false; };
  CHECK_FALSE(search.run(node_named(graph, "a")));
  CHECK(search.miss().kind == PatternMiss::Kind::whole);
  CHECK(search.miss().nodes.size() == 3);
}

TEST_CASE("the search around one node ends after a fixed number of candidates") {
  // 15 readers that all fit, and no way to fit as a whole: 15! orders.
  std::string text = "input x\n a = A(x)\n";
  std::vector<PatternEdge> edges;
  Ops ops = {"A"};
  for (std::uint32_t i = 1; i < 16; ++i) {
    text += "b" + std::to_string(i) + " = B(a)\n";
    edges.push_back(edge(0, i));
    ops.emplace_back("B");
  }
  const Graph graph = graph_from_text(text);
  const PatternGraph pattern{16, edges};
  PatternQuery query = query_of(graph, pattern, ops);
  query.whole_fits = [](std::span<const NodeId>) { return false; };
  PatternSearch search(query, 0);
  CHECK_FALSE(search.run(NodeId{0}));
  CHECK(search.miss().kind == PatternMiss::Kind::too_long);
  CHECK(search.steps() < 2 * PatternSearch::kMostSteps);
}

TEST_CASE("16 equal ops on a chain of 100,000 nodes: steps are linear") {
  std::string text = "input x\nn0 = A(x)\n";
  constexpr std::uint32_t kNodes = 100'000;
  for (std::uint32_t i = 1; i < kNodes; ++i) {
    text += "n" + std::to_string(i) + " = A(n" + std::to_string(i - 1) + ")\n";
  }
  const Graph graph = graph_from_text(text);
  PatternGraph pattern{16, {}};
  for (std::uint32_t i = 0; i + 1 < 16; ++i) pattern.edges.push_back(edge(i, i + 1));
  const Ops ops(16, "A");
  const PatternQuery query = query_of(graph, pattern, ops);
  PatternSearch search(query, 0);
  std::size_t found = 0;
  for (const NodeId node : graph.nodes()) {
    if (search.run(node)) ++found;
  }
  CHECK(found == kNodes - 15);
  CHECK(search.steps() <= std::uint64_t{kNodes} * 16 * 4);
}

// ---- random graphs against all assignments ----

class PlainMatcher {
 public:
  PlainMatcher(const Graph& graph, const PatternGraph& pattern, const Ops& ops)
      : graph_(graph), pattern_(pattern), ops_(ops) {}

  bool holds(const Nodes& nodes) const {
    for (std::size_t op = 0; op < nodes.size(); ++op) {
      if (graph_.op(nodes[op]) != ops_[op]) return false;
      if (std::count(nodes.begin(), nodes.end(), nodes[op]) != 1) return false;
    }
    for (const PatternEdge& edge : pattern_.edges) {
      if (!reads(nodes, edge)) return false;
    }
    return all_listed(nodes) && is_closed(nodes);
  }

  // Whether an assignment with the anchor holds, by trying all of them.
  bool any(std::uint32_t op, NodeId anchor) const {
    Nodes nodes(ops_.size());
    return extend(nodes, 0, op, anchor);
  }

 private:
  bool extend(Nodes& nodes, std::size_t at, std::uint32_t op, NodeId anchor) const {
    if (at == nodes.size()) return holds(nodes);
    for (const NodeId node : graph_.nodes()) {
      if ((at == op) != (node == anchor)) continue;
      nodes[at] = node;
      if (extend(nodes, at + 1, op, anchor)) return true;
    }
    return false;
  }

  bool reads(const Nodes& nodes, const PatternEdge& edge) const {
    for (const Operand& operand : graph_.operands(nodes[edge.to])) {
      const Value& value = graph_.value(operand.value);
      if (value.producer != nodes[edge.from] || operand.slot.is_capture()) continue;
      if (edge.output && value.slot != *edge.output) continue;
      if (!edge.input || (operand.slot.is_positional() && operand.slot.position() == *edge.input)) {
        return true;
      }
    }
    return false;
  }

  bool all_listed(const Nodes& nodes) const {
    for (std::uint32_t to = 0; to < nodes.size(); ++to) {
      for (const Operand& operand : graph_.operands(nodes[to])) {
        const Value& value = graph_.value(operand.value);
        const auto from = std::find(nodes.begin(), nodes.end(), value.producer) - nodes.begin();
        if (from == static_cast<std::ptrdiff_t>(nodes.size())) continue;
        bool is_listed = false;
        for (const PatternEdge& edge : pattern_.edges) {
          is_listed |= edge.from == from && edge.to == to && !operand.slot.is_capture() &&
                       (!edge.output || value.slot == *edge.output) &&
                       (!edge.input ||
                        (operand.slot.is_positional() && operand.slot.position() == *edge.input));
        }
        if (!is_listed) return false;
      }
    }
    return true;
  }

  bool is_closed(const Nodes& nodes) const {
    const auto is_member = [&](NodeId node) {
      return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    };
    for (const NodeId node : nodes) {
      for (const ValueId value : graph_.outputs(node)) {
        const auto users = graph_.users(value);
        if (std::none_of(users.begin(), users.end(), is_member)) continue;
        if (graph_.is_graph_output(value)) return false;
        if (!std::all_of(users.begin(), users.end(), is_member)) return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  const PatternGraph& pattern_;
  const Ops& ops_;
};

struct RandomCase {
  std::string text;
  PatternGraph pattern;
  Ops ops;
};

RandomCase random_case(std::uint32_t seed) {
  std::minstd_rand random(seed);
  const auto below = [&](std::size_t bound) { return random() / 7 % bound; };
  RandomCase made;
  made.text = "input x\n";
  std::vector<std::string> values = {"x"};
  const std::size_t nodes = 3 + below(5);
  const std::size_t kinds = 1 + below(2);
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    const bool has_two = below(4) == 0;
    const auto some = [&] {
      return values[values.size() - 1 - below(std::min<std::size_t>(values.size(), 3))];
    };
    std::string inputs = some();
    if (below(2) == 0) inputs += ", " + some();
    if (below(12) == 0) inputs += ", k=" + some();
    made.text += name + (has_two ? ", " + name + "b" : "") + " = " +
                 std::string(1, static_cast<char>('A' + below(kinds))) + "(" + inputs + ")\n";
    values.push_back(name);
    if (has_two) values.push_back(name + "b");
  }
  made.text += "output " + values.back() + "\n";
  const std::size_t ops = 1 + below(4);
  made.pattern.op_count = ops;
  for (std::size_t op = 0; op < ops; ++op)
    made.ops.emplace_back(1, static_cast<char>('A' + below(kinds)));
  for (std::uint32_t to = 1; to < ops; ++to) {
    for (std::uint32_t from = 0; from < to; ++from) {
      if (from + 1 != to && below(3) != 0) continue;
      PatternEdge edge{from, to, {}, {}};
      if (below(6) == 0) edge.input = static_cast<std::uint32_t>(below(2));
      if (below(8) == 0) edge.output = static_cast<std::uint32_t>(below(2));
      made.pattern.edges.push_back(edge);
    }
  }
  return made;
}

TEST_CASE("on random graphs the search finds a match exactly where an assignment holds") {
  std::size_t found = 0, tried = 0;
  for (std::uint32_t seed = 1; seed <= 3000; ++seed) {
    const RandomCase made = random_case(seed);
    INFO("seed " << seed << "\n" << made.text);
    const Graph graph = graph_from_text(made.text);
    REQUIRE_FALSE(find_pattern_fault(made.pattern).has_value());
    const PatternQuery query = query_of(graph, made.pattern, made.ops);
    const PlainMatcher plain(graph, made.pattern, made.ops);
    for (std::uint32_t op = 0; op < made.ops.size(); ++op) {
      PatternSearch search(query, op);
      for (const NodeId node : graph.nodes()) {
        ++tried;
        const bool is_found = search.run(node);
        REQUIRE(is_found == plain.any(op, node));
        if (!is_found) continue;
        ++found;
        const Nodes nodes(search.nodes().begin(), search.nodes().end());
        REQUIRE(nodes[op] == node);
        REQUIRE(plain.holds(nodes));
      }
    }
  }
  CHECK(found > 2000);
  CHECK(tried > 4 * found);
}

TEST_CASE("256 edges are a pattern") {
  std::vector<PatternEdge> edges;
  for (std::uint32_t i = 0; i < 256; ++i) edges.push_back({0, 1, i, std::nullopt});
  CHECK_FALSE(find_pattern_fault({2, edges}).has_value());
}

TEST_CASE("what a body reads of the graph around it is no edge of a pattern") {
  CHECK(match("input x\n a = A(x)\n b = B(a)", {"A", "B"}, {edge(0, 1)}, "a") == "a b");
  CHECK(match("input x\n a = A(x)\n b = B(x, ^a)\n| h = f(a)", {"A", "B"}, {edge(0, 1)}, "a")
            .empty());
}

TEST_CASE("a miss says why a node does not fit, at the first op and at a later one") {
  const Graph graph = graph_from_text("input x\n a = A(x)\n b = B(a)\n output b");
  const PatternGraph pattern{2, {edge(0, 1)}};
  const auto miss_of = [&](const char* bad, NodeFit how) {
    const NodeId refused = node_named(graph, bad);
    const PatternQuery query{graph, pattern,
                             [&](std::uint32_t op, NodeId node) {
                               if (graph.op(node) != (op == 0 ? "A" : "B"))
                                 return NodeFit::other_op;
                               return node == refused ? how : NodeFit::fits;
                             },
                             [](std::span<const NodeId>) { return true; }};
    PatternSearch search(query, 0);
    REQUIRE_FALSE(search.run(node_named(graph, "a")));
    CHECK(search.miss().node == refused);
    CHECK(search.miss().op == (bad == std::string("a") ? 0 : 1));
    CHECK(search.miss().placed == (bad == std::string("a") ? 0 : 1));
    return search.miss().kind;
  };
  using Miss = PatternMiss::Kind;
  for (const char* const bad : {"a", "b"}) {
    CHECK(miss_of(bad, NodeFit::failing) == Miss::failing);
    CHECK(miss_of(bad, NodeFit::denied) == Miss::denied);
    CHECK(miss_of(bad, NodeFit::taken) == Miss::taken);
  }
}

TEST_CASE("edges that a pattern does not list are looked for at each operand of each node") {
  const char* const text =
      "input x\n param w\n a = A(x)\n c = C(x, a)\n b = B(x, w, c, a)\n output b";
  CHECK(match(text, {"A", "C", "B"}, {edge(0, 1), edge(1, 2), edge(0, 2)}, "a") == "a c b");
  CHECK(match(text, {"A", "C", "B"}, {edge(0, 1), edge(1, 2)}, "a").empty());
}

}  // namespace

// ---- list patterns test ----
//
// Patterns of support lists: which nodes they accept, beside rules, deny rules and other lists.

namespace {

Rule rule_for(std::string op) {
  Rule rule;
  rule.op = std::move(op);
  return rule;
}

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
  pattern.ops[0].conditions = {attribute_is("group", {std::int64_t{1}})};
  CHECK(matches(graph, {list_of({pattern})}) == "{a b} {e f}");
  pattern.ops[0].add(ShapeEntry{.is_static = true});
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
    rule.add(relation_condition(*relation));
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
