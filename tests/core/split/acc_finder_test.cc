#include "core/split/acc_finder.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"
#include "tests/core/split/plain_passes.h"

namespace cleave {
namespace {

struct Found {
  std::string nodes;
  std::string reasons;
};

// All nodes but the named ones are supported.
Found find(std::string_view text, std::string_view unsupported, const SplitOptions& options = {}) {
  const Graph graph = graph_from_text(text);
  const AccNodes acc = find_acc_nodes(graph, support_all_but(graph, unsupported), options);
  return {names_of(graph, acc.nodes), describe(graph, acc.reasons)};
}

TEST_CASE("Tensors may cross between accelerator and CPU") {
  const Found found = find(R"(
    input x
    a = f(x)
    b = g(a)
    c = h(b)
    output c)",
                           "b");
  CHECK(found.nodes == "a c");
  CHECK(found.reasons == "b: no_rule\n");
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

TEST_CASE("Nodes leave one after another along non-tensors, up to a tensor") {
  const Found found = find(R"(
    input x
    s: scalar = item(x)
    t: scalar = add(s)
    u: list(scalar) = make(t)
    a = full(u)
    b = relu(a)
    output b)",
                           "s");
  CHECK(found.nodes == "b");
  CHECK(found.reasons ==
        "s: no_rule\nt: non_tensor_input s\nu: non_tensor_input t\na: non_tensor_input u\n");
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

TEST_CASE("A node that leaves because of its output takes its other readers and its makers along") {
  const Found found = find(R"(
    input x
    r: scalar = rank(x)
    s: scalar = add(r)
    a = full(s)
    b = view(x, s)
    output a, b)",
                           "b");
  CHECK(found.nodes.empty());
  CHECK(found.reasons ==
        "r: non_tensor_output s\ns: non_tensor_output b\na: non_tensor_input s\nb: no_rule\n");
}

TEST_CASE("The graph's output counts as a reader on the CPU, of non-tensors only") {
  const Found found = find(R"(
    input x
    s: scalar = item(x)
    a = relu(x)
    output s, a)",
                           "");
  CHECK(found.nodes == "a");
  CHECK(found.reasons == "s: non_tensor_output\n");
}

TEST_CASE("A tuple of tensors is not a tensor") {
  const Found found = find(R"(
    input x
    t: tuple(float32[1], float32[1]) = chunk(x)
    a = get(t)
    output a)",
                           "a");
  CHECK(found.nodes.empty());
  CHECK(found.reasons == "t: non_tensor_output a\na: no_rule\n");
}

TEST_CASE("A value of unknown type is not a tensor") {
  CHECK(find("input x\n a: unknown = f(x)\n b = g(a)\n output b", "b").nodes.empty());
}

TEST_CASE("One non-tensor among a node's outputs makes all its readers count") {
  const Found found = find(R"(
    input x
    a, n: scalar = f(x)
    b = g(a)
    output b)",
                           "b");
  CHECK(found.nodes.empty());
}

TEST_CASE("Non-tensors that are graph inputs, parameters or constants cross freely") {
  const Found found = find(R"(
    input k: scalar
    param w: list(scalar)
    const c: scalar = Size(w)
    a = f(k, w, c)
    b = g(k, w, c)
    output a)",
                           "b");
  CHECK(found.nodes == "a");
}

TEST_CASE("A non-tensor inside a list, by keyword or captured by a body counts as read") {
  for (const char* arguments : {"[x, s]", "k=s", "k=[s]", "^s"}) {
    INFO(arguments);
    const std::string text =
        "input x\n s: scalar = item(x)\n a = f(" + std::string(arguments) + ")\n output a";
    CHECK(find(text, "s").nodes.empty());
    CHECK(find(text, "a").nodes.empty());
  }
}

TEST_CASE("With allow_non_tensor every supported node stays") {
  const Found found = find(R"(
    input x
    s: scalar = item(x)
    a = full(s)
    t: scalar = item(a)
    output t)",
                           "s", {.allow_non_tensor = true});
  CHECK(found.nodes == "a t");
  CHECK(found.reasons == "s: no_rule\n");
}

TEST_CASE("A node without outputs is a tensor node") {
  CHECK(find("input x\n a = f(x)\n p@ = print(a)\n output a", "").nodes == "a p");
}

TEST_CASE("The acc finder agrees with a plain second implementation, and gives reasons") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, 20);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    const AccNodes acc = find_acc_nodes(random.graph, random.support, {});
    REQUIRE(plain::nodes_in(random.graph, acc.nodes) ==
            plain::find_acc_nodes(random.graph,
                                  plain::nodes_in(random.graph, random.support.supported)));
    for (const NodeId node : random.graph.nodes()) {
      const Reason& reason = acc.reasons[node];
      REQUIRE(acc.nodes.contains(node) == (reason.code == ReasonCode::none));
      if (reason.because != kNone<NodeId>) REQUIRE(!acc.nodes.contains(reason.because));
    }
  }
}

}  // namespace
}  // namespace cleave
