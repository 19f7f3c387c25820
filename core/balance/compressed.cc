// Cuts long orders: the dynamic program runs over blocks, first few coarse ones, then fine ones
// around the cuts found, until every place next to a cut has been tried. Blocks end where few nets
// cross, one end in each equal share of the weight. 512 blocks find the scale, 4,096 the region;
// the rest is refinement. Each round is linear in groups and pins; the number of rounds is
// logarithmic in the length.
#include <algorithm>
#include <numeric>

#include "core/balance/linear.h"

namespace cleave::balance {
namespace {

constexpr std::size_t kRoughBlocks = 512;
constexpr std::size_t kFineBlocks = 4096;

using Ends = std::vector<std::uint32_t>;

class LongOrder {
 public:
  LongOrder(const Instance& instance, const Order& order) : instance_(instance), order_(order) {
    measure_crossings();
    measure_weight();
  }

  // Picks one end in each of `count` equal shares of the weight of the positions [first, last): the
  // last of those with the least crossings.
  void pick(std::size_t count, std::uint32_t first, std::uint32_t last, Ends& ends) const {
    const double base = weight_before_[first];
    const double share = (weight_before_[last] - base) / static_cast<double>(count);
    std::size_t bucket = 0;
    std::uint32_t best = kNoItem;
    for (std::uint32_t i = first; i < last; ++i) {
      const double place = share > 0 ? (weight_before_[i + 1] - base) / share : 0;
      const std::size_t now = std::min(count - 1, static_cast<std::size_t>(place));
      if (now != bucket && best != kNoItem) {
        ends.push_back(best + 1);
        best = kNoItem;
      }
      bucket = now;
      if (best == kNoItem || crossing_[i] <= crossing_[best]) best = i;
    }
    if (best != kNoItem) ends.push_back(best + 1);
  }

  // `ends` with the end of the order and the ends in `also`; ascending.
  Ends complete(Ends ends, const Ends& also) const {
    ends.insert(ends.end(), also.begin(), also.end());
    ends.push_back(size());
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    return ends;
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(order_.size()); }

 private:
  void measure_crossings() {
    crossing_.assign(order_.size() + 1, 0);
    std::vector<std::uint32_t> position(order_.size());
    for (std::uint32_t i = 0; i < order_.size(); ++i) position[order_[i]] = i;
    for (std::uint32_t net = 0; net < instance_.net_count(); ++net) {
      std::uint32_t first = kNoItem;
      std::uint32_t last = 0;
      for (const std::uint32_t group : instance_.pins.of(net)) {
        first = std::min(first, position[group]);
        last = std::max(last, position[group]);
      }
      crossing_[first] += instance_.net_cost[net];
      crossing_[last] -= instance_.net_cost[net];
    }
    std::partial_sum(crossing_.begin(), crossing_.end(), crossing_.begin());
  }

  // A group's weight is the sum of its shares of the time, of the bytes, and of the count.
  void measure_weight() {
    const auto total = [](const std::vector<double>& of) {
      const double sum = std::accumulate(of.begin(), of.end(), 0.0);
      return sum > 0 ? sum : 1;
    };
    const double time = total(instance_.time);
    const double bytes = total(instance_.bytes);
    const auto count = static_cast<double>(order_.size());
    weight_before_.assign(order_.size() + 1, 0);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const std::uint32_t group = order_[i];
      weight_before_[i + 1] = weight_before_[i] + instance_.time[group] / time + 0.25 / count +
                              (instance_.fleet->has_caps() ? instance_.bytes[group] / bytes : 0);
    }
  }

  const Instance& instance_;
  const Order& order_;
  std::vector<double> crossing_;  // cost of the nets between a position and the next
  std::vector<double> weight_before_;
};

class Refinement {
 public:
  Refinement(const Instance& instance, const Order& order, const LinearOptions& options)
      : instance_(instance), order_(order), options_(options), line_(instance, order) {}

  Candidate run() && {
    try_blocks(kRoughBlocks);
    try_blocks(kFineBlocks);
    if (best_.objective == kUnlimited) return best_;
    auto reach = static_cast<std::uint32_t>(8 * (line_.size() / kFineBlocks + 1));
    while (refine(reach)) reach /= 4;
    return std::move(best_);
  }

 private:
  void try_blocks(std::size_t count) {
    Ends ends;
    line_.pick(count, 0, line_.size(), ends);
    solve(line_.complete(std::move(ends), cuts_));
  }

  // Tries the places within `reach` of the cuts. False when every place has been tried.
  bool refine(std::uint32_t reach) {
    const std::size_t stages = std::max<std::size_t>(1, cuts_.size());
    const auto per_cut = static_cast<std::uint32_t>(std::max<std::size_t>(8, kFineBlocks / stages));
    reach = std::max(reach, per_cut / 2);
    Ends ends;
    for (const std::uint32_t cut : cuts_) {
      const std::uint32_t first = cut > reach ? cut - reach : 0;
      const std::uint32_t last = std::min(line_.size(), cut + reach);
      line_.pick(std::min(per_cut, last - first), first, last, ends);
      if (last - first > per_cut) continue;
      for (std::uint32_t i = first; i < last; ++i) ends.push_back(i + 1);
    }
    solve(line_.complete(std::move(ends), cuts_));
    return reach > per_cut / 2;
  }

  void solve(const Ends& ends) {
    const Line line = make_line(instance_, order_, ends);
    LinearProgram program(instance_, line);
    program.run(options_);
    const LineCut cut = program.best();
    if (!(cut.objective < options_.below)) return;
    options_.below = cut.objective;
    best_ = candidate_of(cut, order_, ends);
    cuts_.clear();
    for (const std::uint32_t block : cut.ends) cuts_.push_back(ends[block - 1]);
  }

  const Instance& instance_;
  const Order& order_;
  LinearOptions options_;
  LongOrder line_;
  Candidate best_;
  Ends cuts_;
};

// Tries every place of an order; blocks first find a limit, so that windows stay short.
Candidate cut_everywhere(const Instance& instance, const Order& order, LinearOptions options) {
  Candidate rough;
  if (order.size() > kRoughBlocks && options.below == kUnlimited) {
    const LongOrder line(instance, order);
    Ends ends;
    line.pick(kRoughBlocks / 2, 0, line.size(), ends);
    ends = line.complete(std::move(ends), {});
    const Line blocks = make_line(instance, order, ends);
    LinearProgram program(instance, blocks);
    program.run(options);
    rough = candidate_of(program.best(), order, ends);
    options.below = rough.objective;
  }
  const Line line = make_line(instance, order);
  LinearProgram program(instance, line);
  program.run(options);
  const LineCut cut = program.best();
  if (!(cut.objective < options.below)) return rough;
  Ends ends(order.size());
  std::iota(ends.begin(), ends.end(), 1U);
  return candidate_of(cut, order, ends);
}

}  // namespace

Candidate cut_order(const Instance& instance, const Order& order, const LinearOptions& options) {
  if (order.size() <= kFineBlocks) return cut_everywhere(instance, order, options);
  return Refinement(instance, order, options).run();
}

std::vector<double> rough_curve(const Instance& instance, const Order& order) {
  const LongOrder line(instance, order);
  Ends ends;
  line.pick(kRoughBlocks, 0, line.size(), ends);
  ends = line.complete(std::move(ends), {});
  const Line blocks = make_line(instance, order, ends);
  LinearProgram program(instance, blocks);
  program.run({});
  return program.curve();
}

}  // namespace cleave::balance
