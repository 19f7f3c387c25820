#include "formats/lists/costs/node_names.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

TEST_CASE("nodes, constants and nodes of bodies are found, and the node whose time includes each") {
  const Graph graph = graph_from_text(R"(
    input x
    param w
    const c = Cast(w)
    a = Relu(x)
    i = If(a, ^x)
    | h = Exp(x)
    | k = Neg(h)
    j = If(i, ^x)
    | m = Exp(x)
    n@ u = Add(j, c)
  )");
  const NodeNames names(graph);
  // The name of the owner; "none" for a constant, "absent" for a name of no node.
  const auto owner = [&](std::string_view name) -> std::string {
    const auto found = names.find(name);
    if (!found) return "absent";
    const NodeId node = names.owner(*found);
    return node == kNone<NodeId> ? "none" : std::string(graph.node(node).name);
  };
  CHECK(owner("a") == "a");
  CHECK(owner("i") == "i");
  CHECK(owner("h") == "i");
  CHECK(owner("k") == "i");
  CHECK(owner("m") == "j");
  CHECK(owner("n") == "n");
  CHECK(owner("c") == "none");
  CHECK(owner("u") == "absent");
  CHECK(names.find_maker("u") == node_named(graph, "n"));
  CHECK(names.find_maker("c") == node_named(graph, "c"));
  CHECK_FALSE(names.find_maker("x"));
}

}  // namespace
}  // namespace cleave
