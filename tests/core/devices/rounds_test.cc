#include "core/devices/devices.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "tests/catch2.h"
#include "tests/core/devices/random_devices.h"

namespace cleave {

namespace {

using Counts = std::pair<std::size_t, std::size_t>;  // parts on targets, all parts

struct Case {
  Adjacency readers;
  Devices device_of;
  std::size_t device_count = 3;

  Rounds rounds(const RoundsEffort& effort = {}) const {
    const RoundsGraph graph(readers);
    return find_rounds({graph, device_of, device_count}, effort);
  }
};

Case random_case(std::uint32_t seed, std::size_t device_count, std::size_t units) {
  std::mt19937 random(seed);
  Case made{random_readers(random, units), {}, device_count};
  for (std::size_t i = 0; i < units; ++i) {
    made.device_of.push_back(static_cast<DeviceIndex>(random() % device_count));
  }
  return made;
}

Case random_case(std::uint32_t seed) { return random_case(seed, 3 + seed % 2, 8 + seed % 15); }

Counts counts_of(const Rounds& rounds) { return {rounds.acc_parts, rounds.count()}; }

// The set of units after a round of this device; a unit is a bit.
std::uint32_t after_round(const Case& graph, std::uint32_t taken, DeviceIndex device) {
  const Adjacency makers = reversed(graph.readers);
  for (std::uint32_t unit = 0; unit < graph.device_of.size(); ++unit) {
    const auto reads = makers.of(unit);
    const bool is_ready = std::all_of(reads.begin(), reads.end(),
                                      [&](std::uint32_t maker) { return taken >> maker & 1U; });
    if (graph.device_of[unit] == device && is_ready) taken |= 1U << unit;
  }
  return taken;  // makers come before their readers
}

// The fewest parts of all orders of rounds: Dijkstra's algorithm over the sets that can be taken.
Counts fewest(const Case& graph) {
  const std::uint32_t all = (1U << graph.device_of.size()) - 1;
  std::map<std::uint32_t, Counts> known = {{0, {0, 0}}};
  std::set<std::pair<Counts, std::uint32_t>> open = {{{0, 0}, 0}};
  while (true) {
    const auto [counts, taken] = *open.begin();
    if (taken == all) return counts;
    open.erase(open.begin());
    for (DeviceIndex device = 0; device < graph.device_count; ++device) {
      const std::uint32_t next = after_round(graph, taken, device);
      if (next == taken) continue;
      const std::size_t is_acc = device + 1U < graph.device_count ? 1 : 0;
      const Counts sum = {counts.first + is_acc, counts.second + 1};
      const auto [found, is_new] = known.try_emplace(next, sum);
      if (!is_new && found->second <= sum) continue;
      found->second = sum;
      open.emplace(sum, next);
    }
  }
}

// Every unit is in one part of its device, after all that it reads from.
void check_order(const Case& graph, const Rounds& rounds) {
  CHECK(rounds.units.count() == rounds.count());
  CHECK(rounds.units.items.size() == graph.device_of.size());
  for (std::uint32_t unit = 0; unit < graph.device_of.size(); ++unit) {
    const std::uint32_t part = rounds.part_of[unit];
    CHECK(rounds.devices[part] == graph.device_of[unit]);
    for (const std::uint32_t reader : graph.readers.of(unit)) {
      CHECK(part <= rounds.part_of[reader]);
    }
  }
  for (std::size_t i = 1; i < rounds.count(); ++i) {
    CHECK(rounds.devices[i] != rounds.devices[i - 1]);
  }
}

TEST_CASE("Rounds are the fewest parts possible in 400 random graphs on three and four devices") {
  int exact = 0;
  int by_rule = 0;
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const Case graph = random_case(seed);
    const Rounds rounds = graph.rounds();
    INFO("seed " << seed);
    check_order(graph, rounds);
    const Counts least = fewest(graph);
    CHECK(rounds.least_acc_parts <= least.first);
    CHECK(rounds.least_parts <= least.second);
    CHECK(counts_of(rounds) >= least);
    if (rounds.is_fewest) CHECK(counts_of(rounds) == least);
    exact += counts_of(rounds) == least ? 1 : 0;
    // A search that runs out of steps goes on by the rule.
    const Rounds short_of_steps = graph.rounds({.steps_an_entry = 2});
    check_order(graph, short_of_steps);
    CHECK(counts_of(short_of_steps) <= counts_of(graph.rounds({.states = 0})));
    if (short_of_steps.is_fewest) CHECK(counts_of(short_of_steps) == least);
    by_rule += counts_of(graph.rounds({.states = 0})) == least ? 1 : 0;
  }
  CHECK(exact == 400);
  CHECK(by_rule > 250);
}

TEST_CASE("Rounds of two devices alternate, and start where fewer parts on the target follow") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Case graph = random_case(seed, 2, 16);
    const Rounds rounds = graph.rounds();
    INFO("seed " << seed);
    check_order(graph, rounds);
    std::vector<Counts> both;
    for (const DeviceIndex start : {DeviceIndex{0}, DeviceIndex{1}}) {
      Counts counts = {0, 0};
      DeviceIndex device = start;
      for (std::uint32_t taken = 0; taken != 0xFFFF; device ^= 1U) {
        const std::uint32_t next = after_round(graph, taken, device);
        if (next == taken) continue;  // only at the start
        counts.first += device == 0 ? 1 : 0;
        ++counts.second;
        taken = next;
      }
      both.push_back(counts);
    }
    CHECK(counts_of(rounds) == std::min(both[0], both[1]));
    CHECK(rounds.is_fewest);
  }
}

