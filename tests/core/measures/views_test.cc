#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "core/measures/measures.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {

// ---- runtime groups test ----
//
// The partitions that a runtime makes of what a provider takes.

namespace {

std::vector<SupportList> lists_of_runtime() {
  std::vector<SupportList> lists(2);
  lists[1].view = GraphView::onnxruntime;
  lists[1].allow.emplace_back().op = "acc*";
  return lists;
}

OpFacts facts_of_runtime() {
  OpFacts facts;
  facts.runtime_host = [](const Graph&, NodeId) { return kNone<NodeId>; };
  return facts;
}

// "nodes accepted partitions"
std::string groups(const std::string& text, const OpFacts& facts = facts_of_runtime()) {
  const Graph graph = graph_from_text(text);
  NodeSet supported(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    if (graph.op(node).starts_with("acc")) supported.insert(node);
  }
  const auto made = runtime_groups(graph, supported, lists_of_runtime(), facts);
  if (!made) return "none";
  return std::to_string(made->nodes) + " " + std::to_string(made->accepted) + " " +
         std::to_string(made->partitions);
}

TEST_CASE("there are a runtime's groups only where a list is about its graph") {
  const Graph graph = graph_from_text("input x\na = acc(x)\noutput a");
  const NodeSet all = nodes_named(graph, "a");
  CHECK_FALSE(runtime_groups(graph, all, std::vector<SupportList>(2), facts_of_runtime()));
  CHECK_FALSE(runtime_groups(graph, all, {}, facts_of_runtime()));
  CHECK_FALSE(runtime_groups(graph, all, lists_of_runtime(), {}));
  CHECK(runtime_groups(graph, all, lists_of_runtime(), facts_of_runtime()));
}

TEST_CASE("a group goes on until a node waits for another provider that waits for the group") {
  CHECK(groups("input x\na = acc(x)\nb = acc(a)\noutput b") == "2 2 1");
  CHECK(groups("input x\na = acc(x)\nb = cpu(a)\nc = acc(b)\noutput c") == "3 2 2");
  CHECK(groups("input x\na = cpu(x)\nb = acc(a)\noutput b") == "2 1 1");
  CHECK(groups("input x\na = cpu(x)\nb = cpu(a)\noutput b") == "2 0 0");
  // Two branches: what is ready at once is one group, however far apart.
  CHECK(groups("input x\na = acc(x)\nb = cpu(x)\nc = acc(b)\noutput a, c") == "3 2 1");
  CHECK(groups("input x\na = acc(x)\nb = cpu(a)\nc = acc(a)\nd = acc(b, c)\noutput d") == "4 3 2");
  CHECK(
      groups("input x\na = acc(x)\nb = cpu(a)\nc = cpu(b)\nd = acc(c)\ne = cpu(d)\nf = acc(e, a)\n"
             "g = acc(a)\noutput f, g") == "7 4 3");
}

TEST_CASE("what the runtime computes before the model runs is in no group") {
  const std::string head =
      "input x: float32[2,3]\ninput y: float32[n]\ninput z: float32\nparam w: float32[2]\n";
  CHECK(groups(head + "s: int64[2] = Shape(x)\na = acc(x, s)\noutput a") == "1 1 1");
  CHECK(groups(head + "s: int64[1] = Shape(y)\na = acc(x, s)\noutput a") == "2 1 1");
  CHECK(groups(head + "s: int64[1] = Shape(z)\na = acc(x, s)\noutput a") == "2 1 1");
  CHECK(groups(head + "s: int64[2] = Shape(x)\nt = accGather(s, w)\na = acc(x, t)\noutput a") ==
        "1 1 1");
  CHECK(groups(head + "s: int64[2] = Shape(x)\nt = cpu(s, y)\na = acc(x, t)\noutput a") == "2 1 1");
  // Constants alone are no reason: the model's file has them.
  CHECK(groups(head + "t = cpu(w)\na = acc(x, t)\noutput a") == "2 1 1");
  // Random numbers are made in each run, and a node with a body or without inputs is not computed.
  CHECK(groups(head + "s: int64[2] = Shape(x)\nt = RandomNormalLike(s)\na = acc(x, t)\noutput a") ==
        "2 1 1");
  CHECK(groups(head + "t = cpu()\na = acc(x, t)\noutput a") == "2 1 1");
  CHECK(groups(head + "s: int64[2] = Shape(x)\nt: float32[n] = If(s)\n| h = f(s)\nu = Shape(t)\n"
                      "a = acc(x, u)\noutput a") == "3 1 1");
  CHECK(
      groups(head +
             "s: int64[2] = Shape(x)\nt = Reshape(s, w)\nu = Shape(t)\na = acc(x, u)\noutput a") ==
      "1 1 1");
}

TEST_CASE("a node that becomes a part of an earlier one passes on what that makes") {
  OpFacts facts = facts_of_runtime();
  facts.runtime_host = [](const Graph& graph, NodeId node) {
    return graph.op(node) == "part" ? NodeId{0} : kNone<NodeId>;
  };
  CHECK(groups("input x\na = acc(x)\nb = part(a)\nc = acc(b)\noutput c", facts) == "2 2 1");
  CHECK(groups("input x\na = cpu(x)\nb = part(a)\nc = acc(b)\noutput c", facts) == "2 1 1");
  CHECK(groups("input x\na = acc(x)\nd = cpu(a)\nb = part(d)\nc = acc(b)\noutput c", facts) ==
        "3 2 1");
}

TEST_CASE(
    "a node with a body counts as its body's nodes, which lists judge where the node is refused") {
  OpFacts facts = facts_of_runtime();
  facts.function_body = [](const Graph& graph, NodeId node) -> std::shared_ptr<const FunctionBody> {
    if (!graph.op(node).ends_with("Function")) return nullptr;
    return std::make_shared<const FunctionBody>(FunctionBody{
        graph_from_text("input p\nq = cpu(p)\nr = acc(q)\noutput r"), facts_of_runtime()});
  };
  CHECK(groups("input x\na = Function(x)\nb = acc(a)\noutput b", facts) == "3 2 1");
  CHECK(groups("input x\na = accFunction(x)\nb = acc(a)\noutput b", facts) == "3 3 1");
  CHECK(groups("input x\na = acc(x)\nb = Function(a)\nc = acc(b)\noutput c", facts) == "4 3 2");
}

}  // namespace

