// What a split for several targets holds, and how long an inference takes when parts of different
// devices run at the same time.
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "core/devices/schedule.h"
#include "core/graph/graph.h"
#include "core/split/latency.h"
#include "core/split/partition.h"

namespace cleave {

struct DeviceUse {
  // By target: the most bytes that it holds at once. These are the weights of all its parts, each once,
  // and values from the node that makes them, or the part that they enter, to the last that reads them.
  // A tensor of unknown size takes none.
  std::vector<std::uint64_t> peak_bytes;
  std::vector<bool> is_peak_known = {};  // by target: every tensor that it holds has a known size
  // Each device runs its parts in order, and each part when what it reads is there. A node of unknown
  // time takes none.
  PartSchedule schedule;
  // By device, the host last: millijoules of its nodes, transfers and launches. Empty where what a device
  // draws is not known. A node of unknown work takes none.
  std::vector<double> energy_mj = {};

  std::optional<double> total_mj() const {
    if (energy_mj.empty()) return std::nullopt;
    return std::accumulate(energy_mj.begin(), energy_mj.end(), 0.0);
  }
};

// What the devices draw, the host last; empty where one is not known.
std::vector<EnergyNumbers> energy_numbers(const LatencyInput& input);

// Nodes of a part run in the model's order. O(n log n).
DeviceUse device_use(const Graph& graph, const Partition& partition, const LatencyInput& input);

}  // namespace cleave
