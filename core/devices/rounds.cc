// Rounds: cuts between one device and the rest, until nothing improves.

#include <algorithm>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/min_cut.h"
#include "core/devices/devices.h"
#include "core/devices/search.h"

namespace cleave {

// ---- cuts ----

namespace {

constexpr auto kStays = std::numeric_limits<std::uint32_t>::max();  // the sink
constexpr auto kMoves = kStays - 1;                                 // the source

// Builds the network of one expansion. The source's side moves to the device; units that are there
// already are the source, those that do not accept it the sink. Why one device at a time: with three or more no
// single cut has a side for each, and the best placement is hard to find; of one device against the rest it
// is exact.
class ExpansionBuilder {
 public:
  ExpansionBuilder(const DeviceProblem& problem, const LinkCosts& links, const Devices& devices,
                   DeviceIndex to, const DeviceCharges& charges)
      : problem_(problem), links_(links), devices_(devices), to_(to), charges_(charges) {}

  Devices run() && {
    add_units();
    for (std::uint32_t value = 0; value < problem_.value_count(); ++value) add_value(value);
    const std::vector<bool> moves = std::move(network_).solve();
    Devices devices = devices_;
    for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
      const std::uint32_t node = node_of_[unit];
      if (is_free(node) && moves[node]) devices[unit] = to_;
    }
    return devices;
  }

 private:
  // Whether a device in question reads a value: it does, or it does if one of `free_` stays or moves.
  enum class Reads { never, always, if_one_stays, if_one_moves };

  static bool is_free(std::uint32_t node) { return node < kMoves; }

  void add_units() {
    network_.reserve(problem_.unit_count(), problem_.readers.items.size());
    for (std::uint32_t unit = 0; unit < problem_.unit_count(); ++unit) {
      if (devices_[unit] == to_ || !problem_.accepts(to_, unit)) {
        node_of_.push_back(devices_[unit] == to_ ? kMoves : kStays);
        continue;
      }
      const bool has_node = !problem_.stays_with.empty() && problem_.stays_with[unit] != unit;
      node_of_.push_back(has_node ? node_of_[problem_.stays_with[unit]] : network_.add_node());
      network_.add_source_arc(node_of_.back(), problem_.cost(unit, devices_[unit]));
      network_.add_sink_arc(node_of_.back(), problem_.cost(unit, to_));
    }
  }

  void add_value(std::uint32_t value) {
    const std::uint32_t unit = problem_.producer[value];
    maker_ = unit == DeviceProblem::kHost ? kStays : node_of_[unit];
    const DeviceIndex home = unit == DeviceProblem::kHost ? problem_.host() : devices_[unit];
    value_ = value;
    present_ = 1U << to_;
    if (problem_.host_reads[value] != 0) present_ |= 1U << problem_.host();
    for (const std::uint32_t reader : problem_.readers.of(value)) {
      present_ |= 1U << devices_[reader];
    }
    for (DeviceIndex device = 0; device <= problem_.host(); ++device) {
      if ((present_ >> device & 1U) == 0) continue;
      add_charge(into(home, device), into(to_, device), reads(1U << device));
    }
    if (maker_ != kMoves) add_charge(up(home), 0, reads(through_host(home)));
    if (maker_ != kStays) add_charge(0, up(to_), reads(through_host(to_)));
  }

  double up(DeviceIndex home) const {
    return charges_.link * problem_.bytes[value_] * links_.up(home);
  }

  // The cost of the value on its way into `device`, when it was made at `home`.
  double into(DeviceIndex home, DeviceIndex device) const {
    if (home == device) return 0;
    const double of_byte =
        links_.is_direct(home, device) ? links_.direct(home, device) : links_.down(device);
    return charges_.link * problem_.bytes[value_] * of_byte +
           charges_.launch * links_.launch(device);
  }

  // The devices that a value made at `home` reaches through the host.
  std::uint32_t through_host(DeviceIndex home) const {
    std::uint32_t found = 0;
    for (DeviceIndex device = 0; device <= problem_.host(); ++device) {
      if (device != home && !links_.is_direct(home, device)) found |= 1U << device;
    }
    return found & present_;
  }

