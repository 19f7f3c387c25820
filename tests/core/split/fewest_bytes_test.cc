#include "core/split/fewest_bytes.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/split/partition.h"
#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"
#include "tests/core/split/plain_passes.h"

namespace cleave {
namespace {

struct Setting {
  Graph graph;
  Fusions fusions;
  Subgraphs subgraphs;
};

Setting set_up(Graph graph, Support support) {
  Fusions fusions =
      find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
  Subgraphs subgraphs = split_subgraphs(graph, fusions, {}).subgraphs;
  return {std::move(graph), std::move(fusions), std::move(subgraphs)};
}

Setting set_up(std::string_view text, std::string_view cpu) {
  Graph graph = graph_from_text(text);
  Support support = support_all_but(graph, cpu);
  return set_up(std::move(graph), std::move(support));
}

Subgraphs packed(const Setting& s, std::size_t min_acc_size = 1, const PartLimits& limits = {}) {
  return pack_for_fewest_bytes(s.graph, s.fusions, s.subgraphs, min_acc_size, limits).subgraphs;
}

std::string pack(std::string_view text, std::string_view cpu) {
  const Setting s = set_up(text, cpu);
  return describe(s.graph, packed(s));
}

// b could run in either; its result is four times as large as what it reads.
constexpr std::string_view kLate = R"(
    input x: float32[4]
    a: float32[4] = f(x)
    b: float32[16] = f(a)
    c: float32[4] = f(a)
    d: float32[16] = f(b, c)
    output d)";

TEST_CASE("A node whose result would leave the accelerator and come back moves to its reader") {
  CHECK(describe(set_up(kLate, "c").graph, set_up(kLate, "c").subgraphs) ==
        "acc: a b | cpu: c | acc: d");
  CHECK(pack(kLate, "c") == "acc: a | cpu: c | acc: b d");
}

TEST_CASE("A node stays where it makes fewer bytes of what it reads") {
  CHECK(pack(R"(
    input x: float32[4]
    a: float32[16] = f(x)
    b: float32[2] = f(a)
    c: float32[4] = f(x, a)
    d: float32[4] = f(b, c)
    output d)",
             "c") == "acc: a b | cpu: c | acc: d");
}

TEST_CASE("Where equally many bytes cross nothing moves") {
  CHECK(pack(R"(
    input x: float32[4]
    a: float32[4] = f(x)
    b: float32[2] = f(a)
    c: float32[4] = f(a)
    d: float32[4] = f(b, c)
    output d, b)",
             "c") == "acc: a b | cpu: c | acc: d");
}

TEST_CASE("A subgraph keeps its least size, and stays within limits") {
  const Setting s = set_up(kLate, "c");
  CHECK(describe(s.graph, packed(s, 2)) == "acc: a b | cpu: c | acc: d");
  PartLimits limits;
  limits.most[static_cast<std::size_t>(PartLimit::nodes)] = 2;
  CHECK(describe(s.graph, packed(s, 1, limits)) == "acc: a | cpu: c | acc: b d");
  limits.most[static_cast<std::size_t>(PartLimit::inputs)] = 1;
  CHECK(describe(s.graph, packed(s, 1, limits)) == "acc: a b | cpu: c | acc: d");
}

TEST_CASE("The setting packs a split, and is off unless asked for") {
  const Graph graph = graph_from_text(kLate);
  SupportList list;
  list.allow.emplace_back().op = "f";
  list.deny.emplace_back().node_name = "c";
  list.deny.back().op = "*";
  SplitOptions options;
  const auto nodes_of_first = [&] {
    const auto split = split_graph({graph, std::vector{list}, {}}, options);
    REQUIRE(split.has_value());
    return split->partition.nodes(PartId{0}).size();
  };
  CHECK(nodes_of_first() == 2);
  options.pack = PackBy::bytes;
  CHECK(nodes_of_first() == 1);
}

// Whether all is in order, and both subgraphs of the pair have nodes.
bool is_valid(const Setting& s, const Subgraphs& subgraphs) {
  return check_partition(s.graph, make_partition(subgraphs, {}), &s.fusions.acc.nodes).has_value();
}

// No other assignment of the pair's units lets fewer bytes cross. Returns false for a pair that was
// not compared: too large, or better when one subgraph has no node.
bool check_pair(const Setting& s, const Subgraphs& made, std::uint32_t early) {
  const Contraction units(s.graph, s.fusions);
  std::vector<std::uint32_t> pair;
  for (std::uint32_t unit = 0; unit < units.unit_count(); ++unit) {
    const std::uint32_t part = index(made.subgraph_of[units.first(unit)]);
    if (part == early || part == early + 2) pair.push_back(unit);
  }
  if (pair.size() > 9) return false;
  const auto bytes = plain::link_bytes(s.graph, plain::subgraphs_in(made));
  std::optional<std::uint64_t> least, least_with_empty;
  for (std::uint32_t choice = 0; choice < (1U << pair.size()); ++choice) {
    Subgraphs other = made;
    for (std::size_t i = 0; i < pair.size(); ++i) {
      const std::uint32_t part = early + ((choice >> i & 1U) != 0 ? 2 : 0);
      for (const NodeId node : units.nodes(pair[i])) {
        --other.sizes[index(other.subgraph_of[node])];
        other.subgraph_of[node] = id_at<PartId>(part);
        ++other.sizes[part];
      }
    }
    if (!is_valid(s, other)) continue;
    const std::uint64_t its = plain::link_bytes(s.graph, plain::subgraphs_in(other));
    auto& best = other.sizes[early] == 0 || other.sizes[early + 2] == 0 ? least_with_empty : least;
    best = std::min(best.value_or(its), its);
  }
  if (least_with_empty && *least_with_empty < bytes) return false;
  CHECK(*least == bytes);
  return true;
}

TEST_CASE("No other assignment of two neighbouring subgraphs lets fewer bytes cross") {
  std::size_t moved = 0, compared = 0;
  for (std::uint32_t seed = 0; seed < 1500; ++seed) {
    RandomGraph random = random_graph(seed, 14);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    const Setting s = set_up(std::move(random.graph), std::move(random.support));
    const PackedSubgraphs made = pack_for_fewest_bytes(s.graph, s.fusions, s.subgraphs, 1, {});
    const Subgraphs& subgraphs = made.subgraphs;
    moved += made.moved;
    REQUIRE(is_valid(s, subgraphs));
    REQUIRE(subgraphs.devices == s.subgraphs.devices);
    REQUIRE(std::count(subgraphs.sizes.begin(), subgraphs.sizes.end(), 0U) == 0);
    REQUIRE(plain::link_bytes(s.graph, plain::subgraphs_in(subgraphs)) <=
            plain::link_bytes(s.graph, plain::subgraphs_in(s.subgraphs)));
    for (std::uint32_t early = 0; early + 2 < subgraphs.count(); ++early) {
      if (subgraphs.devices[early] != Device::acc) continue;
      compared += check_pair(s, subgraphs, early) ? 1U : 0U;
    }
  }
  CHECK(moved > 20);
  CHECK(compared > 100);
}

}  // namespace
}  // namespace cleave