TEST_CASE("Of rounds with equal chains the earlier target comes first") {
  Case graph;
  graph.device_of = {1, 0, 2};
  for (int i = 0; i < 3; ++i) graph.readers.end_list();
  const Rounds rounds = graph.rounds();
  CHECK(rounds.devices == Devices{0, 1, 2});
  CHECK(rounds.part_of == std::vector<std::uint32_t>{1, 0, 2});
  CHECK(rounds.least_acc_parts == 2);  // each of the targets has one
}

TEST_CASE("The bound on parts counts devices that are on no common path") {
  Case
      graph;  // 0 > 1 > 2 and 3 > 4 on two targets and the host: a target has two parts, the other one
  graph.device_of = {0, 2, 0, 1, 2};
  const std::vector<std::vector<std::uint32_t>> readers = {{1}, {2}, {}, {4}, {}};
  for (const auto& of_unit : readers) {
    for (const std::uint32_t reader : of_unit) graph.readers.add(reader);
    graph.readers.end_list();
  }
  const Rounds rounds = graph.rounds();
  CHECK(rounds.acc_parts == 3);
  CHECK(rounds.least_acc_parts == 3);
  CHECK(rounds.is_fewest);
}

TEST_CASE("A graph without units has no rounds") {
  const Case graph;
  CHECK(graph.rounds().count() == 0);
}

TEST_CASE("Rounds of many units are found in a bounded number of steps") {
  constexpr std::uint32_t kUnits = 20'000;
  std::mt19937 random(1);
  Case graph{{}, {}, 4};
  for (std::uint32_t unit = 0; unit < kUnits; ++unit) {
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t reader = unit + 1 + static_cast<std::uint32_t>(random() % 50);
      if (reader < kUnits) graph.readers.add(reader);
    }
    graph.readers.end_list();
    graph.device_of.push_back(static_cast<DeviceIndex>(random() % 20 == 0 ? random() % 4 : 0));
  }
  const Rounds searched = graph.rounds();
  const Rounds ruled = graph.rounds({.states = 0});
  CHECK(counts_of(searched) <= counts_of(ruled));
  const std::size_t size = kUnits + graph.readers.items.size();
  CHECK(ruled.steps <= (4 + graph.device_count) * size);
  CHECK(searched.steps <= 200 * size);
  CHECK(ruled.acc_parts >= ruled.least_acc_parts);
}

}  // namespace

}  // namespace cleave