  // Whether one of these devices reads the value; sets `free_`.
  Reads reads(std::uint32_t which) {
    free_.clear();
    const bool is_target = (which >> to_ & 1U) != 0;
    if (problem_.host_reads[value_] != 0 && (which >> problem_.host() & 1U) != 0) {
      return Reads::always;
    }
    for (const std::uint32_t reader : problem_.readers.of(value_)) {
      const bool is_read = (which >> devices_[reader] & 1U) != 0;
      const bool can_move = is_free(node_of_[reader]);
      if (can_move && node_of_[reader] == maker_) continue;  // it stays with its maker
      if (is_read && (is_target || !can_move)) return Reads::always;
      if (can_move && is_read != is_target) free_.push_back(node_of_[reader]);
    }
    if (free_.empty()) return Reads::never;
    if (!problem_.stays_with.empty()) {
      sort_unique(free_);
    }
    return is_target ? Reads::if_one_moves : Reads::if_one_stays;
  }

  // Charges one cost if the maker stays, the other if it moves, when the value is read.
  void add_charge(double if_stays, double if_moves, Reads reads) {
    if (reads == Reads::never) return;
    if (maker_ == kStays) if_moves = if_stays;
    if (maker_ == kMoves) if_stays = if_moves;
    const double common = std::min(if_stays, if_moves);
    if_stays -= common;
    if_moves -= common;
    if (common <= 0 && if_stays <= 0 && if_moves <= 0) return;
    if (reads == Reads::always) {
      if (if_stays > 0) network_.add_source_arc(maker_, if_stays);
      if (if_moves > 0) network_.add_sink_arc(maker_, if_moves);
    } else if (reads == Reads::if_one_stays) {
      const std::uint32_t gate = this->gate(true);
      if (common > 0) network_.add_source_arc(gate, common);
      if (if_moves > 0) network_.add_arc(maker_, gate, if_moves);
      if (if_stays > 0) network_.add_source_arc(maker_, if_stays);  // as if readers stay
    } else {
      const std::uint32_t gate = this->gate(false);
      if (common > 0) network_.add_sink_arc(gate, common);
      if (if_stays > 0) network_.add_arc(gate, maker_, if_stays);
      // That it costs more where the maker moves, too, does not happen: then it need not cross.
    }
  }

  // A node on the sink's side if one of `free_` is, or on the source's.
  std::uint32_t gate(bool is_before) {
    if (free_.size() == 1) return free_.front();
    const std::uint32_t gate = network_.add_node();
    for (const std::uint32_t node : free_) {
      is_before ? network_.add_arc(gate, node, kUncut) : network_.add_arc(node, gate, kUncut);
    }
    return gate;
  }

  const DeviceProblem& problem_;
  const LinkCosts& links_;
  const Devices& devices_;
  const DeviceIndex to_;
  const DeviceCharges charges_;
  MinCut network_;
  std::vector<std::uint32_t> node_of_;  // by unit
  // The value whose nodes and edges are being added:
  std::uint32_t value_ = 0;
  std::uint32_t maker_ = kStays;
  std::uint32_t present_ = 0;        // devices that read it, and the one that units move to
  std::vector<std::uint32_t> free_;  // readers that may move
};

}  // namespace

double charged_cost(const DeviceProblem& problem, const LinkCosts& links, const Devices& devices,
                    const DeviceCharges& charges) {
  double sum = 0;
  for (std::uint32_t unit = 0; unit < devices.size(); ++unit) {
    sum += problem.cost(unit, devices[unit]);
  }
  for (std::uint32_t value = 0; value < problem.value_count(); ++value) {
    const std::uint32_t maker = problem.producer[value];
    const DeviceIndex home = maker == DeviceProblem::kHost ? problem.host() : devices[maker];
    std::uint32_t readers = problem.host_reads[value] != 0 ? 1U << problem.host() : 0;
    for (const std::uint32_t reader : problem.readers.of(value)) readers |= 1U << devices[reader];
    readers &= ~(1U << home);
    bool goes_up = false;
    double of_byte = 0;
    for (DeviceIndex device = 0; readers >> device != 0; ++device) {
      if ((readers >> device & 1U) == 0) continue;
      const bool is_direct = links.is_direct(home, device);
      goes_up = goes_up || !is_direct;
      of_byte += is_direct ? links.direct(home, device) : links.down(device);
      sum += charges.launch * links.launch(device);
    }
    if (goes_up) of_byte += links.up(home);
    sum += charges.link * problem.bytes[value] * of_byte;
  }
  return sum;
}

