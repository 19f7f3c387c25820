#include "core/lowering/learned_pattern.h"

#include <string>

#include "core/support/support.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
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
}  // namespace cleave
