#include "core/split/limit_parts.h"

#include <set>

#include "core/cost/activation_peak.h"
#include "core/cost/cost.h"
#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {
namespace {

struct Limited {
  std::string subgraphs;
  std::string reasons;
  LimitCuts cuts;
};

SupportList list_with(PartLimits limits) {
  SupportList list;
  list.limits = limits;
  return list;
}

PartLimits at_most(PartLimit limit, std::uint64_t most) {
  PartLimits limits;
  limits.most[static_cast<std::size_t>(limit)] = most;
  return limits;
}

// What becomes of the subgraphs of a graph in which all but some nodes run on the accelerator.
LimitedSubgraphs limited(const Graph& graph, Support support, const PartLimits& limits) {
  const Fusions fusions =
      find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
  MergedSubgraphs merged{split_subgraphs(graph, fusions, {}).subgraphs, fusions.acc.reasons};
  const std::vector<SupportList> lists = {list_with(limits)};
  return limit_parts(graph, fusions, limits_of_lists(lists), std::move(merged));
}

Limited limit(const std::string& text, std::string_view cpu, const PartLimits& limits) {
  const Graph graph = graph_from_text(text);
  const LimitedSubgraphs out = limited(graph, support_all_but(graph, cpu), limits);
  return {describe(graph, out.merged.subgraphs), describe(graph, out.merged.reasons), out.cuts};
}

// Between b and c a small tensor crosses, elsewhere large ones.
constexpr const char* kChain = R"(
  input x: float32[64,64]
  param w: float32[64,64]
  a: float32[64,64] = MatMul(x, w)
  b: float32[4,4] = f(a)
  c: float32[64,64] = f(b)
  d: float32[64,64] = MatMul(c, w)
  e: float32[64,64] = cpu(d)
  output e)";

TEST_CASE("A subgraph within the limits stays as it is") {
  const Limited same = limit(kChain, "e", at_most(PartLimit::nodes, 4));
  CHECK(same.subgraphs == "acc: a b c d | cpu: e");
  CHECK(same.cuts.subgraphs == 0);
}

TEST_CASE("A subgraph with too many nodes is cut where the fewest bytes cross") {
  const Limited cut = limit(kChain, "e", at_most(PartLimit::nodes, 3));
  CHECK(cut.subgraphs == "acc: a b | acc: c d | cpu: e");
  CHECK(cut.cuts.subgraphs == 1);
  CHECK(cut.cuts.pieces == 2);
  CHECK(cut.cuts.nodes == 0);
}

TEST_CASE("A subgraph that holds too much at once is cut where its peak falls") {
  CHECK(limit(kChain, "e", at_most(PartLimit::activation_bytes, 49216)).cuts.subgraphs == 0);
  const Limited cut = limit(kChain, "e", at_most(PartLimit::activation_bytes, 49215));
  CHECK(cut.subgraphs == "acc: a b | acc: c d | cpu: e");
  CHECK(cut.cuts.nodes == 0);
  CHECK(limit(kChain, "e", at_most(PartLimit::activation_bytes, 32831)).subgraphs ==
        "acc: a | acc: b | acc: c | acc: d | cpu: e");
}

TEST_CASE("A node that holds more than a partition may goes to the CPU") {
  const Limited cut = limit(kChain, "e", at_most(PartLimit::activation_bytes, 32767));
  CHECK(cut.subgraphs == "cpu: a | acc: b | acc: c | cpu: d e");
  CHECK(cut.reasons == "a: part_limit\nd: part_limit\ne: no_rule\n");
}

TEST_CASE("A parameter counts once in a piece") {
  CHECK(limit(kChain, "e", at_most(PartLimit::parameter_bytes, 16384)).subgraphs ==
        "acc: a b c d | cpu: e");
}

TEST_CASE("A node with more parameters than a partition may have goes to the CPU") {
  const Limited cut = limit(kChain, "e", at_most(PartLimit::parameter_bytes, 16383));
  CHECK(cut.subgraphs == "cpu: a | acc: b c | cpu: d e");
  CHECK(cut.reasons == "a: part_limit\nd: part_limit\ne: no_rule\n");
  CHECK(cut.cuts.nodes == 2);
}

constexpr const char* kWide = R"(
  input x
  input y
  input z
  a = f(x, y)
  b = f(a, z)
  p = f(b)
  q = f(b)
  r = f(p, q)
  output r)";