Devices expand_device(const DeviceProblem& problem, const LinkCosts& links, const Devices& devices,
                      DeviceIndex to, const DeviceCharges& charges) {
  return ExpansionBuilder(problem, links, devices, to, charges).run();
}

Devices expand_all(const DeviceProblem& problem, const LinkCosts& links, Devices devices,
                   const DeviceCharges& charges, std::size_t most_rounds) {
  const std::size_t count = problem.device_count();
  if (count == 2) {  // one cut is exact
    return expand_device(problem, links, place_in_order(problem, {}), 0, charges);
  }
  double cost = charged_cost(problem, links, devices, charges);
  std::size_t in_vain = 0;
  for (std::size_t i = 0; in_vain < count && i < most_rounds * count; ++i, ++in_vain) {
    Devices moved =
        expand_device(problem, links, devices, static_cast<DeviceIndex>(i % count), charges);
    if (moved == devices) continue;
    const double new_cost = charged_cost(problem, links, moved, charges);
    if (new_cost >= cost * (1 - 1e-12)) continue;
    cost = new_cost;
    devices = std::move(moved);
    in_vain = 0;
  }
  return devices;
}

// Steps of the bound:
// 1. the cheapest way in and out of each target, so that its cut charges no more than its share;
// 2. a problem with two sides, of all targets or of one and of the other devices, is solved by one cut.

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct WayCosts {
  std::vector<double> in, out;  // by target, of a byte
};

WayCosts host_ways(const DeviceProblem& problem, const LinkCosts& links) {
  WayCosts ways;
  for (DeviceIndex target = 0; target < problem.host(); ++target) {
    ways.in.push_back(links.down(target));
    ways.out.push_back(links.up(target));
  }
  return ways;
}

// Half of a direct link is charged to either end, since the cuts of both ends count a value that takes it.
WayCosts cheapest_ways(const DeviceProblem& problem, const LinkCosts& links) {
  WayCosts ways = host_ways(problem, links);
  for (DeviceIndex one = 0; one < problem.host(); ++one) {
    for (DeviceIndex other = 0; other < problem.host(); ++other) {
      if (links.is_direct(other, one)) {
        ways.in[one] = std::min(ways.in[one], links.direct(other, one) / 2);
      }
      if (links.is_direct(one, other)) {
        ways.out[one] = std::min(ways.out[one], links.direct(one, other) / 2);
      }
    }
  }
  return ways;
}

// The values of the problem between one target and the host, with units that cost nothing yet.
DeviceProblem two_sides(const DeviceProblem& problem, double in, double out) {
  DeviceProblem sides;
  sides.targets = {{.down_cost = in, .up_cost = out}};
  sides.unit_costs.assign(problem.unit_count() * 2, 0);
  sides.producer = problem.producer;
  sides.readers = problem.readers;
  sides.bytes = problem.bytes;
  sides.host_reads = problem.host_reads;
  sides.stays_with = problem.stays_with;
  return sides;
}

double cut_of(const DeviceProblem& sides) {
  const LinkCosts links(sides);
  return charged_cost(sides, links, expand_all(sides, links, {}, {}), {});
}

struct Cheapest {
  DeviceIndex device = 0;
  double cost = 0;
  double next = 0;  // on any other device; infinity: none
};

Cheapest cheapest(const DeviceProblem& problem, std::uint32_t unit) {
  Cheapest found{0, kInfinity, kInfinity};
  for (DeviceIndex device = 0; device <= problem.host(); ++device) {
    const double cost = problem.accepts(device, unit) ? problem.cost(unit, device) : kInfinity;
    if (cost < found.cost) {
      found = {device, cost, found.cost};
    } else {
      found.next = std::min(found.next, cost);
    }
  }
  return found;
}

