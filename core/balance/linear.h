// The best cut of one topological order into stages.
//
// best[position][state] is the least objective with which the blocks before the position fill the
// devices that the state has taken. Exact for the line: every run of blocks is tried as a stage,
// unless its compute alone is above an objective known to be reachable.
#pragma once

#include <cstdint>
#include <vector>

#include "core/balance/line.h"

namespace cleave::balance {

struct LineCut {
  double objective = kUnlimited;
  std::vector<std::uint32_t> ends;   // the block after each stage's last one
  std::vector<std::uint32_t> kinds;  // device kinds of the stages
};

struct LinearOptions {
  double below = kUnlimited;  // looks only for results below this
  double memory_scale = 1;    // scales the devices' memory
};

class LinearProgram {
 public:
  LinearProgram(const Instance& instance, const Line& line);

  // O(windows x (pins + states)); windows hold as much compute as `below` allows.
  void run(const LinearOptions& options);
  LineCut best() const;
  // The best objectives with at most 1, 2, ... devices, as far as they were found below the limit.
  std::vector<double> curve() const;

 private:
  struct Choice {
    std::uint32_t first = 0;  // the last stage's first block
    std::uint32_t state = 0;  // the state before it
    std::uint32_t kind = 0;
  };
  static constexpr std::uint32_t kSkipped = kNoItem;

  void pass_over_devices(std::uint32_t position);
  bool find_active(std::uint32_t position, double below);
  // Computes the window's cost by kind; false when no longer window can be cheap enough.
  bool price(const Window& window, const LinearOptions& options);
  void extend(std::uint32_t first, std::uint32_t last, double below);
  std::size_t at(std::uint32_t position, std::uint32_t state) const {
    return std::size_t{position} * states_ + state;
  }

  const Instance& instance_;
  const Line& line_;
  std::uint32_t states_;
  std::vector<double> rest_;  // compute from a position on
  std::vector<double> best_;
  std::vector<Choice> choice_;
  std::vector<std::uint32_t> active_;  // states worth continuing from
  std::vector<double> cost_;           // of the window, by kind
};

// A cut of a line as an assignment of groups.
Candidate candidate_of(const LineCut& cut, const Order& order,
                       std::span<const std::uint32_t> block_ends);

// The best cut of an order. Exact while the line is short enough; longer lines are cut over blocks
// around good places (see compressed.cc). The objective is kUnlimited when none is below `below`.
Candidate cut_order(const Instance& instance, const Order& order, const LinearOptions& options);

// The best objective with at most 1, 2, ... devices, over at most some hundred blocks.
std::vector<double> rough_curve(const Instance& instance, const Order& order);

}  // namespace cleave::balance
