#include "core/stages/solvers.h"

#include <algorithm>
#include <numeric>

namespace cleave::balance {

// Steps of Line:
// 1. sum the costs of each block's groups;
// 2. add the pins of nets;
// 3. with memory limits: add shared parameters;
// 4. with activations: add the peak inside each block, and the values that several blocks need.

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

class LineBuilder {
 public:
  LineBuilder(const Instance& instance, const Order& order, std::span<const std::uint32_t> ends)
      : instance_(instance), order_(order), block_of_(order.size()) {
    line_.time.assign(ends.size(), 0);
    line_.host_time.assign(ends.size(), 0);
    line_.bytes.assign(ends.size(), 0);
    line_.host_only.assign(ends.size(), 0);
    line_.targets = instance.targets;
    line_.target_time_before.assign((ends.size() + 1) * line_.targets, 0);
    line_.refused_before.assign((ends.size() + 1) * line_.targets, 0);
    std::uint32_t block = 0;
    for (std::uint32_t position = 0; position < order.size(); ++position) {
      while (position >= ends[block]) ++block;
      add_group(block, order[position]);
    }
  }

  Line build() && {
    sum_before();
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
    for (std::size_t target = 0; target < line_.targets; ++target) {
      const double time = instance_.target_time[group * line_.targets + target];
      const std::size_t after = (block + std::size_t{1}) * line_.targets + target;
      if (time < 0) ++line_.refused_before[after];
      line_.target_time_before[after] += std::max(0.0, time);
    }
  }