double bound_as_one(const DeviceProblem& problem, const WayCosts& ways) {
  DeviceProblem sides =
      two_sides(problem, *std::ranges::min_element(ways.in), *std::ranges::min_element(ways.out));
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    double best = kInfinity;
    for (DeviceIndex device = 0; device < problem.host(); ++device) {
      if (problem.accepts(device, unit)) best = std::min(best, problem.cost(unit, device));
    }
    sides.unit_costs[unit * 2] = best < kInfinity ? best : DeviceProblem::kRefused;
    sides.unit_costs[unit * 2 + 1] = problem.cost(unit, problem.host());
  }
  return cut_of(sides);
}

// What a unit costs above its cheapest device is shared by two cuts: that of the device it is on, and
// that of its cheapest device, which it left. The host has no cut, so that the other has all of it. The sum
// of the cuts is then no more than any placement costs, since each placement is one side of every cut.
double bound_one_by_one(const DeviceProblem& problem, const WayCosts& ways) {
  const DeviceIndex host = problem.host();
  double bound = 0;
  std::vector<Cheapest> best(problem.unit_count());
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    best[unit] = cheapest(problem, unit);
    bound += best[unit].cost;
  }
  for (DeviceIndex device = 0; device < host; ++device) {
    DeviceProblem sides = two_sides(problem, ways.in[device], ways.out[device]);
    for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
      double& here = sides.unit_costs[unit * 2];
      double& elsewhere = sides.unit_costs[unit * 2 + 1];
      const bool is_best = best[unit].device == device;
      if (!problem.accepts(device, unit)) {
        here = DeviceProblem::kRefused;
      } else if (is_best && best[unit].next == kInfinity) {
        elsewhere = DeviceProblem::kRefused;
      } else if (is_best) {
        elsewhere = kInfinity;
        for (DeviceIndex other = 0; other <= host; ++other) {
          if (other == device || !problem.accepts(other, unit)) continue;
          const double more = problem.cost(unit, other) - best[unit].cost;
          elsewhere = std::min(elsewhere, other == host ? more : more / 2);
        }
      } else {
        const double more = problem.cost(unit, device) - best[unit].cost;
        here = best[unit].device == host ? more : more / 2;
      }
    }
    bound += cut_of(sides);
  }
  return bound;
}

// With the shares that the directions of full-duplex links have. A part waits for the longer direction, which is
// no less than any weighted mean of both: each share is a bound, and none is the best for all models.
double bound_with(const DeviceProblem& problem, double in_share) {
  const LinkCosts links(problem, in_share, 1 - in_share);
  const double as_one = bound_as_one(problem, host_ways(problem, links));
  if (problem.targets.size() == 1) return as_one;  // the other is the same then
  return std::max(as_one, bound_one_by_one(problem, cheapest_ways(problem, links)));
}

}  // namespace

double least_cost(const DeviceProblem& problem) {
  const DeviceIndex host = problem.host();
  double all_on_host = 0;
  bool host_takes_all = true;
  std::vector<std::uint8_t> takes(problem.targets.size(), 0);
  for (std::uint32_t unit = 0; unit < problem.unit_count(); ++unit) {
    host_takes_all = host_takes_all && problem.accepts(host, unit);
    all_on_host += problem.cost(unit, host);
    for (DeviceIndex target = 0; target < host; ++target) {
      if (problem.accepts(target, unit)) takes[target] = 1;
    }
  }
  if (problem.targets.empty()) return all_on_host;
  double bound = bound_with(problem, 0.5);
  const bool is_any_full = std::ranges::any_of(
      problem.targets, [](const DeviceTarget& target) { return target.duplex == Duplex::full; });
  if (is_any_full) {
    for (const double share : {0.0, 0.25, 0.75, 1.0}) {
      bound = std::max(bound, bound_with(problem, share));
    }
  }
  double launch = kInfinity;
  for (std::size_t i = 0; i < takes.size(); ++i) {
    if (takes[i] != 0) launch = std::min(launch, problem.targets[i].launch_cost);
  }
  bound += launch;
  return host_takes_all ? std::min(bound, all_on_host) : bound;
}

// ---- rounds ----
//
// Steps:
// 1. chains: for each unit the most parts on a path that starts there;
// 2. the rule, with the host first whenever it has work, and with the host like a target;
// 3. where neither reaches the bound, a search: layer by layer, one more part on a target in each.

