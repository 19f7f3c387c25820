#include "core/split/boundary.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"
#include "tests/core/split/plain_passes.h"

namespace cleave {
namespace {

// The named nodes are on the CPU; there are no fusion groups.
std::string boundaries(std::string_view text, std::string_view cpu) {
  const Graph graph = graph_from_text(text);
  Support support = support_all_but(graph, cpu);
  const Fusions fusions = find_fusions(
      graph, {std::move(support.supported), std::move(support.reasons)}, {.skip_fusion = true});
  const Partition partition = make_partition(split_subgraphs(graph, fusions, {}).subgraphs,
                                             {.acc_prefix = "acc", .non_acc_prefix = "cpu"});
  return describe(graph, partition, find_boundaries(graph, partition));
}

TEST_CASE("A part's inputs are what it reads from outside; its outputs are what others read") {
  CHECK(boundaries(R"(
    input x
    a = f(x)
    b = f(a)
    c = f(b)
    output c)",
                   "b") == "acc0(x) -> a\ncpu1(a) -> b\nacc2(b) -> c\n");
}

TEST_CASE("Inputs are in order of first use: positional, then keyword, then captured") {
  CHECK(boundaries(R"(
    input p
    input q
    input r
    input s
    input t
    a = f(k=s, j=r, [q, p], ^t)
    b = f(t, p)
    output b)",
                   "") == "acc0(s r q p t) -> b\n");
}

TEST_CASE("Keyword inputs keep the order of the file, not that of names") {
  CHECK(boundaries("input x\n input y\n a = f(z=y, b=x)\n output a", "") == "acc0(y x) -> a\n");
}

TEST_CASE("A value is an input once, and an output once") {
  CHECK(boundaries(R"(
    input x
    a = f(x, x)
    b = f(a, [a], k=a)
    c = f(a)
    output b, c, a, a)",
                   "b c") == "acc0(x) -> a\ncpu1(a) -> b c\n");
}

TEST_CASE("Outputs are in the order in which the model first reads them across parts") {
  CHECK(boundaries(R"(
    input x
    a = f(x)
    b = f(x)
    c = f(b)
    d = f(a)
    output d, c)",
                   "c d") == "acc0(x) -> b a\ncpu1(b a) -> d c\n");
}

TEST_CASE("The graph's outputs come last among a part's outputs") {
  CHECK(boundaries(R"(
    input x
    a = f(x)
    b = f(x)
    c = f(b)
    output a, b, c)",
                   "c") == "acc0(x) -> b a\ncpu1(b) -> c\n");
}

TEST_CASE("A value used two parts later goes straight there") {
  CHECK(boundaries(R"(
    input x
    a = f(x)
    b = f(a)
    c = f(b, a)
    output c)",
                   "b") == "acc0(x) -> a\ncpu1(a) -> b\nacc2(b a) -> c\n");
}

TEST_CASE("Parameters are copied into each part that reads them, and are no inputs") {
  CHECK(boundaries(R"(
    input x
    param w
    param v
    a = f(x, w)
    b = f(a, w) !v
    output b)",
                   "b") == "acc0(x; w) -> a\ncpu1(a; w v) -> b\n");
}

TEST_CASE("Constants go into each part that reads them, makers first, with their parameters") {
  CHECK(boundaries(R"(
    input x
    param w
    const c = Cast(w)
    const d = Neg(c, w)
    a = f(x, d)
    b = f(a, c)
    output b)",
                   "b") == "acc0(x; w c d) -> a\ncpu1(a; w c) -> b\n");
}

TEST_CASE("A graph input that is a graph output passes through the root only") {
  CHECK(boundaries("input x\n a = f(x)\n output x, a", "") == "acc0(x) -> a\n");
}

TEST_CASE("A parameter that is a graph output passes through the root only") {
  CHECK(boundaries("input x\n param w\n const c = f(w)\n a = f(x, w)\n output w, c, a", "") ==
        "acc0(x; w) -> a\n");
}

TEST_CASE("A part may have no inputs") {
  CHECK(boundaries("input x\n z = zeros()\n a = f(x, z)\n output a", "z") ==
        "cpu0() -> z\nacc1(x z) -> a\n");
}

TEST_CASE("A part may have no outputs") {
  CHECK(boundaries("input x\n a = f(x)\n b = f(a)\n output a", "b") ==
        "acc0(x) -> a\ncpu1(a) ->\n");
}

TEST_CASE("Only the outputs of a node that are read elsewhere cross") {
  CHECK(boundaries("input x\n a, b, c = f(x)\n d = f(c)\n output d, a", "d") ==
        "acc0(x) -> c a\ncpu1(c) -> d\n");
}

