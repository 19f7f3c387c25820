// Steps:
// 1. sum the costs of each block's groups;
// 2. add the pins of nets;
// 3. with memory limits: add shared parameters;
// 4. with activations: add the peak inside each block, and the values that several blocks need.
#include "core/balance/line.h"

#include <algorithm>
#include <numeric>

namespace cleave::balance {
namespace {

// Entries gathered in any order, then sorted by block, stable. Linear.
template <class Entry>
class ByBlock {
 public:
  void add(std::uint32_t block, const Entry& entry) {
    blocks_.push_back(block);
    entries_.push_back(entry);
  }
  void finish(std::size_t block_count, std::vector<std::uint32_t>& begin,
              std::vector<Entry>& sorted) {
    begin.assign(block_count + 1, 0);
    for (const std::uint32_t block : blocks_) ++begin[block + 1];
    std::partial_sum(begin.begin(), begin.end(), begin.begin());
    sorted.resize(entries_.size());
    std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
    for (std::size_t i = 0; i < entries_.size(); ++i) sorted[next[blocks_[i]]++] = entries_[i];
  }

 private:
  std::vector<std::uint32_t> blocks_;
  std::vector<Entry> entries_;
};

void sort_unique(std::vector<std::uint32_t>& items) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

class LineBuilder {
 public:
  LineBuilder(const Instance& instance, const Order& order, std::span<const std::uint32_t> ends)
      : instance_(instance), order_(order), block_of_(order.size()) {
    line_.time.assign(ends.size(), 0);
    line_.host_time.assign(ends.size(), 0);
    line_.bytes.assign(ends.size(), 0);
    line_.host_only.assign(ends.size(), 0);
    std::uint32_t block = 0;
    for (std::uint32_t position = 0; position < order.size(); ++position) {
      while (position >= ends[block]) ++block;
      add_group(block, order[position]);
    }
  }

  Line build() && {
    add_pins();
    if (instance_.fleet->has_caps()) add_shared();
    if (instance_.has_activations) {
      add_own_peaks();
      add_values();
    }
    return std::move(line_);
  }

 private:
  void add_group(std::uint32_t block, std::uint32_t group) {
    block_of_[group] = block;
    line_.time[block] += instance_.time[group];
    line_.host_time[block] += instance_.host_time[group];
    line_.bytes[block] += instance_.bytes[group];
    if (instance_.host_only[group] != 0) line_.host_only[block] = 1;
  }

  void add_pins() {
    ByBlock<LinePin> pins;
    std::vector<std::uint32_t> blocks;
    for (std::uint32_t net = 0; net < instance_.net_count(); ++net) {
      blocks.clear();
      for (const std::uint32_t group : instance_.pins.of(net)) blocks.push_back(block_of_[group]);
      sort_unique(blocks);
      if (blocks.size() == 1) continue;
      const std::uint32_t home = block_of_[instance_.net_home[net]];
      std::uint32_t previous = 0;
      for (const std::uint32_t block : blocks) {
        const std::uint32_t first = block == blocks.back() ? blocks.front() + 1 : 0;
        pins.add(block, {instance_.net_cost[net], previous, first, home});
        previous = block + 1;
      }
    }
    pins.finish(line_.size(), line_.pins_begin, line_.pins);
  }

  void add_shared() {
    std::vector<std::uint32_t> last(instance_.problem->shared_bytes.size(), 0);
    ByBlock<LineUse> uses;
    for (const std::uint32_t group : order_) {
      const std::uint32_t block = block_of_[group];
      for (const std::uint32_t shared : instance_.shared.of(group)) {
        if (last[shared] == block + 1) continue;
        uses.add(block, {instance_.problem->shared_bytes[shared], last[shared], 0});
        last[shared] = block + 1;
      }
    }
    uses.finish(line_.size(), line_.shared_begin, line_.shared);
  }

  std::uint32_t block_of_item(std::uint32_t item) const {
    return block_of_[instance_.group_of[item]];
  }

