// The partitions that a runtime makes of what a provider takes.
#include "core/measures/runtime_groups.h"

#include <memory>
#include <string>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
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
}  // namespace cleave
