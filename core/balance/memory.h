// Exact peak of a stage's live activations: its items run in ascending order, values from outside
// are held throughout, values for outside to the end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/balance/instance.h"

namespace cleave::balance {

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
