#include "core/base/adjacency.h"

#include <algorithm>
#include <random>
#include <set>

#include "tests/catch2.h"

namespace cleave {
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
}  // namespace cleave