TEST_CASE("Inputs and outputs of a partition are limited") {
  CHECK(limit(kWide, "", at_most(PartLimit::inputs, 3)).cuts.subgraphs == 0);
  CHECK(limit(kWide, "", at_most(PartLimit::inputs, 2)).subgraphs == "acc: a | acc: b p q r");
  const Limited none = limit(kWide, "", at_most(PartLimit::inputs, 1));
  CHECK(none.subgraphs == "cpu: a b | acc: p q r");
  PartLimits limits = at_most(PartLimit::outputs, 1);
  limits.most[static_cast<std::size_t>(PartLimit::nodes)] = 4;
  CHECK(limit(kWide, "", limits).subgraphs == "acc: a b | acc: p q r");
}

TEST_CASE("A fusion group beyond a limit goes to the CPU as a whole") {
  const Limited cut = limit(R"(
    input x
    n = f(x)
    s: scalar = size(n)
    v = view(n, s)
    output v)",
                            "", at_most(PartLimit::nodes, 1));
  CHECK(cut.subgraphs == "acc: n | cpu: s v");
  CHECK(cut.reasons == "s: part_limit\nv: part_limit\n");
}

TEST_CASE("Of several lists the least limit holds") {
  const std::vector<SupportList> lists = {list_with(at_most(PartLimit::nodes, 5)),
                                          list_with(at_most(PartLimit::nodes, 3)),
                                          list_with(at_most(PartLimit::inputs, 2))};
  const LimitsOfLists least = limits_of_lists(lists);
  CHECK(least.limits[PartLimit::nodes] == 3U);
  CHECK(least.list[static_cast<std::size_t>(PartLimit::nodes)] == 1);
  CHECK(least.list[static_cast<std::size_t>(PartLimit::inputs)] == 2);
  CHECK_FALSE(least.limits[PartLimit::outputs]);
}

// Bytes of different parameters and constants among the part's operands.
std::uint64_t parameter_bytes(const Graph& graph, std::span<const NodeId> nodes) {
  std::set<ValueId> seen;
  std::uint64_t bytes = 0;
  for (const NodeId node : nodes) {
    for (const Operand& operand : graph.operands(node)) {
      if (!graph.is_parameter(operand.value) || !seen.insert(operand.value).second) continue;
      bytes += value_bytes(graph, operand.value).value_or(0);
    }
  }
  return bytes;
}

TEST_CASE("Pieces of random graphs are in order and within the limits") {
  std::size_t cut = 0, cut_by_peak = 0;
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    const RandomGraph random = random_graph(seed, 40);
    INFO(seed << '\n' << random.text);
    const Graph& graph = random.graph;
    PartLimits limits;
    limits.most = {seed % 7 + 1, std::nullopt, std::nullopt, std::nullopt};
    if (seed % 3 == 1) limits.most[1] = 64;
    if (seed % 5 == 1) limits.most[2] = seed % 4;
    if (seed % 4 == 1) limits.most[3] = seed % 3;
    if (seed % 6 == 1) limits.most[4] = seed % 11 * 32;
    const LimitedSubgraphs out = limited(graph, random.support, limits);
    cut += out.cuts.subgraphs;
    const Partition partition = make_partition(out.merged.subgraphs, {});
    REQUIRE(check_partition(graph, partition, nullptr).has_value());
    const Boundaries boundaries = find_boundaries(graph, partition);
    for (const PartId part : partition.parts()) {
      if (!partition.is_acc(part)) continue;
      CHECK(partition.nodes(part).size() <= limits.most[0]);
      CHECK(parameter_bytes(graph, partition.nodes(part)) <= limits.most[1].value_or(1U << 30U));
      CHECK(boundaries.inputs[part].size() <= limits.most[2].value_or(1000));
      CHECK(boundaries.outputs[part].size() <= limits.most[3].value_or(1000));
      const std::uint64_t peak = activation_peak(graph, partition.nodes(part));
      CHECK(peak <= limits.most[4].value_or(1U << 30U));
      cut_by_peak += limits.most[4] && peak > 0 ? 1U : 0U;
    }
  }
  CHECK(cut > 500);
  CHECK(cut_by_peak > 100);
}

TEST_CASE("A split keeps the limits of its lists, and is not extended beyond them") {
  const Graph graph = graph_from_text(kChain);
  SupportList list = list_with(at_most(PartLimit::nodes, 2));
  list.allow.emplace_back().op = "*";
  list.deny.emplace_back().op = "cpu";
  SplitOptions options;
  options.extend.which = ExtendOptions::Which::all;
  const auto split = split_graph({graph, std::vector{list}, {}}, options);
  REQUIRE(split);
  CHECK(split->extended.empty());
  CHECK(split->partition.count() == 3);
  CHECK(split->limit_cuts.pieces == 2);
}

}  // namespace
}  // namespace cleave