namespace {

// The most parts on a path from a unit on, its own included: on targets, and in all.
struct Chain {
  std::uint32_t acc = 0;
  std::uint32_t all = 0;
  auto operator<=>(const Chain&) const = default;
};

// A placement of the graph, with what all orders share.
class Problem {
 public:
  explicit Problem(const RoundsInput& input)
      : input_(input), devices_(input.device_of.data()), readers_(input.graph.readers) {
    find_chains();
  }

  std::size_t unit_count() const { return input_.graph.unit_count(); }
  std::size_t device_count() const { return input_.device_count; }
  std::uint64_t size() const { return input_.graph.size(); }
  DeviceIndex host() const { return static_cast<DeviceIndex>(input_.device_count - 1); }
  DeviceIndex device(std::uint32_t unit) const { return devices_[unit]; }
  std::span<const std::uint32_t> readers(std::uint32_t unit) const { return readers_.of(unit); }
  // By unit: reads from other units.
  const std::vector<std::uint32_t>& waits() const { return input_.graph.waits; }
  const Chain& chain(std::uint32_t unit) const { return chains_[unit]; }
  const Chain& least() const { return least_; }

  // A better bound than one path: of each device the most of its parts on a path, summed. Linear in the
  // size for each device.
  Chain least_by_device() const {
    const std::size_t count = device_count();
    std::vector<std::uint32_t> own(unit_count() * count,
                                   0);  // by unit and device: parts from it on
    std::vector<std::uint32_t> most(count, 0);
    const auto& order = input_.graph.order;
    for (auto unit = order.rbegin(); unit != order.rend(); ++unit) {
      std::uint32_t* const parts = &own[*unit * count];
      const std::size_t here = device(*unit);
      parts[here] = 1;
      for (const std::uint32_t reader : readers(*unit)) {
        const std::uint32_t* const later = &own[reader * count];
        const std::uint32_t is_new = device(reader) != here ? 1 : 0;
        parts[here] = std::max(parts[here], later[here] + is_new);
        for (std::size_t of = 0; of < count; ++of) parts[of] = std::max(parts[of], later[of]);
      }
      for (std::size_t of = 0; of < count; ++of) most[of] = std::max(most[of], parts[of]);
    }
    const std::uint32_t all = std::accumulate(most.begin(), most.end(), 0U);
    return {all - most.back(), all};
  }

 private:
  void find_chains() {
    chains_.resize(unit_count());
    const auto& order = input_.graph.order;
    for (auto unit = order.rbegin(); unit != order.rend(); ++unit) {
      const DeviceIndex here = device(*unit);
      const std::uint32_t own = here == host() ? 0 : 1;
      Chain chain = {own, 1};
      for (const std::uint32_t reader : readers(*unit)) {
        const bool is_other = device(reader) != here;
        const Chain& later = chains_[reader];
        chain.acc = std::max(chain.acc, later.acc + (is_other ? own : 0));
        chain.all = std::max(chain.all, later.all + (is_other ? 1 : 0));
      }
      chains_[*unit] = chain;
      least_.acc = std::max(least_.acc, chain.acc);
      least_.all = std::max(least_.all, chain.all);
    }
  }

  const RoundsInput& input_;
  const DeviceIndex* devices_;  // by unit
  const Adjacency& readers_;
  std::vector<Chain> chains_;
  Chain least_;  // the longest of all, each number by itself
};

struct Order {
  std::vector<DeviceIndex> devices;    // by part
  std::vector<std::uint32_t> part_of;  // by unit
  std::size_t acc_parts = 0;

  bool is_better_than(const Order& other) const {
    return std::pair(acc_parts, devices.size()) < std::pair(other.acc_parts, other.devices.size());
  }
};

// Takes rounds one by one. A chooser is given the ready units of all devices and returns the next.
class Runner {
 public:
  explicit Runner(const Problem& problem)
      : problem_(problem),
        waits_(problem.waits()),
        ready_(problem.device_count()),
        longest_(problem.device_count()) {
    order_.part_of.assign(problem.unit_count(), 0);
    for (std::uint32_t unit = 0; unit < waits_.size(); ++unit) {
      if (waits_[unit] == 0) queue(unit);
    }
  }

