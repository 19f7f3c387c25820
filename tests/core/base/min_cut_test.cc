#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "core/base/min_cut.h"
#include "tests/catch2.h"

namespace cleave {

// ---- adjacency test ----

namespace {

using Lists = std::vector<std::vector<std::uint32_t>>;

Adjacency adjacency(const Lists& lists) {
  Adjacency result;
  for (const auto& list : lists) {
    for (const std::uint32_t item : list) result.add(item);
    result.end_list();
  }
  return result;
}

Lists lists(const Adjacency& edges) {
  Lists result;
  for (std::uint32_t i = 0; i < edges.count(); ++i) {
    result.emplace_back(edges.of(i).begin(), edges.of(i).end());
  }
  return result;
}

Lists random_lists(std::mt19937& rng, std::size_t count) {
  Lists result(count);
  for (std::size_t edges = rng() % (2 * count); edges > 0; --edges) {
    result[rng() % count].push_back(static_cast<std::uint32_t>(rng() % count));
  }
  return result;
}

std::vector<std::set<std::uint32_t>> reach(const Lists& edges) {
  std::vector<std::set<std::uint32_t>> result(edges.size());
  for (std::uint32_t from = 0; from < edges.size(); ++from) {
    std::vector<std::uint32_t> open = {from};
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      open.pop_back();
      for (const std::uint32_t to : edges[at]) {
        if (result[from].insert(to).second) open.push_back(to);
      }
    }
  }
  return result;
}

TEST_CASE("Reversing turns every edge around, keeps repeats, and sorts each list") {
  CHECK(lists(reversed(adjacency({{2, 1, 2}, {2}, {0}}))) == Lists{{2}, {0}, {0, 0, 1}});
  CHECK(lists(reversed(adjacency({}))) == Lists{});
}

TEST_CASE("Members of groups are listed in ascending order, empty groups too") {
  const std::vector<std::uint32_t> group_of = {2, 0, 2};
  CHECK(lists(members_of(group_of, 4)) == Lists{{1}, {}, {0, 2}, {}});
}

TEST_CASE("Components are numbered in reverse topological order") {
  const Components found = strongly_connected_components(adjacency({{1}, {2}, {1, 3}, {}}));
  CHECK(found.count == 3);
  CHECK(found.of == std::vector<std::uint32_t>{2, 1, 1, 0});
}

TEST_CASE("Two items are in one component when each reaches the other") {
  std::mt19937 rng(7);
  for (int round = 0; round < 200; ++round) {
    const Lists edges = random_lists(rng, 1 + rng() % 12);
    const Components found = strongly_connected_components(adjacency(edges));
    const auto reached = reach(edges);
    for (std::uint32_t a = 0; a < edges.size(); ++a) {
      for (std::uint32_t b = 0; b < edges.size(); ++b) {
        const bool together = a == b || (reached[a].contains(b) && reached[b].contains(a));
        REQUIRE((found.of[a] == found.of[b]) == together);
        if (reached[a].contains(b)) REQUIRE(found.of[a] >= found.of[b]);
      }
    }
  }
}

TEST_CASE("Components of a chain a million long are found without recursion") {
  Adjacency chain;
  constexpr std::uint32_t kLength = 1'000'000;
  for (std::uint32_t i = 0; i < kLength; ++i) {
    if (i + 1 < kLength) chain.add(i + 1);
    chain.end_list();
  }
  CHECK(strongly_connected_components(chain).count == kLength);
}

TEST_CASE("The first ready node in the source goes first") {
  CHECK(topological_order(adjacency({{3}, {}, {0}, {}})).order ==
        std::vector<std::uint32_t>{1, 3, 0, 2});
}

TEST_CASE("A cycle is listed from maker to reader, without nodes that only depend on it") {
  const TopologicalOrder found = topological_order(adjacency({{1, 4}, {2}, {3, 4}, {1}, {}}));
  CHECK(found.order == std::vector<std::uint32_t>{4});
  CHECK(found.cycle == std::vector<std::uint32_t>{1, 3, 2});
}

TEST_CASE("A node that waits for itself is a cycle") {
  CHECK(topological_order(adjacency({{0}})).cycle == std::vector<std::uint32_t>{0});
}

TEST_CASE("An order is found unless there is a cycle, and it is the stable one") {
  std::mt19937 rng(11);
  for (int round = 0; round < 300; ++round) {
    const Lists waits_for = random_lists(rng, 1 + rng() % 9);
    const TopologicalOrder found = topological_order(adjacency(waits_for));
    std::vector<std::uint32_t> expected;
    for (bool grew = true; grew;) {
      grew = false;
      for (std::uint32_t n = 0; n < waits_for.size() && !grew; ++n) {
        const auto is_done = [&](std::uint32_t other) {
          return std::find(expected.begin(), expected.end(), other) != expected.end();
        };
        if (is_done(n) || !std::all_of(waits_for[n].begin(), waits_for[n].end(), is_done)) continue;
        expected.push_back(n);
        grew = true;
      }
    }
    REQUIRE(found.order == expected);
    REQUIRE(found.cycle.empty() == (expected.size() == waits_for.size()));
    for (std::size_t i = 0; i < found.cycle.size(); ++i) {
      const auto& makers = waits_for[found.cycle[(i + 1) % found.cycle.size()]];
      REQUIRE(std::count(makers.begin(), makers.end(), found.cycle[i]) != 0);
    }
  }
}

}  // namespace

