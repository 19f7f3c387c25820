#include "core/split/non_tensor_moves.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

struct Moved {
  std::string before, after, reasons;
};

// Non-tensor data may cross; all nodes but the named ones are on the accelerator.
Moved moved(std::string_view text, std::string_view cpu) {
  const Graph graph = graph_from_text(text);
  Support support = support_all_but(graph, cpu);
  const Fusions fusions = find_fusions(
      graph, {std::move(support.supported), std::move(support.reasons)}, {.skip = true});
  const Subgraphs subgraphs = split_subgraphs(graph, fusions, {}).subgraphs;
  const NonTensorsMoved after = move_non_tensor_nodes(graph, fusions, subgraphs);
  return {describe(graph, subgraphs), describe(graph, after.subgraphs),
          describe(graph, after.fusions.acc.reasons)};
}

TEST_CASE("A node moves to the subgraph that reads its non-tensor, with what depends on it") {
  const Moved result = moved(R"(
    input x
    a = f(x)
    s: scalar = size(a)
    b = g(a, s)
    c = h(s)
    output b, c)",
                             "c");
  CHECK(result.before == "acc: a s b | cpu: c");
  CHECK(result.after == "acc: a | cpu: s b c");
  CHECK(result.reasons == "s: non_tensor_output c\nb: fusion_group s\nc: no_rule\n");
}

TEST_CASE("The makers of the non-tensors that it reads move after it") {
  const Moved result = moved(R"(
    input x
    a = f(x)
    s: scalar = size(a)
    t: scalar = mul(s)
    c = h(t)
    output c)",
                             "c");
  CHECK(result.before == "acc: a s t | cpu: c");
  CHECK(result.after == "acc: a | cpu: s t c");
}

TEST_CASE("A node with readers in two other subgraphs stays, as does one whose dependents have") {
  const Moved two = moved(R"(
    input x
    s: scalar = size(x)
    c = h(s)
    d = f(c)
    e = h(d, s)
    output e)",
                          "c e");
  CHECK(two.before == "acc: s | cpu: c | acc: d | cpu: e");
  CHECK(two.after == two.before);
  const Moved dependents = moved(R"(
    input x
    s: scalar = size(x)
    b = g(x, s)
    c = h(s)
    d = f(c, b)
    output d)",
                                 "c");
  CHECK(dependents.before == "acc: s b | cpu: c | acc: d");
  CHECK(dependents.after == dependents.before);
}

TEST_CASE("Tensors cross, and what is on the CPU stays there") {
  const std::string text = R"(
    input x
    a = f(x)
    s: scalar = size(a)
    b = g(a, s)
    output b)";
  CHECK(moved(text, "a").after == "cpu: a | acc: s b");
  CHECK(moved(text, "a s").after == "cpu: a s | acc: b");
}

}  // namespace
}  // namespace cleave