  // Each block's peak of the values that it makes.
  void add_own_peaks() {
    const BalanceProblem& problem = *instance_.problem;
    std::vector<std::uint32_t> place(problem.items.size());  // in which items run along the line
    std::vector<std::uint32_t> item_at;
    item_at.reserve(place.size());
    for (const std::uint32_t group : order_) {
      for (const std::uint32_t item : instance_.items_of.of(group)) {
        place[item] = static_cast<std::uint32_t>(item_at.size());
        item_at.push_back(item);
      }
    }
    std::vector<double> born(place.size(), 0);
    std::vector<double> dies(place.size(), 0);
    for (std::uint32_t net = 0; net < problem.nets.size(); ++net) {
      const std::uint32_t producer = problem.nets[net].producer;
      if (producer == kNoItem) continue;
      const std::uint32_t home = block_of_item(producer);
      std::uint32_t last = place[producer];
      bool stays = !problem.nets[net].is_output;
      for (const std::uint32_t reader : problem.consumers.of(net)) {
        last = std::max(last, place[reader]);
        stays = stays && block_of_item(reader) == home;
      }
      born[place[producer]] += problem.nets[net].bytes;
      if (stays) dies[last] += problem.nets[net].bytes;
    }
    line_.own_peak.assign(line_.size(), 0);
    line_.left_over.assign(line_.size(), 0);
    for (std::uint32_t i = 0; i < item_at.size(); ++i) {
      const std::uint32_t block = block_of_item(item_at[i]);
      double& live = line_.left_over[block];
      live += born[i];
      line_.own_peak[block] = std::max(line_.own_peak[block], live);
      live -= dies[i];
    }
  }

  // Adds the values that more than one block needs.
  void add_values() {
    const BalanceProblem& problem = *instance_.problem;
    ByBlock<LineUse> reads;
    ByBlock<LineUse> ends;
    std::vector<std::uint32_t> blocks;
    for (std::uint32_t net = 0; net < problem.nets.size(); ++net) {
      const double bytes = problem.nets[net].bytes;
      if (bytes <= 0) continue;
      const std::uint32_t producer = problem.nets[net].producer;
      const std::uint32_t home = producer == kNoItem ? 0 : block_of_item(producer) + 1;
      blocks.clear();
      for (const std::uint32_t reader : problem.consumers.of(net)) {
        if (block_of_item(reader) + 1 != home) blocks.push_back(block_of_item(reader));
      }
      if (blocks.empty()) continue;
      sort_unique(blocks);
      std::uint32_t previous = 0;
      for (const std::uint32_t block : blocks) {
        reads.add(block, {bytes, previous, home});
        previous = block + 1;
      }
      const bool only_later = home != 0 && blocks.front() + 1 > home;
      if (only_later && !problem.nets[net].is_output) ends.add(blocks.back(), {bytes, 0, home});
    }
    reads.finish(line_.size(), line_.reads_begin, line_.reads);
    ends.finish(line_.size(), line_.ends_begin, line_.ends);
  }

  const Instance& instance_;
  const Order& order_;
  std::vector<std::uint32_t> block_of_;  // by group
  Line line_;
};

}  // namespace

Line make_line(const Instance& instance, const Order& order, std::span<const std::uint32_t> ends) {
  return LineBuilder(instance, order, ends).build();
}

Line make_line(const Instance& instance, const Order& order) {
  std::vector<std::uint32_t> ends(order.size());
  std::iota(ends.begin(), ends.end(), 1U);
  return make_line(instance, order, ends);
}

void Window::grow(std::uint32_t last) {
  time += line_->time[last];
  host_time += line_->host_time[last];
  host_only = host_only || line_->host_only[last] != 0;
  fixed_bytes_ += line_->bytes[last];
  grow_cut(last);
  if (!line_->shared_begin.empty()) grow_memory(last);
}

void Window::grow_cut(std::uint32_t last) {
  const std::uint32_t end = line_->pins_begin[last + 1];
  for (std::uint32_t i = line_->pins_begin[last]; i < end; ++i) {
    const LinePin& pin = line_->pins[i];
    const bool touched = pin.previous > first_;
    if (pin.home == last) {
      if (touched) in -= pin.cost;
      out += pin.cost;
    } else if (!touched) {
      in += pin.cost;  // made before the window, or after this block
    }
    if (pin.first <= first_) continue;
    out -= pin.cost;  // all pins are in
  }
}

void Window::grow_memory(std::uint32_t last) {
  for (std::uint32_t i = line_->shared_begin[last]; i < line_->shared_begin[last + 1]; ++i) {
    if (line_->shared[i].previous <= first_) fixed_bytes_ += line_->shared[i].bytes;
  }
  if (!line_->has_activations()) return;
  for (std::uint32_t i = line_->reads_begin[last]; i < line_->reads_begin[last + 1]; ++i) {
    const LineUse& use = line_->reads[i];
    const bool made_here = use.home > first_ && use.home <= last + 1;
    if (!made_here && use.previous <= first_) input_bytes_ += use.bytes;
  }
  peak_ = std::max(peak_, live_ + line_->own_peak[last]);
  live_ += line_->left_over[last];
  for (std::uint32_t i = line_->ends_begin[last]; i < line_->ends_begin[last + 1]; ++i) {
    if (line_->ends[i].home > first_) live_ -= line_->ends[i].bytes;
  }
}

}  // namespace cleave::balance