TEST_CASE("An empty graph has no boundaries") {
  CHECK(boundaries("input x\n output x", "").empty());
}

TEST_CASE("A chain of constants 20000 long is followed without recursion") {
  std::string text = "param w\ninput x\nconst c0 = f(w)\n";
  for (int i = 1; i < 20000; ++i) {
    text += "const c" + std::to_string(i) + " = f(c" + std::to_string(i - 1) + ")\n";
  }
  text += "a = f(x, c19999)\noutput a";
  const Graph graph = graph_from_text(text);
  const Partition partition = make_partition(PerNode<PartId>(1), {"p"}, {Device::acc});
  const Boundaries found = find_boundaries(graph, partition);
  CHECK(found.constant_copies == 20000);
  CHECK(graph.node(needed_constants(graph, found, PartId{0}).front()).name == "c0");
  CHECK(NeededConstants(graph, found).of(PartId{0}).size() == 20000);
}

TEST_CASE("Boundaries agree with a plain second implementation") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, 25);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    const Graph& graph = random.graph;
    const Fusions fusions = find_fusions(graph, {random.support.supported, random.support.reasons},
                                         {.skip_fusion = true});
    const Subgraphs subgraphs = split_subgraphs(graph, fusions, {}).subgraphs;
    const Partition partition = make_partition(subgraphs, {});
    const Boundaries found = find_boundaries(graph, partition);
    const auto expected = plain::find_boundaries(graph, plain::subgraphs_in(subgraphs));
    NeededConstants needed(graph, found);
    for (const PartId part : partition.parts()) {
      const plain::Boundary& plain_part = expected[index(part)];
      REQUIRE(names_of(graph, found.inputs[part]) == names_of(graph, plain_part.inputs));
      REQUIRE(names_of(graph, found.outputs[part]) == names_of(graph, plain_part.outputs));
      REQUIRE(names_of(graph, found.parameters[part]) == names_of(graph, plain_part.parameters));
      const auto constants = needed.of(part);
      REQUIRE(std::vector(constants.begin(), constants.end()) ==
              needed_constants(graph, found, part));
    }
  }
}

// Parts by digit, one a node; parameters that nodes name are passed.
std::string passed(std::string_view text, std::string_view parts) {
  const Graph graph = graph_from_text(text);
  PerNode<PartId> part_of(graph.node_count(), kNone<PartId>);
  std::vector<std::string> names;
  for (const NodeId node : graph.nodes()) {
    if (parts[index(node)] == '-') continue;
    part_of[node] = id_at<PartId>(static_cast<std::size_t>(parts[index(node)] - '0'));
    while (names.size() <= index(part_of[node]))
      names.push_back("p" + std::to_string(names.size()));
  }
  std::vector<Device> devices(names.size(), Device::cpu);
  const Partition partition =
      make_partition(std::move(part_of), std::move(names), std::move(devices));
  return describe(graph, partition, find_boundaries(graph, partition, {.pass_parameters = true}));
}

TEST_CASE("Parameters that are passed are inputs of each part that names them") {
  CHECK(passed(R"(
    input x
    param w
    a = f(x, w)
    b = f(a, k=w)
    output b)",
               "01") == "p0(x w) -> a\np1(a w) -> b\n");
}

TEST_CASE("Parameters of modules are never passed, nor those that only constants read") {
  CHECK(passed(R"(
    input x
    param w
    param v
    const c = Cast(v)
    a = linear(x) !w
    b = f(a, w, c)
    l = linear(b, w) !w
    output l)",
               "012") == "p0(x; w) -> a\np1(a w; v c) -> b\np2(b; w) -> l\n");
}

TEST_CASE("A node in no part makes no inputs or outputs") {
  CHECK(passed("input x\n a = f(x)\n m = marker(a)\n b = f(a)\n output b", "0-1") ==
        "p0(x) -> a\np1(a) -> b\n");
}

TEST_CASE("A part depends on those whose outputs it takes in, each once") {
  const Graph graph =
      graph_from_text("input x\n a = f(x)\n b = f(a)\n c = f(a, b)\n d = f(c, x)\n output d");
  PerNode<PartId> part_of(4);
  for (const NodeId node : graph.nodes()) part_of[node] = PartId{index(node)};
  const Partition partition =
      make_partition(std::move(part_of), {"0", "1", "2", "3"}, std::vector<Device>(4, Device::cpu));
  const auto depends_on = find_dependencies(graph, find_boundaries(graph, partition));
  CHECK(depends_on.begin == std::vector<std::uint32_t>{0, 0, 1, 3, 4});
  CHECK(depends_on.items == std::vector<PartId>{PartId{0}, PartId{0}, PartId{1}, PartId{2}});
}

}  // namespace
}  // namespace cleave
