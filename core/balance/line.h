// A line: an order of groups cut into blocks, and the cost of any run of blocks as one stage.
//
// A net's pins are kept by the block that holds them, each with the pin before it. So a window of
// blocks [first, last] grows to the right in time proportional to the new block's pins:
//   the pin is the first in the window -> the net begins to cross the window's border
//   it is the net's last, and the net's first is in the window too -> the net no longer crosses
// Memory is updated the same way, as if groups ran in the line's order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/balance/instance.h"
#include "core/balance/orders.h"

namespace cleave::balance {

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

}  // namespace cleave::balance
