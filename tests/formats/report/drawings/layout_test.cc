#include <charconv>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "formats/report/drawings/drawings.h"
#include "tests/catch2.h"

namespace cleave {

// ---- edge routes test ----

namespace {

struct Box {
  double x, y, half;  // 20 high
};

// As Graphviz writes it, with straight edges.
std::string picture(const std::vector<Box>& boxes,
                    const std::vector<std::pair<std::size_t, std::size_t>>& edges) {
  std::string svg = "<svg>\n";
  const auto number = [](double value) { return std::to_string(value); };
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const auto& [x, y, half] = boxes[i];
    svg += "<g id=\"node" + std::to_string(i) + "\" class=\"node\">\n<title>n" + std::to_string(i) +
           "</title>\n<polygon fill=\"white\" points=\"" + number(x - half) + "," + number(y - 10) +
           " " + number(x + half) + "," + number(y + 10) + "\"/>\n</g>\n";
  }
  for (const auto& [from, to] : edges) {
    svg += "<g id=\"edge\" class=\"edge\">\n<title>n" + std::to_string(from) + "&#45;&gt;n" +
           std::to_string(to) + "</title>\n<path fill=\"none\" d=\"M0,0C1,1 2,2 3,3\"/>\n" +
           "<polygon points=\"1,0 0,6 -1,0 1,0\"/>\n</g>\n";
  }
  return svg + "</svg>\n";
}

std::vector<double> numbers_of(std::string_view text) {
  std::vector<double> out;
  for (const char* at = text.data(); at != text.data() + text.size();) {
    double value = 0;
    const auto read = std::from_chars(at, text.data() + text.size(), value);
    if (read.ec == std::errc()) out.push_back(value);
    at = read.ec == std::errc() ? read.ptr : at + 1;
  }
  return out;
}

// The points of the edges' paths, in the order of the picture.
std::vector<std::vector<double>> paths_in(const std::string& svg) {
  std::vector<std::vector<double>> out;
  for (std::size_t at = svg.find("<path"); at != svg.npos; at = svg.find("<path", at + 1)) {
    const std::size_t begin = svg.find(" d=\"", at) + 4;
    out.push_back(numbers_of(std::string_view(svg).substr(begin, svg.find('"', begin) - begin)));
  }
  return out;
}

bool crosses(const std::vector<double>& path, const Box& box) {
  constexpr int kSteps = 20;
  constexpr double kInside = 1;
  for (std::size_t i = 0; i + 7 < path.size(); i += 6) {
    for (int step = 0; step <= kSteps; ++step) {
      const double u = static_cast<double>(step) / kSteps, v = 1 - u;
      const auto at = [&](std::size_t k) {
        const double* p = &path[i + k];
        return v * v * v * p[0] + 3 * v * v * u * p[2] + 3 * v * u * u * p[4] + u * u * u * p[6];
      };
      if (std::abs(at(0) - box.x) < box.half - kInside && std::abs(at(1) - box.y) < 10 - kInside)
        return true;
    }
  }
  return false;
}

TEST_CASE("edges go round all nodes but their own, in rows of any widths") {
  std::mt19937 random(7);
  const auto below = [&](std::size_t most) { return static_cast<std::size_t>(random()) % most; };
  for (int round = 0; round < 40; ++round) {
    std::vector<Box> boxes;
    std::vector<std::size_t> row_of;
    const std::size_t rows = 2 + below(12);
    for (std::size_t row = 0; row < rows; ++row) {
      double x = static_cast<double>(below(200));
      for (std::size_t i = 1 + below(6); i > 0; --i) {
        const double half = 10 + static_cast<double>(below(60));
        boxes.push_back({x + half, 50 * static_cast<double>(row), half});
        row_of.push_back(row);
        x += 2 * half + 6 + static_cast<double>(below(40));
      }
    }
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    for (int i = 0; i < 60; ++i) {
      const std::size_t from = below(boxes.size()), to = below(boxes.size());
      if (from != to) edges.push_back({from, to});  // down, up and within a row
    }
    const auto paths = paths_in(with_edges_round_nodes(picture(boxes, edges)));
    REQUIRE(paths.size() == edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const auto [from, to] = edges[i];
      const bool is_up = row_of[to] < row_of[from];
      CHECK(paths[i][0] == Approx(boxes[from].x));
      CHECK(paths[i].end()[-2] == Approx(boxes[to].x));
      CHECK(paths[i].end()[-1] == Approx(boxes[to].y + (is_up ? 16 : -16)));  // an arrowhead of 6
      for (std::size_t k = 0; k < boxes.size(); ++k) {
        INFO("round " << round << ", edge " << from << " -> " << to << ", box " << k);
        if (k != from && k != to) CHECK_FALSE(crosses(paths[i], boxes[k]));
      }
    }
  }
}

TEST_CASE("edges in one gap have places of their own, in their order") {
  const std::vector<Box> boxes = {{0, 0, 20},    {60, 0, 20},  {30, 50, 200},
                                  {300, 50, 40}, {0, 100, 20}, {60, 100, 20}};
  const auto paths = paths_in(with_edges_round_nodes(picture(boxes, {{0, 4}, {1, 5}})));
  REQUIRE(paths.size() == 2);
  const double left = paths[0][6], right = paths[1][6];  // at the top of the middle row
  CHECK(left == Approx(-175));
  CHECK(right > 230);
  CHECK(right < 260);
}

TEST_CASE("the bend that Graphviz gives an edge beside its label stays") {
  std::string svg = picture({{0, 0, 20}, {0, 50, 20}, {0, 100, 20}}, {{0, 2}});
  const std::string straight = "M0,0C1,1 2,2 3,3";
  svg.replace(svg.find(straight), straight.size(), "M0,10C0,10 70,50 70,50 70,50 0,90 0,90");
  const auto paths = paths_in(with_edges_round_nodes(svg));
  REQUIRE(paths.size() == 1);
  CHECK(paths[0][6] == Approx(70));
}

TEST_CASE("what is no edge between two known nodes stays as it is") {
  const std::string svg = picture({{0, 0, 20}}, {{0, 0}, {0, 5}});
  CHECK(with_edges_round_nodes(svg) == svg);
  CHECK(with_edges_round_nodes("").empty());
}

// The path and the arrowhead of each edge, a line each.
std::string routes_of(const std::string& svg) {
  std::string text;
  for (std::size_t at = svg.find("<path"); at != svg.npos; at = svg.find("<path", at + 1)) {
    const auto value = [&](const std::string& name) {
      const std::size_t begin = svg.find(name, at) + name.size();
      return svg.substr(begin, svg.find('"', begin) - begin);
    };
    text += value(" d=\"") + " > " + value("points=\"") + "\n";
  }
  return text;
}

TEST_CASE("edges have these routes: straight, bent, side by side in a gap, upwards and as arches") {
  const std::vector<Box> boxes = {{0, 0, 20},    {60, 0, 20},  {30, 50, 100},
                                  {300, 50, 40}, {0, 100, 20}, {60, 100, 20}};
  const std::vector<std::pair<std::size_t, std::size_t>> edges = {
      {0, 2}, {2, 5}, {0, 4}, {1, 5}, {1, 4}, {5, 0}, {0, 1}, {2, 3}, {5, 4}};
  CHECK(routes_of(with_edges_round_nodes(picture(boxes, edges))) ==
        "M0,10C0,22 30,22 30,34 > 31,34 30,40 29,34 31,34\n"
        "M30,60C30,72 60,72 60,84 > 61,84 60,90 59,84 61,84\n"
        "M0,10C0,25 -79,25 -79,40 -79,50 -79,50 -79,60 -79,72 0,72 0,84 > 1,84 0,90 -1,84 1,84\n"
        "M60,10C60,25 135,25 135,40 135,50 135,50 135,60 135,72 60,72 60,84 > 61,84 60,90 59,84 "
        "61,84\n"
        "M60,10C60,25 -75,25 -75,40 -75,50 -75,50 -75,60 -75,72 0,72 0,84 > 1,84 0,90 -1,84 1,84\n"
        "M60,90C60,75 139,75 139,60 139,50 139,50 139,40 139,28 0,28 0,16 > 1,16 0,10 -1,16 1,16\n"
        "M0,-10C0,-34 60,-34 60,-10 60,-13 60,-13 60,-16 > 61,-16 60,-10 59,-16 61,-16\n"
        "M30,40C30,16 300,16 300,40 300,37 300,37 300,34 > 301,34 300,40 299,34 301,34\n"
        "M60,90C60,66 0,66 0,90 0,87 0,87 0,84 > 1,84 0,90 -1,84 1,84\n");
}

TEST_CASE("edges pass between boxes that touch, and keep their column at the very side of a box") {
  const auto at_row = [](const std::vector<Box>& boxes) {
    const std::size_t last = boxes.size() - 1;
    const auto paths = paths_in(with_edges_round_nodes(picture(boxes, {{0, last}})));
    REQUIRE(paths.size() == 1);
    return paths[0][6];
  };
  CHECK(at_row({{0, 0, 20}, {-50, 50, 50}, {50, 50, 50}, {0, 100, 20}}) == Approx(0));
  CHECK(std::abs(at_row({{0, 0, 20}, {-50, 50, 51}, {50, 50, 50}, {0, 100, 20}})) > 100);
  CHECK(at_row({{0, 0, 20}, {55, 50, 50}, {-30, 100, 20}}) == Approx(0));  // the margin is 5
  CHECK(at_row({{0, 0, 20}, {-55, 50, 50}, {30, 100, 20}}) == Approx(0));
  CHECK(at_row({{0, 0, 20}, {54, 50, 50}, {-30, 100, 20}}) < -5);
  CHECK(at_row({{0, 0, 20}, {-54, 50, 50}, {30, 100, 20}}) > 5);
  CHECK(at_row({{0, 0, 20}, {-200, 50, 50}, {200, 50, 50}, {120, 100, 20}}) > 5);
}

}  // namespace

// ---- layout test ----

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