  // The rule: the longest chain first, the earlier target on a tie. What is left must follow the longest chain
  // in any case; a shorter one can wait for a later round of its device.
  Order by_rule(bool is_host_first) && {
    while (left_ > 0) {
      const bool takes_host = is_host_first && !ready_.back().empty();
      take(takes_host ? problem_.host() : longest(is_host_first));
    }
    return std::move(order_);
  }

  // These devices in turn, and the rule from there.
  Order in_turn(const std::vector<DeviceIndex>& devices) && {
    for (const DeviceIndex device : devices) take(device);
    return std::move(*this).by_rule(true);
  }

 private:
  DeviceIndex longest(bool is_acc_first) const {
    const auto rank = [&](const Chain& chain) {
      return is_acc_first ? std::pair(chain.acc, chain.all) : std::pair(chain.all, chain.acc);
    };
    std::optional<DeviceIndex> best;
    for (std::size_t device = 0; device < ready_.size(); ++device) {
      if (ready_[device].empty()) continue;
      if (best && rank(longest_[device]) <= rank(longest_[*best])) continue;
      best = static_cast<DeviceIndex>(device);
    }
    return *best;
  }

  void queue(std::uint32_t unit) {
    const DeviceIndex device = problem_.device(unit);
    const Chain& chain = problem_.chain(unit);
    if (ready_[device].empty()) longest_[device] = {};
    longest_[device].acc = std::max(longest_[device].acc, chain.acc);
    longest_[device].all = std::max(longest_[device].all, chain.all);
    ready_[device].push_back(unit);
    ++left_;
  }

  void take(DeviceIndex device) {
    const auto part = static_cast<std::uint32_t>(order_.devices.size());
    order_.devices.push_back(device);
    if (device != problem_.host()) ++order_.acc_parts;
    auto& now = ready_[device];
    while (!now.empty()) {
      const std::uint32_t unit = now.back();
      now.pop_back();
      --left_;
      order_.part_of[unit] = part;
      for (const std::uint32_t reader : problem_.readers(unit)) {
        if (--waits_[reader] > 0) continue;
        if (problem_.device(reader) != device) {
          queue(reader);
        } else {  // it is taken with this part: how long its chain is does not matter
          now.push_back(reader);
          ++left_;
        }
      }
    }
  }

  const Problem& problem_;
  std::vector<std::uint32_t> waits_;
  std::vector<std::vector<std::uint32_t>> ready_;  // by device
  std::vector<Chain> longest_;                     // by device: of its ready units
  std::size_t left_ = 0;                           // ready units
  Order order_;
};

// The search. A state is a set of ready units, which says what has been taken. All states of a layer
// have as many parts on targets; the next layer has one more, after a part on the host or without. Layers by
// parts on targets, since these are what is minimised first: the first layer with a complete order has the
// fewest that the search can find.
class Beam {
 public:
  Beam(const Problem& problem, const RoundsEffort& effort)
      : problem_(problem),
        width_(effort.states),
        most_steps_(effort.steps_an_entry * problem.size()),
        waits_(problem.waits()) {}

  // The devices of the best order that was found, or, if the steps do not suffice, how it begins.
  std::vector<DeviceIndex> run() {
    layer_.emplace_back();
    for (std::uint32_t unit = 0; unit < waits_.size(); ++unit) {
      if (waits_[unit] == 0) add_ready(unit, layer_.front());
    }
    while (true) {
      best_end_.reset();
      for (const State& state : layer_) expand(state);
      if (best_end_) return way_to(best_end_->way);
      keep_best_of_next();
      if (steps_spent_ <= most_steps_) continue;
      saw_all_ = false;
      return way_to(layer_.front().way);
    }
  }

  // True when no state was left out, so that no order is better.
  bool saw_all() const { return saw_all_; }
  std::uint64_t steps() const { return steps_spent_; }

 private:
  static constexpr auto kStart = std::uint32_t(-1);
  struct Waiting {
    std::uint32_t unit;
    std::uint32_t left;  // units that it waits for
  };
  struct State {
    std::vector<std::uint32_t> ready = {};  // ascending
    std::vector<Waiting> waiting = {};      // units for which some, but not all, makers were taken
    std::uint32_t devices = 0;              // those that have ready units
    std::uint32_t parts = 0;
    std::uint32_t way = kStart;  // the last step that led here

