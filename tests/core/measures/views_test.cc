#include "core/measures/views.h"

#include <algorithm>
#include <map>
#include <string>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {
namespace {

// Nodes by the digit of their part.
Partition parts_of(const Graph& graph, std::string_view digits) {
  PerNode<PartId> part_of(graph.node_count());
  std::vector<std::string> names;
  for (const NodeId node : graph.nodes()) {
    const auto part = static_cast<std::size_t>(digits[index(node)] - '0');
    part_of[node] = id_at<PartId>(part);
    while (names.size() <= part) names.push_back("p" + std::to_string(names.size()));
  }
  std::vector<Device> devices(names.size(), Device::acc);
  return make_partition(std::move(part_of), std::move(names), std::move(devices));
}

// "model: a b [p1] | p1: c d": the views that are opened, with their boxes.
std::string describe(const Graph& graph, const Views& views) {
  std::string text;
  for (const View& view : views.views) {
    if (view.boxes.empty()) continue;
    if (!text.empty()) text += " | ";
    text += view.title + ":";
    for (const ViewBox& box : view.boxes) {
      text += box.view == kNone<ViewId> ? " " + std::string(graph.node(box.node).name)
                                        : " [" + views[box.view].title + "]";
    }
  }
  return text;
}

std::string views(std::string_view text, std::string_view digits, const ViewOptions& options) {
  const Graph graph = graph_from_text(text);
  return describe(graph, make_views(graph, parts_of(graph, digits), options));
}

// A chain of nodes n0, n1, ..., each with a scope from the list, in turn.
std::string chain(std::size_t count, const std::vector<std::string>& scopes = {""}) {
  std::string text = "input x\n";
  for (std::size_t i = 0; i < count; ++i) {
    text += "scope " + scopes[i * scopes.size() / count] + "\n";
    text +=
        "n" + std::to_string(i) + " = f(" + (i == 0 ? "x" : "n" + std::to_string(i - 1)) + ")\n";
  }
  return text + "output n" + std::to_string(count - 1);
}

TEST_CASE("A small model is one view of its nodes") {
  CHECK(views(chain(3), "001", {.most_boxes = 3}) == ": n0 n1 n2");
}

TEST_CASE("A large model is divided by part, and a part of one node is the node") {
  CHECK(views(chain(5), "00122", {.most_boxes = 4}) == ": [p0] n2 [p2] | p0: n0 n1 | p2: n3 n4");
}

TEST_CASE("A large part is divided by scope, a component at a time") {
  CHECK(views(chain(6, {"m.a", "m.a", "m.b", "m.b", "m.c.d", "m.c.e"}), "000000",
              {.most_boxes = 3}) == ": [m.a] [m.b] [m.c] | m.a: n0 n1 | m.b: n2 n3 | m.c: n4 n5");
}

TEST_CASE("Nodes of the scope itself are single boxes when there is room") {
  CHECK(views(chain(5, {"m", "m", "m.a", "m.a", "m.a"}), "00000", {.most_boxes = 4}) ==
        ": n0 n1 [m.a] | m.a: n2 n3 n4");
  CHECK(views(chain(5, {"m", "m", "m.a", "m.a", "m.a"}), "00000", {.most_boxes = 2}) ==
        ": [m itself] [m.a] | m itself: n0 n1 | m.a: [nodes 1 to 2] n4 | nodes 1 to 2: n2 n3");
}

TEST_CASE("Nodes without distinguishing scopes are divided into runs") {
  CHECK(views(chain(5), "00000", {.most_boxes = 3}) ==
        ": [nodes 1 to 3] [nodes 4 to 5] | nodes 1 to 3: n0 n1 n2 | nodes 4 to 5: n3 n4");
}

TEST_CASE("More parts than boxes are bundled") {
  CHECK(views(chain(8), "00112233", {.most_boxes = 3}) ==
        ": [p0 to p1] [p2 to p3] | p0 to p1: [p0] [p1] | p2 to p3: [p2] [p3] | p0: n0 n1 | "
        "p1: n2 n3 | p2: n4 n5 | p3: n6 n7");
}

TEST_CASE("Where parts do not fit in one view, scopes come first") {
  CHECK(views(chain(6, {"a.x", "b"}), "012345", {.most_boxes = 3}) ==
        ": [a] [b] | a: n0 n1 n2 | b: n3 n4 n5");
  CHECK(views(chain(6, {"s"}), "001122", {.most_boxes = 2}) ==
        ": [p0 to p1] [p2] | p0 to p1: [p0] [p1] | p2: n4 n5 | p0: n0 n1 | p1: n2 n3");
  CHECK(views(chain(6, {"a", "", "", ""}), "012345", {.most_boxes = 3}) ==
        ": [p0 to p1] [p2 to p3] [p4 to p5] | p0 to p1: n0 n1 | p2 to p3: n2 n3 | p4 to p5: n4 n5");
}

TEST_CASE("Views beyond the number asked for are not opened") {
  CHECK(views(chain(6), "001122", {.most_boxes = 3, .most_views = 2}) ==
        ": [p0] [p1] [p2] | p0: n0 n1");
}

TEST_CASE("A model without nodes is an empty view") {
  const Graph graph = graph_from_text("input x\n output x");
  const Views none = make_views(graph, parts_of(graph, ""), {});
  REQUIRE(none.views.size() == 1);
  CHECK(none.views[0].node_count() == 0);
}

TEST_CASE("Every node is a box of one view, and no view holds more than asked for") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_graph(seed, 40).graph;
    std::string digits;
    for (const NodeId node : graph.nodes()) digits += static_cast<char>('0' + index(node) % 3);
    const ViewOptions options{.most_boxes = 2 + seed % 5, .most_views = 100'000};
    const Views made = make_views(graph, parts_of(graph, digits), options);
    std::map<NodeId, std::size_t> shown;
    for (std::size_t i = 0; i < made.views.size(); ++i) {
      CHECK(made.views[i].boxes.size() <= options.most_boxes);
      std::size_t nodes = 0;
      for (const ViewBox& box : made.views[i].boxes) {
        nodes += box.view == kNone<ViewId> ? 1 : made[box.view].node_count();
        if (box.view != kNone<ViewId>) continue;
        ++shown[box.node];
        CHECK(made.view_of[box.node] == id_at<ViewId>(i));
      }
      CHECK(nodes == made.views[i].node_count());
    }
    CHECK(shown.size() == graph.node_count());
    for (const auto& [node, times] : shown) CHECK(times == 1);
  }
}

}  // namespace
}  // namespace cleave