// ---- same shape test ----

namespace {

// Each node's part is the number at the end of its name.
Partition partition_of(const Graph& graph, std::size_t count) {
  PerNode<PartId> part_of(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    part_of[node] = id_at<PartId>(static_cast<std::size_t>(graph.node(node).name.back() - '0'));
  }
  return make_partition(std::move(part_of), std::vector<std::string>(count, "part"),
                        std::vector<Device>(count, Device::acc));
}

// "0 0 2": for each part the first one of its shape.
std::string shapes_of(std::string_view text, std::size_t count) {
  const Graph graph = graph_from_text(text);
  const Partition partition = partition_of(graph, count);
  const SameShapes shapes = find_same_shapes(graph, partition, find_boundaries(graph, partition));
  std::string result;
  for (const PartId part : shapes.like) {
    result += (result.empty() ? "" : " ") + std::to_string(index(part));
  }
  std::size_t distinct = 0;
  for (const PartId part : partition.parts()) distinct += shapes.like[part] == part ? 1U : 0U;
  CHECK(shapes.distinct == distinct);
  CHECK(shapes.acc_parts == count);
  return result;
}

TEST_CASE("Parts that differ in names and weights only have the same shape") {
  CHECK(shapes_of(R"(
    input x
    param w
    param v
    a0 = f(x, w) {n=2, s="abcdefghij", r=[1.5, 2.5]}
    b0 = g(a0, x)
    c1 = f(b0, v) {n=2, s="abcdefghij", r=[1.5, 2.5]}
    d1 = g(c1, b0)
    output d1)",
                  2) == "0 0");
}

TEST_CASE("The order in the file does not matter") {
  CHECK(shapes_of(R"(
    input x
    a0 = f(x)
    b0 = g(x)
    c0 = h(a0, b0)
    d1 = g(c0)
    e1 = f(c0)
    i1 = h(e1, d1)
    output i1)",
                  2) == "0 0");
}

TEST_CASE("Parts that differ in op, attribute, dtype, shape or wiring have different shapes") {
  const std::string first = "input x\n param w\n a0 = f(x, w) {n=2}\n b0 = g(a0, a0)\n";
  const auto with = [&](const std::string& second) { return first + second + "\n output b1"; };
  CHECK(shapes_of(with("a1 = f(b0, w) {n=2}\n b1 = g(a1, a1)"), 2) == "0 0");
  for (const char* const other : {
           "a1 = F(b0, w) {n=2}\n b1 = g(a1, a1)",
           "a1 = f(b0, w) {n=3}\n b1 = g(a1, a1)",
           "a1 = f(b0, w) {n=2.0}\n b1 = g(a1, a1)",
           "a1 = f(b0, w)\n b1 = g(a1, a1)",
           "a1: float16[2,2] = f(b0, w) {n=2}\n b1 = g(a1, a1)",
           "a1: float32[2,3] = f(b0, w) {n=2}\n b1 = g(a1, a1)",
           "a1 = f(w, b0) {n=2}\n b1 = g(a1, a1)",
           "a1 = f(b0, k=w) {n=2}\n b1 = g(a1, a1)",
           "a1 = f(b0, w) {n=2}\n b1 = g(a1, b0)",
           "a1 = f(b0, w) {n=2, body}\n b1 = g(a1, a1)",
       }) {
    INFO(other);
    CHECK(shapes_of(with(other), 2) == "0 1");
  }
}

