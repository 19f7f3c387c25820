// What a device can do: compute within a given time, and bytes at the peak of its stage.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/balance/instance.h"

namespace cleave::balance {

class Capacity {
 public:
  explicit Capacity(const Instance& instance);

  // The accelerator time of all groups; groups that only a host runs count 0.
  double total_time() const { return total_time_; }
  // An upper bound on the accelerator time that fits on one device within `objective`. `transfers`
  // is the device's transfer time, which counts in a model that adds it. On a host: an upper bound
  // that lets it take the best-saving groups, fractions included.
  double of(const DeviceKind& kind, double objective, double transfers) const;
  // The sum over all devices.
  double of_fleet(double objective) const;
  static double time_of(const Instance& instance, std::uint32_t group) {
    return instance.host_only[group] != 0 ? 0 : instance.time[group];
  }

 private:
  double of_host(double objective) const;

  const Instance& instance_;
  double total_time_ = 0;
  // Groups sorted by what a host saves per time, most first; prefix sums.
  std::vector<double> host_time_before_;
  std::vector<double> time_before_;
};

// Exact peak of a stage's live activations: its items run in ascending order, values from outside
// are held throughout, values for outside to the end.
class StageMemory {
 public:
  // Only for an instance with limited memory: Instance::has_activations.
  explicit StageMemory(const Instance& instance);

  // The peak of a stage that holds these groups. O(their items and values, times log).
  double activation_bytes(std::span<const std::uint32_t> groups);

 private:
  double input_bytes_and_lives();
  bool in_stage(std::uint32_t item) const { return stamp_[item] == now_; }

  const BalanceProblem& problem_;
  const Instance& instance_;
  Adjacency made_;  // by item, nets
  Adjacency read_;
  std::vector<std::uint32_t> items_;
  std::vector<std::uint32_t> stamp_;  // by item: the last call that included it
  std::vector<std::uint32_t> net_stamp_;
  std::vector<double> dies_;  // by item
  std::uint32_t now_ = 0;
};

}  // namespace cleave::balance
