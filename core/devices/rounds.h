// Rounds: a graph whose units are placed on several devices, as the fewest parts that run one after
// the other.
//
//   a (npu) -> b (gpu) -> c (cpu)     npu {a}, gpu {b d}, cpu {c}, npu {e}: four parts
//   d (gpu) -------------> e (npu)    gpu {d} first would make it five
//
// A round takes everything of one device that is ready, and what becomes ready of it by that. Its
// units are a part. So no part waits for itself, whatever the placement.
//
// With two devices the rounds alternate. With more, the next device has to be chosen, and the best
// choice is hard to find: the problem contains the shortest common supersequence. Hence a rule, the
// device from which the longest chain of parts is left, and a search over several choices at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/adjacency.h"

namespace cleave {

// Targets in the user's order are 0, 1, ...; the host is the last device.
using DeviceIndex = std::uint8_t;

// Units and their readers, with what does not depend on where they are placed. Kept where many
// placements of one graph are compared. The readers must outlive it.
struct RoundsGraph {
  explicit RoundsGraph(const Adjacency& readers_by_unit);

  const Adjacency& readers;          // by unit: units that read from it; no cycle
  std::vector<std::uint32_t> waits;  // by unit: reads from other units
  std::vector<std::uint32_t> order;  // units, after what they read from

  std::size_t unit_count() const { return waits.size(); }
  // Units and readers.
  std::uint64_t size() const { return waits.size() + readers.items.size(); }
};

struct RoundsInput {
  const RoundsGraph& graph;
  std::span<const DeviceIndex> device_of;  // by unit
  std::size_t device_count = 2;            // with the host, which is the last
};

struct Rounds {
  std::vector<DeviceIndex> devices;    // by part, in the order in which they run
  Adjacency units;                     // by part, ascending
  std::vector<std::uint32_t> part_of;  // by unit
  std::size_t acc_parts = 0;           // parts that are not on the host
  // No order of rounds has fewer: the most such parts that follow each other on any path, or, of each
  // device the most of its own, summed.
  std::size_t least_acc_parts = 0;
  std::size_t least_parts = 0;  // the same with those on the host
  // No order has fewer parts on targets, and none that has as few has fewer in all.
  bool is_fewest = false;
  std::uint64_t steps = 0;  // units and readers visited

  std::size_t count() const { return devices.size(); }
};

struct RoundsEffort {
  std::size_t states = 16;           // that the search keeps; 0: the rule alone
  std::size_t most_units = 100'000;  // the rule alone above
  std::uint64_t steps_an_entry =
      120;  // of the search, for each unit and reader; then the rule goes on
};

// What counts is the number of parts on targets, of equals that of all parts. Of several devices with
// equal chains the earlier target comes first. Linear.
Rounds find_rounds(const RoundsInput& input, const RoundsEffort& effort = {});

}  // namespace cleave