// ---- min cut test ----

namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kSource = 0;
constexpr std::uint32_t kSink = 1;

TEST_CASE("the flow is the least cut between source and sink") {
  FlowNetwork network;
  network.clear();
  const std::uint32_t a = network.add_node();
  const std::uint32_t b = network.add_node();
  network.add_arc(kSource, a, 3);
  network.add_arc(kSource, b, 2);
  network.add_arc(a, b, 5);
  network.add_arc(a, kSink, 1);
  network.add_arc(b, kSink, 3.5);
  CHECK(network.augment(kNoLimit) == Approx(4.5));
}

TEST_CASE("a flow takes a step back where an earlier way was wrong") {
  FlowNetwork network;
  network.clear();
  const std::uint32_t a = network.add_node();
  const std::uint32_t b = network.add_node();
  const std::uint32_t c = network.add_node();
  const std::uint32_t d = network.add_node();
  network.add_arc(kSource, a, 1);
  network.add_arc(kSource, b, 1);
  network.add_arc(a, d, 1);
  network.add_arc(a, c, 1);
  network.add_arc(b, d, 1);
  network.add_arc(c, kSink, 1);
  network.add_arc(d, kSink, 1);
  CHECK(network.augment(kNoLimit) == Approx(2));
}

TEST_CASE("the flow of random networks is the least of all cuts, however arcs were added") {
  constexpr std::uint32_t kNodes = 7;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 engine(seed);
    const auto below = [&](std::uint32_t limit) {
      return static_cast<std::uint32_t>(engine() % limit);
    };
    double capacity[kNodes][kNodes] = {};
    FlowNetwork network;
    network.clear();
    while (network.add_node() + 1 < kNodes) continue;
    for (int i = 0; i < 16; ++i) {
      const std::uint32_t from = below(kNodes), to = below(kNodes);
      if (from == to) continue;
      const double there = below(6), back = below(3);
      network.add_arc(from, to, there, back);
      capacity[from][to] += there;
      capacity[to][from] += back;
      if (i % 5 == 4) network.augment(kNoLimit);
    }
    double least = kNoLimit;
    for (std::uint32_t side = 0; side < 1U << kNodes; ++side) {
      if ((side >> kSource & 1U) == 0 || (side >> kSink & 1U) != 0) continue;
      double cut = 0;
      for (std::uint32_t from = 0; from < kNodes; ++from) {
        for (std::uint32_t to = 0; to < kNodes; ++to) {
          if ((side >> from & 1U) != 0 && (side >> to & 1U) == 0) cut += capacity[from][to];
        }
      }
      least = std::min(least, cut);
    }
    INFO("seed " << seed);
    CHECK(network.augment(kNoLimit) == Approx(least).margin(1e-9));
  }
}

TEST_CASE("arcs added later raise the flow from where it was") {
  FlowNetwork network;
  network.clear();
  const std::uint32_t a = network.add_node();
  network.add_arc(kSource, a, 4);
  network.add_arc(a, kSink, 1);
  CHECK(network.augment(kNoLimit) == Approx(1));
  network.add_arc(a, kSink, 2);
  CHECK(network.augment(kNoLimit) == Approx(3));
}

