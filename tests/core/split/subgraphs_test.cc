#include "core/split/subgraphs.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"
#include "tests/core/split/plain_passes.h"

namespace cleave {
namespace {

// Without the acc finder: all nodes but the named ones are on the accelerator.
Fusions fusions_of(const Graph& graph, std::string_view cpu) {
  Support support = support_all_but(graph, cpu);
  return find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
}

std::string split(std::string_view text, std::string_view cpu, const SplitOptions& options = {}) {
  const Graph graph = graph_from_text(text);
  return describe(graph, split_subgraphs(graph, fusions_of(graph, cpu), options).subgraphs);
}

struct Merged {
  std::string subgraphs;
  std::string reasons;
};

Merged merge(std::string_view text, std::string_view cpu, std::size_t min_acc_size) {
  const Graph graph = graph_from_text(text);
  const Fusions fusions = fusions_of(graph, cpu);
  const SplitOptions options{.min_acc_size = min_acc_size};
  const SubgraphsFound found = split_subgraphs(graph, fusions, options);
  const MergedSubgraphs merged =
      merge_small_subgraphs(graph, found.subgraphs, fusions.acc.reasons, options);
  return {describe(graph, merged.subgraphs), describe(graph, merged.reasons)};
}

constexpr const char* kChain = R"(
  input x
  a = f(x)
  b = f(a)
  c = f(b)
  d = f(c)
  output d)";

TEST_CASE("Subgraphs alternate along a chain") {
  CHECK(split(kChain, "b c") == "acc: a | cpu: b c | acc: d");
  CHECK(split(kChain, "a d") == "cpu: a | acc: b c | cpu: d");
}

TEST_CASE("Nodes that are all on one side make one subgraph") {
  CHECK(split(kChain, "") == "acc: a b c d");
  CHECK(split(kChain, "a b c d") == "cpu: a b c d");
}

TEST_CASE("An empty graph gives no subgraphs") {
  CHECK(split("input x\noutput x", "").empty());
  CHECK(split("", "").empty());
}

TEST_CASE("A run takes all ready nodes before it flips, wherever they are in the model") {
  CHECK(split(R"(
    input x
    a = f(x)
    b = f(x)
    c = f(a)
    d = f(b)
    e = f(c)
    output d, e)",
              "a d") == "cpu: a | acc: b c e | cpu: d");
}

TEST_CASE("A ready CPU node that reads a graph input starts with the CPU") {
  CHECK(split("input x\n a = f(x)\n b = f(x)\n output a, b", "b") == "cpu: b | acc: a");
}

TEST_CASE("A ready CPU node that reads a parameter starts with the CPU, by position or keyword") {
  for (const char* arguments : {"w", "k=w", "[w]", "c"}) {
    INFO(arguments);
    const std::string text = "input x\n param w\n const c = Cast(w)\n a = f(x)\n b = f(" +
                             std::string(arguments) + ")\n output a, b";
    CHECK(split(text, "b") == "cpu: b | acc: a");
  }
}

TEST_CASE("A parameter of its module does not make a CPU node start") {
  CHECK(split("input x\n param w\n a = f(x)\n b = f() !w\n output a, b", "b") == "acc: a | cpu: b");
}

TEST_CASE("A CPU node that waits does not start with the CPU") {
  CHECK(split("input x\n a = f(x)\n b = f(a, x)\n output b", "b") == "acc: a | cpu: b");
}

// DEPARTS: the reference never starts a node without inputs, and fails when one is read.
TEST_CASE("A node without inputs starts too, without deciding which side begins") {
  CHECK(split(R"(
    input x
    z = zeros()
    a = f(x)
    b = f(a, z)
    output b)",
              "z") == "acc: a | cpu: z | acc: b");
  CHECK(split("z = zeros()\n b = f(z)\n output b", "z") == "cpu: z | acc: b");
  CHECK(split("z = zeros()\n b = f(z)\n output b", "b") == "acc: z | cpu: b");
}

// DEPARTS: the reference counts the output as a CPU node when it reads a graph input.
TEST_CASE("The graph's output is not a node") {
  CHECK(split("input x\n a = f(x)\n output a, x", "") == "acc: a");
}

TEST_CASE("Nodes that nothing reads are kept") {
  CHECK(split("input x\n a = f(x)\n b = g(a)\n output a", "b") == "acc: a | cpu: b");
}

TEST_CASE("All members of a fusion group wait for all that any of them waits for") {
  CHECK(split(R"(
    input x
    s: scalar = size(x)
    b = relu(x)
    c = view(b, s)
    output c)",
              "b") == "cpu: b | acc: s c");
}

TEST_CASE("Readers of a member wait for the whole group") {
  CHECK(split(R"(
    input x
    s: scalar = size(x)
    b = view(x, s)
    c = f(b)
    d = f(x)
    e = view(d, s)
    output c, e)",
              "c d") == "cpu: d | acc: s b e | cpu: c");
}

TEST_CASE("Two readings of one value, and two values of one node, count as one wait") {
  CHECK(split("input x\n a, b = f(x)\n c = g(a, a, b, [b], k=a)\n output c", "a") ==
        "cpu: a | acc: c");
}

TEST_CASE("A node without outputs is placed") {
  CHECK(split("input x\n a = f(x)\n p@ = print(a)\n output a", "p") == "acc: a | cpu: p");
}