    bool has_ready(DeviceIndex device) const { return (devices >> device & 1U) != 0; }
  };
  // An order that is complete.
  struct End {
    std::uint32_t parts;
    std::uint32_t way;
  };
  struct Step {
    std::uint32_t before;
    DeviceIndex device;
  };
  // What is left of a state, the better the less: the longest chains, then how many devices
  // compete for each length of chain.
  struct Rank {
    std::uint32_t longest_acc = 0;
    std::uint32_t parts = 0;  // so far, and of the longest chain
    std::size_t rivals = 0;
    std::size_t ready = 0;
    auto operator<=>(const Rank&) const = default;
  };

  void expand(const State& state) {
    const DeviceIndex host = problem_.host();
    if (state.ready.empty()) return offer_end(state);
    for (DeviceIndex device = 0; device < host; ++device) {
      if (state.has_ready(device)) take(state, device, new_state());
    }
    if (!state.has_ready(host)) return;
    take(state, host, after_host_);
    if (after_host_.ready.empty()) return offer_end(after_host_);
    for (DeviceIndex device = 0; device < host; ++device) {
      if (after_host_.has_ready(device)) take(after_host_, device, new_state());
    }
  }

  // One more state of the next layer, with the memory of one of an earlier layer.
  State& new_state() {
    if (next_count_ == next_.size()) next_.emplace_back();
    return next_[next_count_++];
  }

  void add_ready(std::uint32_t unit, State& state) const {
    state.ready.push_back(unit);
    state.devices |= 1U << problem_.device(unit);
  }

  void take(const State& state, DeviceIndex device, State& after) {
    for (const Waiting& each : state.waiting) waits_[each.unit] = each.left;
    after.ready.clear();
    after.waiting.clear();
    after.devices = state.devices & ~(1U << device);
    after.parts = state.parts + 1;
    after.way = static_cast<std::uint32_t>(steps_.size());
    steps_.push_back({state.way, device});
    now_.clear();
    for (const std::uint32_t unit : state.ready) {
      (problem_.device(unit) == device ? now_ : after.ready).push_back(unit);
    }
    const std::size_t kept = after.ready.size();
    touched_.clear();
    while (!now_.empty()) {
      const std::uint32_t unit = now_.back();
      now_.pop_back();
      for (const std::uint32_t reader : problem_.readers(unit)) {
        if (waits_[reader] == problem_.waits()[reader]) touched_.push_back(reader);
        if (--waits_[reader] > 0) continue;
        if (problem_.device(reader) == device) {
          now_.push_back(reader);
        } else {
          add_ready(reader, after);
        }
      }
      steps_spent_ += 1 + problem_.readers(unit).size();
    }
    const auto added = after.ready.begin() + static_cast<std::ptrdiff_t>(kept);
    std::sort(added, after.ready.end());
    std::inplace_merge(after.ready.begin(), added, after.ready.end());
    for (const Waiting& each : state.waiting) settle(each.unit, after);
    for (const std::uint32_t unit : touched_) settle(unit, after);
    steps_spent_ += state.ready.size() + state.waiting.size();
  }

  // Notes what the unit still waits for, and leaves the table as it was.
  void settle(std::uint32_t unit, State& after) {
    if (waits_[unit] > 0) after.waiting.push_back({unit, waits_[unit]});
    waits_[unit] = problem_.waits()[unit];
  }

  void offer_end(const State& state) {
    if (!best_end_ || state.parts < best_end_->parts) best_end_ = {state.parts, state.way};
  }

  Rank rank(const State& state) {
    Rank rank{.ready = state.ready.size()};
    std::uint32_t longest = 0;
    rivals_.clear();
    for (const std::uint32_t unit : state.ready) {
      const Chain& chain = problem_.chain(unit);
      rank.longest_acc = std::max(rank.longest_acc, chain.acc);
      longest = std::max(longest, chain.all);
      rivals_.emplace_back(chain.all, problem_.device(unit));
    }
    std::ranges::sort(rivals_);
    const auto end = std::unique(rivals_.begin(), rivals_.end());
    rank.rivals = static_cast<std::size_t>(end - rivals_.begin());
    rank.parts = state.parts + longest;
    return rank;
  }

