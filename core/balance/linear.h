// The best cut of one topological order into stages.
//
// best[position][state] is the least objective with which the blocks before the position fill the
// devices that the state has taken. Exact for the line: every run of blocks is tried as a stage,
// unless its compute alone is above an objective known to be reachable.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/balance/instance.h"
#include "core/balance/orders.h"

namespace cleave::balance {

// A line: an order of groups cut into blocks, and the cost of any run of blocks as one stage.
//
// A net's pins are kept by the block that holds them, each with the pin before it. So a window of
// blocks [first, last] grows to the right in time proportional to the new block's pins:
//   the pin is the first in the window -> the net begins to cross the window's border
//   it is the net's last, and the net's first is in the window too -> the net no longer crosses
// Memory is updated the same way, as if groups ran in the line's order.
struct LinePin {
  double cost = 0;
  std::uint32_t previous = 0;  // block of the pin before, plus 1; 0: none
  std::uint32_t first = 0;     // block of the net's first pin, plus 1, if this is the last; else 0
  std::uint32_t home = 0;      // block of the producer
};

struct LineUse {  // use of a shared parameter, or of a value made elsewhere
  double bytes = 0;
  std::uint32_t previous = 0;  // block of the use before, plus 1; 0: none
  std::uint32_t home = 0;      // values: block of the producer, plus 1; 0: from outside
};

struct Line {
  std::vector<double> time;
  std::vector<double> host_time;
  std::vector<double> bytes;
  std::vector<std::uint8_t> host_only;
  // By block and target, with one more block at the end: the time on the target of all blocks before it,
  // and how many of these the target does not take. Empty: there is one target.
  std::vector<double> target_time_before;
  std::vector<std::uint32_t> refused_before;
  std::size_t targets = 0;
  std::vector<std::uint32_t> pins_begin;
  std::vector<LinePin> pins;
  // With caps:
  std::vector<std::uint32_t> shared_begin;
  std::vector<LineUse> shared;
  // With activations:
  std::vector<double> own_peak;   // peak of the values that the block makes
  std::vector<double> left_over;  // of these values, the bytes that later blocks need
  std::vector<std::uint32_t> reads_begin;
  std::vector<LineUse> reads;  // values made in other blocks
  std::vector<std::uint32_t> ends_begin;
  std::vector<LineUse> ends;  // values made in earlier blocks, last needed here

  std::size_t size() const { return time.size(); }
  bool has_activations() const { return !own_peak.empty(); }
  // The time of the blocks [first, last] on the target, of several; below 0: it does not take one of them.
  double time_on(std::uint32_t target, std::uint32_t first, std::uint32_t last) const {
    const std::size_t from = first * targets + target;
    const std::size_t to = (last + std::size_t{1}) * targets + target;
    if (refused_before[to] != refused_before[from]) return -1;
    return std::max(0.0, target_time_before[to] - target_time_before[from]);
  }
};

// `ends` are the positions before which blocks end, ascending; the last one is the order's size.
// Linear in groups and pins.
Line make_line(const Instance& instance, const Order& order, std::span<const std::uint32_t> ends);
Line make_line(const Instance& instance, const Order& order);  // one block a group

// The cost of the blocks [first, last] as one stage; grows to the right.
class Window {
 public:
  explicit Window(const Line& line) : line_(&line) {}

  void start(std::uint32_t first) {
    *this = Window(*line_);
    first_ = first;
  }
  // Adds block `last`, which follows the blocks in the window.
  void grow(std::uint32_t last);

  double time = 0;
  double host_time = 0;
  double in = 0;
  double out = 0;
  bool host_only = false;
  double memory() const { return fixed_bytes_ + input_bytes_ + peak_; }

 private:
  void grow_cut(std::uint32_t last);
  void grow_memory(std::uint32_t last);

  const Line* line_;
  double fixed_bytes_ = 0;
  double input_bytes_ = 0;
  double live_ = 0;
  double peak_ = 0;
  std::uint32_t first_ = 0;
};

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

  // O(windows x (pins + states)); windows hold as much compute as `below` allows. Of devices that are alike
  // a window looks only at the states that it may improve, mostly few.
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
  // Computes the cost of the window [first, last] by kind; false when no longer window can be cheap
  // enough.
  bool price(const Window& window, std::uint32_t first, std::uint32_t last,
             const LinearOptions& options);
  void extend(std::uint32_t first, std::uint32_t last, double below);
  void extend_alike(std::uint32_t first, std::uint32_t last, double below);
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
  // Of devices that are alike, where state s is s devices taken: at least as much as the best of each
  // state from s to reached_[position], above which no stage has led yet.
  std::vector<double> most_;
  std::vector<std::uint32_t> reached_;
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