TEST_CASE("The side to begin with can be chosen") {
  constexpr const char* kText = R"(
    input x
    a = f(x)
    b = f(x)
    c = f(a, b)
    output c)";
  CHECK(split(kText, "b") == "cpu: b | acc: a c");
  CHECK(split(kText, "b", {.start = StartSide::cpu}) == "cpu: b | acc: a c");
  CHECK(split(kText, "b", {.start = StartSide::acc}) == "acc: a | cpu: b | acc: c");
  CHECK(split(kText, "a c", {.start = StartSide::reference}) == "cpu: a | acc: b | cpu: c");
  CHECK(split(kText, "a c", {.start = StartSide::fewest}) == "acc: b | cpu: a c");
}

TEST_CASE("The first side is one that has ready nodes") {
  CHECK(split("input x\n a = f(x)\n output a", "", {.start = StartSide::cpu}) == "acc: a");
}

TEST_CASE("The number of subgraphs from the other side is reported") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = f(x)\n c = f(a, b)\n output c");
  const Fusions fusions = fusions_of(graph, "a c");
  CHECK(split_subgraphs(graph, fusions, {}).count_from_other_side == 2);
  CHECK(split_subgraphs(graph, fusions, {.start = StartSide::fewest}).count_from_other_side == 3);
}

TEST_CASE("Small accelerator subgraphs join the CPU subgraphs before and after them") {
  const Merged merged = merge(kChain, "a c", 2);
  CHECK(merged.subgraphs == "cpu: a b c d");
  CHECK(merged.reasons == "a: no_rule\nb: small_subgraph\nc: no_rule\nd: small_subgraph\n");
}

TEST_CASE("A small accelerator subgraph that is first becomes CPU") {
  CHECK(merge(kChain, "b", 2).subgraphs == "cpu: a b | acc: c d");
  CHECK(merge(kChain, "", 5).subgraphs == "cpu: a b c d");
}

TEST_CASE("A subgraph as large as the minimum is kept") {
  CHECK(merge(kChain, "b", 1).subgraphs == "acc: a | cpu: b | acc: c d");
  CHECK(merge(kChain, "a", 3).subgraphs == "cpu: a | acc: b c d");
}

TEST_CASE("A minimum of 0 keeps all subgraphs") {
  CHECK(merge(kChain, "b", 0).subgraphs == "acc: a | cpu: b | acc: c d");
}

TEST_CASE("A small subgraph right after an accelerator one joins that one") {
  const Graph graph = graph_from_text(kChain);
  Subgraphs subgraphs;
  subgraphs.subgraph_of = PerNode<PartId>(4);
  for (std::uint32_t i = 0; i < 4; ++i) subgraphs.subgraph_of[NodeId{i}] = PartId{i / 2 + i / 3};
  subgraphs.devices = {Device::acc, Device::acc, Device::cpu};
  subgraphs.sizes = {2, 1, 1};
  const MergedSubgraphs merged =
      merge_small_subgraphs(graph, subgraphs, PerNode<Reason>(4), {.min_acc_size = 2});
  CHECK(describe(graph, merged.subgraphs) == "acc: a b c | cpu: d");
  CHECK(describe(graph, merged.reasons).empty());
}

TEST_CASE("The reason of a small subgraph holds its size") {
  const Graph graph = graph_from_text(kChain);
  const Fusions fusions = fusions_of(graph, "c");
  const SplitOptions options{.min_acc_size = 3};
  const MergedSubgraphs merged = merge_small_subgraphs(
      graph, split_subgraphs(graph, fusions, options).subgraphs, fusions.acc.reasons, options);
  CHECK(merged.reasons[node_named(graph, "a")].size == 2);
  CHECK(merged.reasons[node_named(graph, "d")].size == 1);
}

TEST_CASE("Subgraphs agree with a plain second implementation, from either side") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, 18);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    const Graph& graph = random.graph;
    const AccNodes acc = find_acc_nodes(graph, random.support, {.allow_non_tensor = seed % 3 == 0});
    const Fusions fusions = find_fusions(graph, acc, {});
    const plain::Fusions plain_fusions{plain::groups_in(fusions),
                                       plain::nodes_in(graph, fusions.acc.nodes)};
    for (const StartSide start : {StartSide::reference, StartSide::cpu, StartSide::acc}) {
      const SplitOptions options{.start = start, .min_acc_size = seed % 5};
      const Subgraphs subgraphs = split_subgraphs(graph, fusions, options).subgraphs;
      const auto expected = plain::split_subgraphs(graph, plain_fusions, start);
      REQUIRE(plain::subgraphs_in(subgraphs) == expected);
      const MergedSubgraphs merged =
          merge_small_subgraphs(graph, subgraphs, fusions.acc.reasons, options);
      REQUIRE(plain::subgraphs_in(merged.subgraphs) ==
              plain::merge_small_subgraphs(expected, options.min_acc_size));
    }
  }
}

struct Moved {
  std::string before, after, reasons;
};

// Non-tensor data may cross; all nodes but the named ones are on the accelerator.
Moved moved(std::string_view text, std::string_view cpu) {
  const Graph graph = graph_from_text(text);
  Support support = support_all_but(graph, cpu);
  const Fusions fusions = find_fusions(
      graph, {std::move(support.supported), std::move(support.reasons)}, {.skip_fusion = true});
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
