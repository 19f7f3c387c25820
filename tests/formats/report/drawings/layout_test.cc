#include "formats/report/drawings/layout.h"

#include <cstdlib>

#include "formats/report/drawings/dot_graph.h"
#include "formats/report/drawings/dot_style.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

using Catch::Matchers::Contains;

bool has_library() { return layout_svg("digraph { a }").has_value(); }

// Complete, so that ranking and placing it takes Graphviz minutes.
std::string hard_graph(int nodes) {
  std::string dot = "digraph {";
  for (int i = 0; i < nodes; ++i) {
    for (int k = i + 1; k < nodes; ++k) {
      dot += " n" + std::to_string(i) + " -> n" + std::to_string(k) + " [label=\"x\"];";
    }
  }
  return dot + "}";
}

TEST_CASE("drawings are returned in order, and are the same as when laid out in this process") {
  if (!has_library()) return;
  const std::vector<std::string> dots = {"digraph one { a -> b }", "", "digraph {",
                                         "digraph two { c }"};
  const auto all = lay_out_all({dots.size(), [&](std::size_t i) { return dots[i]; }}, {}).drawings;
  REQUIRE(all.size() == 4);
  CHECK(*all[0] == *layout_svg(dots[0]));
  CHECK(all[1]->empty());
  CHECK_THAT(all[2].error().message, Contains("syntax error"));
  CHECK(*all[3] == *layout_svg(dots[3]));
}

// The points of an edge's path that lie to the right of a node's centre, or left of it.
std::size_t points_beside(const std::string& svg, const std::string& edge, double centre) {
  std::size_t at = svg.find("<path", svg.find("<title>" + edge + "</title>"));
  at = svg.find(" d=\"M", at) + 5;
  std::size_t count = 0;
  while (svg[at] != '"') {
    char* end = nullptr;
    const double x = std::strtod(svg.c_str() + at, &end);
    if (x < centre - 30 || x > centre + 30) ++count;
    at = svg.find_first_of(" \"C", static_cast<std::size_t>(end - svg.c_str()));
    while (svg[at] == ' ' || svg[at] == 'C') ++at;
  }
  return count;
}

TEST_CASE("an edge that passes other nodes goes round them, however many edges there are") {
  if (!has_library()) return;
  std::string dot = "digraph { node [shape=box width=1]; n0 -> n300;";
  for (int i = 0; i < 310; ++i) {
    dot += " n" + std::to_string(i) + " -> n" + std::to_string(i + 1) + " [weight=9];";
  }
  const std::string curved = *layout_svg(dot + "}");
  const std::string routed = *layout_svg(dot + "}", EdgeShape::routed);
  const std::size_t node = curved.find("points=\"", curved.find("<title>n150</title>"));
  const double right = std::strtod(curved.c_str() + node + 8, nullptr);  // n150 is 72 points wide
  CHECK(points_beside(curved, "n0&#45;&gt;n300", right - 36) > 2);
  CHECK(points_beside(routed, "n0&#45;&gt;n300", right - 36) > 2);
}

// Layers that all read one node, as the layers of a transformer read a mask, with boxes around each two.
TEST_CASE("a drawing of 1,300 nodes in boxes, with edges across all of it, takes some 2 s") {
  if (!has_library()) return;
  constexpr int kLayers = 260, kNodes = 5;
  DotGraph drawing = start_drawing("layers", "");
  const auto id = [](int layer, int node) {
    return "n" + std::to_string(layer) + "_" + std::to_string(node);
  };
  drawing.add_node("mask", {});
  for (int i = 0; i < kLayers; ++i) {
    for (int k = 0; k < kNodes; ++k) drawing.add_node(id(i, k), {});
  }
  for (int i = 0; i < kLayers; ++i) {
    for (int k = 1; k < kNodes; ++k) drawing.add_edge(id(i, k - 1), id(i, k), {});
    for (int k = 0; k < kNodes; ++k) drawing.add_edge("mask", id(i, k), {});
    if (i > 0) drawing.add_edge(id(i - 1, kNodes - 1), id(i, 0), {});
    if (i > 0) drawing.add_cluster({{"label", "box"}}, {id(i - 1, 3), id(i - 1, 4), id(i, 0)});
  }
  drawing.leave_out_long_edges(DotGraph::kMostRanksSpanned);
  const auto make = [&](std::size_t) { return drawing.text(); };
  const LaidOutAll all = lay_out_all({1, make}, {});
  REQUIRE(all.drawings[0].has_value());
  CHECK_THAT(*all.drawings[0], Contains("class=\"cluster\""));
  CHECK(all.spent < 8);  // of a slow machine
}

TEST_CASE("a drawing that takes too long does not prevent others") {
  if (!has_library()) return;
  const std::vector<std::string> dots = {hard_graph(60), "digraph { a }"};
  const LayoutLimits limits{.seconds = 2};
  const auto all =
      lay_out_all({dots.size(), [&](std::size_t i) { return dots[i]; }}, limits).drawings;
  CHECK_THAT(all[0].error().message, Contains("Graphviz took longer than 500 ms"));
  CHECK(all[1].has_value());
}

TEST_CASE("when time runs out no more drawings are laid out") {
  if (!has_library()) return;
  const LayoutJob job{3, [](std::size_t) { return hard_graph(60); }};
  const LaidOutAll all = lay_out_all(job, {.seconds = 0.01});
  for (const LaidOut& one : all.drawings) CHECK_FALSE(one.has_value());
  CHECK(all.spent >= 0.01);
}

TEST_CASE("seconds that earlier calls have spent are not spent again") {
  if (!has_library()) return;
  const auto make = [](std::size_t) -> std::string { return "digraph { a }"; };
  const LaidOutAll all = lay_out_all({2, make}, {.seconds = 20, .spent = 20});
  CHECK(all.spent == 20);
  for (const LaidOut& one : all.drawings) {
    CHECK(one.error().message == "the time for drawings, 20 s, was over");
  }
}

TEST_CASE("when the first drawing is needed and fails, the others are given up") {
  if (!has_library()) return;
  std::size_t made = 0;
  const auto make = [&](std::size_t i) {
    made = i;
    return i == 0 ? std::string("digraph {") : hard_graph(60);
  };
  const LaidOutAll all = lay_out_all({50, make, true}, {.seconds = 100});
  CHECK_THAT(all.drawings[0].error().message, Contains("syntax error"));
  CHECK(made < 10);
  CHECK(all.spent < 10);
  for (std::size_t i = 1; i < 50; ++i) CHECK(all.drawings[i]->empty());
}

}  // namespace
}  // namespace cleave
