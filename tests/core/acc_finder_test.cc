#include "core/acc_finder.h"

#include "tests/catch2.h"
#include "tests/core/graph_text.h"

namespace cleave {
namespace {

struct Found {
  std::string nodes;
  std::string reasons;
};

// All nodes are supported but those named.
Found find(std::string_view text, std::string_view unsupported,
           const AccFinderOptions& options = {}) {
  const Graph graph = graph_from_text(text);
  const AccNodes acc = find_acc_nodes(graph, support_all_but(graph, unsupported), options);
  for (const NodeId node : graph.nodes()) {
    const bool has_reason = acc.reasons[node].code != ReasonCode::none;
    CHECK(acc.nodes.contains(node) != has_reason);
  }
  return {names_of(graph, acc.nodes), describe(graph, acc.reasons)};
}

TEST_CASE("A node that reads a non-tensor made on the CPU leaves the accelerator") {
  const Found found = find(R"(
    input x
    s: scalar = item(x)
    a = full(s)
    b = relu(a)
    output b)",
                           "s");
  CHECK(found.nodes == "b");
  CHECK(found.reasons == "s: no_rule\na: non_tensor_input s\n");
}

TEST_CASE("A node that makes a non-tensor for the CPU leaves the accelerator") {
  const Found found = find(R"(
    input x
    a = relu(x)
    s: tuple(scalar, scalar) = size(a)
    b = view(x, s)
    output b)",
                           "b");
  CHECK(found.nodes == "a");
  CHECK(found.reasons == "s: non_tensor_output b\nb: no_rule\n");
}

}  // namespace
}  // namespace cleave