  // From amounts of blocks to those of all blocks before.
  void sum_before() {
    for (std::size_t i = line_.targets; i < line_.refused_before.size(); ++i) {
      line_.target_time_before[i] += line_.target_time_before[i - line_.targets];
      line_.refused_before[i] += line_.refused_before[i - line_.targets];
    }
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

// The dynamic program. For each first block of a stage, in order:
// 1. pass over devices that may stay unused;
// 2. list the states that can still lead to a better cut;
// 3. grow the stage block by block, price it for each kind of device, and record each improvement.

LinearProgram::LinearProgram(const Instance& instance, const Line& line)
    : instance_(instance),
      line_(line),
      states_(static_cast<std::uint32_t>(instance.fleet->state_count())),
      rest_(line.size() + 1, 0),
      best_((line.size() + 1) * states_),
      choice_((line.size() + 1) * states_),
      cost_(instance.fleet->kinds().size()) {
  if (instance.fleet->is_uniform()) {
    most_.resize(best_.size());
    reached_.resize(line.size() + 1);
  }
  for (std::size_t block = line.size(); block-- > 0;) {
    rest_[block] = rest_[block + 1] + line.time[block];
  }
}

void LinearProgram::run(const LinearOptions& options) {
  std::ranges::fill(best_, kUnlimited);
  best_[0] = 0;
  std::ranges::fill(reached_, 0);
  const auto blocks = static_cast<std::uint32_t>(line_.size());
  Window window(line_);
  for (std::uint32_t first = 0; first < blocks; ++first) {
    pass_over_devices(first);
    if (!find_active(first, options.below)) continue;
    window.start(first);
    for (std::uint32_t last = first; last < blocks; ++last) {
      window.grow(last);
      if (!price(window, first, last, options)) break;
      if (most_.empty()) {
        extend(first, last, options.below);
      } else {
        extend_alike(first, last, options.below);
      }
    }
  }
  pass_over_devices(blocks);
}

void LinearProgram::pass_over_devices(std::uint32_t position) {
  if (!instance_.fleet->may_skip()) return;
  for (std::uint32_t state = 0; state + 1 < states_; ++state) {
    if (best_[at(position, state)] >= best_[at(position, state + 1)]) continue;
    best_[at(position, state + 1)] = best_[at(position, state)];
    choice_[at(position, state + 1)] = {position, state, kSkipped};
  }
}

bool LinearProgram::find_active(std::uint32_t position, double below) {
  active_.clear();
  const Fleet& fleet = *instance_.fleet;
  const double rest =
      fleet.is_uniform() ? rest_[position] * fleet.kinds().front().time_scale * (1 - 1e-9) : 0;
  for (std::uint32_t state = 0; state < states_; ++state) {
    if (!(best_[at(position, state)] < below)) continue;
    const std::uint32_t free = fleet.device_count() - fleet.used(state);
    if (free == 0 || rest > free * below) continue;
    active_.push_back(state);
  }
  return !active_.empty();
}

bool LinearProgram::price(const Window& window, std::uint32_t first, std::uint32_t last,
                          const LinearOptions& options) {
  bool may_grow = false;
  const auto kinds = instance_.fleet->kinds();
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const DeviceKind& kind = kinds[i];
    const bool is_told_apart = line_.targets > 0 && !kind.is_host;
    const double time = is_told_apart ? line_.time_on(kind.target, first, last) : window.time;
    const bool is_taken = is_told_apart ? time >= 0 : !window.host_only;
    const double compute = kind.is_host ? window.host_time : time * kind.time_scale;
    const bool fits =
        kind.is_host || (is_taken && window.memory() <= kind.memory * options.memory_scale);
    cost_[i] = kUnlimited;
    if (!fits || compute >= options.below) continue;
    may_grow = true;
    cost_[i] = instance_.load(kind, time, window.host_time, window.in, window.out);
  }
  return may_grow;
}

void LinearProgram::extend(std::uint32_t first, std::uint32_t last, double below) {
  for (const std::uint32_t state : active_) {
    const double so_far = best_[at(first, state)];
    for (const Step& step : instance_.fleet->steps(state)) {
      const double objective = std::max(so_far, cost_[step.kind]);
      const std::size_t to = at(last + 1, step.to);
      if (!(objective < below) || objective >= best_[to]) continue;
      best_[to] = objective;
      choice_[to] = {first, state, step.kind};
    }
  }
}

// A window improves a state only if it costs less than that state's best. So a walk over the states ends
// where no later one has a best above the window's cost.
void LinearProgram::extend_alike(std::uint32_t first, std::uint32_t last, double below) {
  const double cost = cost_.front();
  if (!(cost < below)) return;
  const std::size_t row = at(last + 1, 0);
  std::uint32_t lowest = states_;  // of the states that were improved
  std::uint32_t highest = 0;
  const auto take = [&](std::uint32_t state) {
    const double objective = std::max(best_[at(first, state)], cost);
    const std::uint32_t to = state + 1;
    if (objective >= best_[row + to]) return;
    best_[row + to] = objective;
    choice_[row + to] = {first, state, 0};
    lowest = std::min(lowest, to);
    highest = std::max(highest, to);
  };
  std::uint32_t& reached = reached_[last + 1];
  std::size_t end = active_.size();
  while (end > 0 && active_[end - 1] >= reached) take(active_[--end]);
  for (std::size_t i = 0; i < end && cost < most_[row + active_[i] + 1]; ++i) take(active_[i]);
  if (active_.back() >= reached) {
    reached = active_.back() + 1;
    highest = reached;
    lowest = 1;
  }
  double most = highest < reached ? most_[row + highest + 1] : 0;
  for (std::uint32_t state = highest; state > 0; --state) {
    most = std::max(most, best_[row + state]);
    if (state < lowest && most == most_[row + state]) break;
    most_[row + state] = most;
  }
}

LineCut LinearProgram::best() const {
  const auto blocks = static_cast<std::uint32_t>(line_.size());
  std::uint32_t state = instance_.fleet->full_state();
  if (!instance_.fleet->exact_stages()) {
    for (std::uint32_t other = 0; other < states_; ++other) {
      const double gain = best_[at(blocks, state)] - best_[at(blocks, other)];
      if (gain > 0 || (gain == 0 && other < state)) state = other;
    }
  }
  LineCut cut{.objective = best_[at(blocks, state)], .ends = {}, .kinds = {}};
  if (cut.objective == kUnlimited) return cut;
  for (std::uint32_t position = blocks; position > 0 || state != 0;) {
    const Choice& choice = choice_[at(position, state)];
    if (choice.kind != kSkipped) {
      cut.ends.push_back(position);
      cut.kinds.push_back(choice.kind);
    }
    position = choice.first;
    state = choice.state;
  }
  std::ranges::reverse(cut.ends);
  std::ranges::reverse(cut.kinds);
  return cut;
}

std::vector<double> LinearProgram::curve() const {
  const auto blocks = static_cast<std::uint32_t>(line_.size());
  std::vector<double> objective(instance_.fleet->device_count(), kUnlimited);
  for (std::uint32_t state = 1; state < states_; ++state) {
    double& best = objective[instance_.fleet->used(state) - 1];
    best = std::min(best, best_[at(blocks, state)]);
  }
  if (instance_.fleet->exact_stages()) return objective;
  for (std::size_t i = 1; i < objective.size(); ++i) {
    objective[i] = std::min(objective[i], objective[i - 1]);
  }
  return objective;
}

namespace {

// A cut of a line as an assignment of groups.
Candidate candidate_of(const LineCut& cut, const Order& order,
                       std::span<const std::uint32_t> block_ends) {
  Candidate candidate;
  candidate.objective = cut.objective;
  if (cut.objective == kUnlimited) return candidate;
  candidate.kind_of_stage = cut.kinds;
  candidate.stage_of.resize(order.size());
  std::uint32_t stage = 0;
  for (std::uint32_t position = 0; position < order.size(); ++position) {
    while (position >= block_ends[cut.ends[stage] - 1]) ++stage;
    candidate.stage_of[order[position]] = stage;
  }
  return candidate;
}

}  // namespace

// Cuts long orders: the dynamic program runs over blocks, first few coarse ones, then fine ones
// around the cuts found, until every place next to a cut has been tried. Blocks end where few nets
// cross, one end in each equal share of the weight. 512 blocks find the scale, 4,096 the region;
// the rest is refinement. Each round is linear in groups and pins; the number of rounds is
// logarithmic in the length.

namespace {

// The dynamic program takes the square of the blocks for each stage: 512 are a quarter of a million pairs,
// 4,096 near the cuts are 17 million.
constexpr std::size_t kRoughBlocks = 512;
constexpr std::size_t kFineBlocks = 4096;

using Ends = std::vector<std::uint32_t>;

class LongOrder {
 public:
  LongOrder(const Instance& instance, const Order& order) : instance_(instance), order_(order) {
    measure_crossings();
    measure_weight();
    if (instance.targets > 0) find_changes();
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

  // `ends` with the end of the order and the ends in `also`; ascending. Of several targets also where the
  // first device changes that may hold a group, so that some target takes each block.
  Ends complete(Ends ends, const Ends& also) const {
    ends.insert(ends.end(), also.begin(), also.end());
    ends.insert(ends.end(), changes_.begin(), changes_.end());
    ends.push_back(size());
    sort_unique(ends);
    return ends;
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(order_.size()); }

 private:
  void find_changes() {
    const std::vector<std::uint32_t> earliest = earliest_devices(instance_);
    for (std::uint32_t i = 1; i < size(); ++i) {
      if (earliest[order_[i]] != earliest[order_[i - 1]]) changes_.push_back(i);
    }
    // As many ends again as there are blocks would make the program what blocks are there to avoid.
    if (changes_.size() > kRoughBlocks) changes_.clear();
  }

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
      // The count has a quarter of the weight of the time: a long run of groups that cost nothing
      // still gets ends of blocks, among which the transfers choose. Chosen, not measured.
      weight_before_[i + 1] = weight_before_[i] + instance_.time[group] / time + 0.25 / count +
                              (instance_.fleet->has_caps() ? instance_.bytes[group] / bytes : 0);
    }
  }

  const Instance& instance_;
  const Order& order_;
  std::vector<double> crossing_;  // cost of the nets between a position and the next
  std::vector<double> weight_before_;
  Ends changes_;
};

class Refinement {
 public:
  Refinement(const Instance& instance, const Order& order, const LinearOptions& options)
      : instance_(instance), order_(order), options_(options), line_(instance, order) {}

  Candidate run() && {
    try_blocks(kRoughBlocks);
    try_blocks(kFineBlocks);
    if (best_.objective == kUnlimited) return best_;
    // Eight fine blocks on either side of a cut, then a quarter of that, until every place is
    // tried: the best end of a block is seldom further from the best place than a few blocks.
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
    // The cuts share the blocks of one fine pass, so that a round costs the same with any number of
    // stages; but eight places a cut at least, however many cuts there are: fewer would hardly move
    // one.
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
    // Only for a limit, which shortens the windows of the exact pass: half the blocks are a quarter
    // of the pairs.
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