TEST_CASE("a flow stops at its limit, and is 0 when the sink cannot be reached") {
  FlowNetwork network;
  network.clear();
  CHECK(network.augment(kNoLimit) == 0);
  network.add_arc(kSource, kSink, 10);
  CHECK(network.augment(4) == Approx(4));
  network.clear();
  CHECK(network.flow() == 0);
}

TEST_CASE("arcs of unlimited capacity do not limit the flow") {
  FlowNetwork network;
  network.clear();
  const std::uint32_t a = network.add_node();
  const std::uint32_t b = network.add_node();
  network.add_arc(kSource, a, kNoLimit);
  network.add_arc(a, b, 7, 7);
  network.add_arc(b, kSink, kNoLimit);
  CHECK(network.augment(kNoLimit) == Approx(7));
}

struct Arc {
  std::uint32_t from, to;
  double capacity, back;
};

struct Network {
  std::vector<double> source, sink;
  std::vector<Arc> arcs;

  std::vector<bool> solve() const {
    MinCut cut;
    for (std::size_t i = 0; i < source.size(); ++i) {
      const std::uint32_t node = cut.add_node();
      cut.add_source_arc(node, source[i]);
      cut.add_sink_arc(node, sink[i]);
    }
    for (const Arc& arc : arcs) cut.add_arc(arc.from, arc.to, arc.capacity, arc.back);
    return std::move(cut).solve();
  }

  double cost(const std::vector<bool>& side) const {
    double sum = 0;
    for (std::size_t i = 0; i < side.size(); ++i) sum += side[i] ? sink[i] : source[i];
    for (const Arc& arc : arcs) {
      const auto charge = [](double capacity) { return capacity == kUncut ? 1e9 : capacity; };
      if (side[arc.from] && !side[arc.to]) sum += charge(arc.capacity);
      if (!side[arc.from] && side[arc.to]) sum += charge(arc.back);
    }
    return sum;
  }

  // By trying all cuts.
  double least() const {
    double best = 1e18;
    std::vector<bool> side(source.size());
    for (std::uint32_t choice = 0; choice < 1U << side.size(); ++choice) {
      for (std::size_t i = 0; i < side.size(); ++i) side[i] = (choice >> i & 1U) != 0;
      best = std::min(best, cost(side));
    }
    return best;
  }
};

Network random_network(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t bound) {
    return static_cast<std::uint32_t>(random() % bound);
  };
  const auto amount = [&] { return below(1000) / 7.0; };
  Network network;
  const std::uint32_t count = 1 + below(10);
  for (std::uint32_t i = 0; i < count; ++i) {
    network.source.push_back(below(2) == 0 ? amount() : 0);
    network.sink.push_back(below(2) == 0 ? amount() : 0);
  }
  for (std::uint32_t i = 0; i < 2 * count && count > 1; ++i) {
    const std::uint32_t from = below(count);
    const std::uint32_t to = (from + 1 + below(count - 1)) % count;
    const double back = below(2) == 0 ? amount() : 0;
    network.arcs.push_back({from, to, below(8) == 0 ? kUncut : amount(), back});
  }
  return network;
}

TEST_CASE("A cut is the least of all cuts") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Network network = random_network(seed);
    INFO("seed " << seed);
    CHECK(network.cost(network.solve()) == Approx(network.least()).epsilon(1e-12));
  }
}

TEST_CASE("Of several minimum cuts the one with the largest source side is found") {
  const Network network{{5, 0, 0}, {0, 0, 5}, {{0, 1, 5, 0}, {1, 2, 5, 0}}};
  CHECK(network.solve() == std::vector<bool>{true, true, true});
}

TEST_CASE("A chain of a hundred thousand nodes that all push to its end is cut in linear time") {
  constexpr std::uint32_t kCount = 100'000;
  Network network;
  network.source.assign(kCount, 1);
  network.sink.assign(kCount, 0);
  network.sink.back() = 0.5 * kCount;
  for (std::uint32_t i = 0; i + 1 < kCount; ++i) network.arcs.push_back({i, i + 1, 1e6, 1e6});
  const std::vector<bool> side = network.solve();
  CHECK(std::count(side.begin(), side.end(), true) == kCount);
}

TEST_CASE("An empty network has an empty cut") { CHECK(MinCut().solve().empty()); }

}  // namespace

}  // namespace cleave