TEST_CASE("Outputs, and a value read twice, belong to a part's shape") {
  CHECK(shapes_of("input x\n a0 = f(x)\n b0 = f(a0)\n a1 = f(x)\n b1 = f(a1)\n output b0, b1, a1",
                  2) == "0 1");
  CHECK(shapes_of("input x\n input y\n a0 = f(x, x)\n a1 = f(x, y)\n output a0, a1", 2) == "0 1");
  CHECK(shapes_of("input x\n param w\n param v\n a0 = f(x, w, w)\n a1 = f(x, w, v)\n output a0, a1",
                  2) == "0 1");
}

TEST_CASE("Nodes with bodies or opaque attributes count as different") {
  CHECK(shapes_of("input x\n a0 = f(x) {body}\n a1 = f(x) {body}\n output a0, a1", 2) == "0 1");
  CHECK(shapes_of("input x\n a0 = If(x)\n | h = f(x)\n a1 = If(x)\n | i = f(x)\n output a0, a1",
                  2) == "0 1");
}

TEST_CASE("CPU parts are like themselves and are not counted") {
  const Graph graph = graph_from_text("input x\n a0 = f(x)\n a1 = f(a0)\n a2 = f(a1)\n output a2");
  Partition partition = partition_of(graph, 3);
  partition.devices[1] = Device::cpu;
  const SameShapes shapes = find_same_shapes(graph, partition, find_boundaries(graph, partition));
  CHECK(shapes.acc_parts == 2);
  CHECK(index(shapes.like[PartId{1}]) == 1);
}

// A random block: for each node its op and the nodes that it reads; -1 is the graph's input.
struct Block {
  std::vector<std::string> ops;
  std::vector<std::vector<int>> reads;
};

Block random_block(std::mt19937& rng) {
  Block block;
  const std::size_t size = 1 + rng() % 12;
  for (std::size_t i = 0; i < size; ++i) {
    block.ops.emplace_back(1, "fgh"[rng() % 3]);
    auto& reads = block.reads.emplace_back();
    for (std::size_t r = 1 + rng() % 2; r > 0; --r) {
      reads.push_back(static_cast<int>(rng() % (i + 1)) - 1);
    }
  }
  return block;
}

// The block as text, its lines in a random order with makers before readers.
std::string shuffled(const Block& block, int part, std::mt19937& rng) {
  const auto name = [&](int node) {
    return node < 0 ? std::string("x") : "n" + std::to_string(node) + "_" + std::to_string(part);
  };
  std::vector<bool> is_written(block.ops.size(), false);
  std::string text;
  for (std::size_t left = block.ops.size(); left > 0;) {
    const std::size_t node = rng() % block.ops.size();
    const auto is_there = [&](int read) {
      return read < 0 || is_written[static_cast<std::size_t>(read)];
    };
    const auto& reads = block.reads[node];
    if (is_written[node] || !std::all_of(reads.begin(), reads.end(), is_there)) continue;
    text += name(static_cast<int>(node)) + " = " + block.ops[node] + "(";
    for (std::size_t r = 0; r < reads.size(); ++r) text += (r == 0 ? "" : ", ") + name(reads[r]);
    text += ")\n";
    is_written[node] = true;
    --left;
  }
  return text;
}

TEST_CASE("A copy of any part is found in any order; one with another op is not") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 rng(seed);
    Block block = random_block(rng);
    const std::string first = "input x\n" + shuffled(block, 0, rng);
    const std::string text = first + shuffled(block, 1, rng);
    INFO("seed " << seed << "\n" << text);
    REQUIRE(shapes_of(text, 2) == "0 0");
    block.ops[rng() % block.ops.size()] = "z";
    REQUIRE(shapes_of(first + shuffled(block, 1, rng), 2) == "0 1");
  }
}

}  // namespace

// ---- views test ----

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
