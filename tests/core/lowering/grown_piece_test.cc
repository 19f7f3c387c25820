#include "core/lowering/grown_piece.h"

#include <algorithm>
#include <set>
#include <string>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

std::string names(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) {
    text += (text.empty() ? "" : " ") + std::string(graph.node(node).name);
  }
  return text;
}

// Takes pieces that have all of these nodes, and notes what it was asked about.
struct Compiler {
  const Graph& graph;
  std::set<std::string> wanted;
  std::vector<std::string> asked = {};

  TakesPiece takes() {
    return [this](const std::vector<NodeId>& nodes) {
      asked.push_back(names(graph, nodes));
      std::size_t there = 0;
      for (const NodeId node : nodes) there += wanted.count(std::string(graph.node(node).name));
      return there == wanted.size();
    };
  }
};

constexpr const char* kGelu = R"(
    input x: float32[4]
    before = Relu(x)
    div = Div(before)
    erf = Erf(div)
    add = Add(erf)
    mul = Mul(before, add)
    half = Mul(mul)
    after = Relu(half)
    output after)";

TEST_CASE(
    "a piece grows around a refused node and shrinks to what is needed, connected and convex") {
  const Graph graph = graph_from_text(kGelu);
  const NodeId erf = node_named(graph, "erf");
  Compiler compiler{graph, {"div", "half"}};
  const GrownPiece grown = grow_piece(graph, erf, 16, compiler.takes());
  CHECK(names(graph, grown.nodes) == "div erf add mul half");
  CHECK(grown.asked == compiler.asked.size());
  CHECK(grown.asked <= 12);
  auto distinct = compiler.asked;
  std::sort(distinct.begin(), distinct.end());
  CHECK(std::unique(distinct.begin(), distinct.end()) == distinct.end());
}

TEST_CASE("a piece that grows includes every node on a path between two of its nodes") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    a = Relu(x)
    b = Neg(a)
    c = Neg(b)
    d = Neg(c)
    e = Add(a, d)
    output e)");
  Compiler compiler{graph, {"a", "e"}};
  const GrownPiece grown = grow_piece(graph, node_named(graph, "e"), 16, compiler.takes());
  CHECK(names(graph, grown.nodes) == "a b c d e");
}

TEST_CASE("a search for a piece ends with its questions, or where nothing is left to add") {
  const Graph graph = graph_from_text(kGelu);
  const NodeId erf = node_named(graph, "erf");
  Compiler none{graph, {"no such node"}};
  const GrownPiece spent = grow_piece(graph, erf, 3, none.takes());
  CHECK(spent.nodes.empty());
  CHECK(spent.asked == 3);
  CHECK(none.asked == std::vector<std::string>{"div erf", "erf add", "div erf add"});
  Compiler all{graph, {"no such node"}};
  const GrownPiece whole = grow_piece(graph, erf, 100, all.takes());
  CHECK(whole.nodes.empty());
  CHECK(all.asked.back() == "before div erf add mul half after");
}

}  // namespace
}  // namespace cleave