  // The best states of the next layer are the layer. Of those with the same ready units one is kept, that
  // with the fewest parts.
  void keep_best_of_next() {
    ranked_.clear();
    for (std::size_t i = 0; i < next_count_; ++i) ranked_.emplace_back(rank(next_[i]), &next_[i]);
    std::ranges::stable_sort(ranked_, [](const auto& a, const auto& b) {
      const auto order = a.first <=> b.first;
      return order != 0 ? order < 0 : a.second->ready < b.second->ready;
    });
    std::size_t count = 0;
    for (const auto& ranked : ranked_) {
      State* const state = ranked.second;
      const bool is_there =
          std::ranges::any_of(std::span(layer_).first(std::min(count, layer_.size())),
                              [&](const State& other) { return other.ready == state->ready; });
      if (is_there) continue;
      if (count == width_) {
        saw_all_ = false;
        break;
      }
      if (count == layer_.size()) layer_.emplace_back();
      std::swap(layer_[count++], *state);
    }
    layer_.resize(count);
    next_count_ = 0;
  }

  std::vector<DeviceIndex> way_to(std::uint32_t step) const {
    std::vector<DeviceIndex> devices;
    for (; step != kStart; step = steps_[step].before) devices.push_back(steps_[step].device);
    std::ranges::reverse(devices);
    return devices;
  }

  const Problem& problem_;
  const std::size_t width_;
  const std::uint64_t most_steps_;
  std::uint64_t steps_spent_ = 0;
  std::vector<std::uint32_t> waits_;  // as in the problem, except while a round is taken
  std::vector<std::uint32_t> now_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::pair<std::uint32_t, DeviceIndex>> rivals_;
  std::vector<Step> steps_;
  std::vector<State> layer_;
  std::deque<State> next_;  // the first next_count_; the others lend their memory
  std::size_t next_count_ = 0;
  State after_host_;
  std::vector<std::pair<Rank, State*>> ranked_;
  std::optional<End> best_end_;
  bool saw_all_ = true;
};

}  // namespace

RoundsGraph::RoundsGraph(const Adjacency& readers_by_unit)
    : readers(readers_by_unit), waits(readers.count(), 0) {
  for (const std::uint32_t reader : readers.items) ++waits[reader];
  order.resize(waits.size());
  std::vector<std::uint32_t> left = waits;
  std::size_t found = 0;
  for (std::uint32_t unit = 0; unit < left.size(); ++unit) {
    if (left[unit] == 0) order[found++] = unit;
  }
  for (std::size_t next = 0; next < found; ++next) {
    for (const std::uint32_t reader : readers.of(order[next])) {
      if (--left[reader] == 0) order[found++] = reader;
    }
  }
}

Rounds find_rounds(const RoundsInput& input, const RoundsEffort& effort) {
  const Problem problem(input);
  Order best = Runner(problem).by_rule(false);
  Chain least = problem.least();
  const auto is_least = [&] {
    return best.acc_parts == least.acc && best.devices.size() == least.all;
  };
  std::uint64_t steps = 2 * problem.size();
  // The better bound costs less than a second run of the rule, which it often makes needless.
  if (!is_least() && effort.states > 0) {
    least = problem.least_by_device();
    steps += problem.device_count() * problem.size();
  }
  if (!is_least()) {
    Order other = Runner(problem).by_rule(true);
    if (other.is_better_than(best)) best = std::move(other);
    steps += problem.size();
  }
  bool is_fewest = is_least();
  if (!is_fewest && effort.states > 0 && problem.unit_count() <= effort.most_units) {
    Beam beam(problem, effort);
    Order found = Runner(problem).in_turn(beam.run());
    if (found.is_better_than(best)) best = std::move(found);
    is_fewest = beam.saw_all() || is_least();
    steps += beam.steps();
  }
  Rounds rounds;
  if (effort.lists_units) rounds.units = members_of(best.part_of, best.devices.size());
  rounds.devices = std::move(best.devices);
  rounds.part_of = std::move(best.part_of);
  rounds.acc_parts = best.acc_parts;
  rounds.least_acc_parts = least.acc;
  rounds.least_parts = least.all;
  rounds.is_fewest = is_fewest;
  rounds.steps = steps;
  return rounds;
}

}  // namespace cleave
