// The ways to balance, private to this room: bounds, exact, linear, search.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/base.h"
#include "core/base/min_cut.h"
#include "core/stages/balance.h"

namespace cleave::balance {

// ---- instance ----
//
// A balance problem made compact: the searches see groups of items that stay together.
//
// Groups come from colours (with every item that the order ties to them both ways) and from
// contraction. Nets within one group are dropped, nets over the same groups are merged. The
// searches work on groups only; what they find is checked on the items.

// The devices of a balance problem as states: how many of each kind the stages so far have taken.
//
// Equal devices form one kind, so that N of them make N+1 states instead of 2^N. A step gives the
// next stage to a device of a kind:
//   3 equal accelerators:            0 -> 1 -> 2 -> 3
//   2 accelerators, 1 host, any order: (0,0) -> (1,0) -> (2,0), each with a step to (.,1)
//   different devices in order:      0 -> 1 -> 2; a device may be passed over
struct DeviceKind {
  double time_scale = 1;
  double comm_scale = 1;
  double memory = kUnlimited;  // kUnlimited too when everything fits
  bool is_host = false;
  std::uint32_t target = 0;

  bool operator==(const DeviceKind&) const = default;
};

struct Step {
  std::uint32_t to = 0;  // state; always greater than the one that the step leaves
  std::uint32_t kind = 0;
};

class Fleet {
 public:
  explicit Fleet(const BalanceProblem& problem, bool exact_stages);

  std::span<const DeviceKind> kinds() const { return kinds_; }
  std::size_t state_count() const { return steps_begin_.size() - 1; }
  std::span<const Step> steps(std::uint32_t state) const {
    return std::span(steps_).subspan(steps_begin_[state],
                                     steps_begin_[state + 1] - steps_begin_[state]);
  }
  // The number of devices taken or passed over.
  std::uint32_t used(std::uint32_t state) const { return used_[state]; }
  std::uint32_t device_count() const { return used_.back(); }
  std::uint32_t full_state() const { return static_cast<std::uint32_t>(state_count() - 1); }
  // Whether a step from a state to the next one may pass over a device.
  bool may_skip() const { return may_skip_; }
  bool exact_stages() const { return exact_stages_; }
  bool has_host() const { return has_host_; }
  bool has_caps() const { return has_caps_; }
  bool is_uniform() const { return kinds_.size() == 1 && !has_host_; }
  bool in_order() const { return in_order_; }

  // The kinds of all devices, in the order of the list when devices are used in order, else by
  // kind.
  std::span<const std::uint32_t> kind_of_device() const { return kind_of_device_; }
  // Gives each stage an index into BalanceProblem::devices. The fleet must have the kinds of
  // `kind_of_stage`.
  std::vector<std::uint32_t> devices_of(std::span<const std::uint32_t> kind_of_stage) const;

 private:
  void make_states_in_order();
  void make_states_in_any_order();

  std::vector<DeviceKind> kinds_;
  std::vector<std::uint32_t> count_of_kind_;
  std::vector<std::uint32_t> kind_of_device_;
  std::vector<std::uint32_t> entry_of_device_;  // index into BalanceProblem::devices
  std::vector<std::uint32_t> steps_begin_ = {0};
  std::vector<Step> steps_;
  std::vector<std::uint32_t> used_;
  bool exact_stages_ = false;
  bool may_skip_ = false;
  bool in_order_ = false;
  bool has_host_ = false;
  bool has_caps_ = false;
};

struct Instance {
  const BalanceProblem* problem = nullptr;
  const Fleet* fleet = nullptr;
  CommModel comm = CommModel::serial;

  // By group; numbered so that successors come later.
  std::vector<double> time;
  std::vector<double> host_time;
  std::vector<double> bytes;            // own parameters
  std::vector<std::uint8_t> host_only;  // holds an item that cannot run on an accelerator
  // By group and target: the group's time there; below 0: the target does not take it. `time` is then
  // the least of a group's times, so that bounds hold. Empty: there is one target.
  std::vector<double> target_time;
  std::size_t targets = 0;
  Adjacency successors;  // ascending, each once
  Adjacency predecessors;
  Adjacency shared;  // shared parameters that the group uses

  // By net with a cost; each group is listed once.
  std::vector<double> net_cost;
  std::vector<std::uint32_t> net_home;  // the producer's group; one of the pins
  Adjacency pins;                       // ascending
  Adjacency nets_of;                    // by group

  std::vector<std::uint32_t> group_of;  // by item of the problem
  Adjacency items_of;                   // by group
  bool has_activations = false;         // memory is limited: live values take memory

  std::size_t size() const { return time.size(); }
  bool takes(const DeviceKind& kind, std::uint32_t group) const {
    if (kind.is_host) return true;
    return targets == 0 ? host_only[group] == 0 : target_time[group * targets + kind.target] >= 0;
  }
  // At speed 1, on a kind that takes the group.
  double time_on(const DeviceKind& kind, std::uint32_t group) const {
    if (targets == 0 || kind.is_host) return time[group];
    return std::max(0.0, target_time[group * targets + kind.target]);
  }
  std::size_t net_count() const { return net_cost.size(); }
  double load(const DeviceKind& kind, double time_sum, double host_sum, double in,
              double out) const {
    if (kind.is_host) return host_sum;
    return stage_load(comm, time_sum * kind.time_scale, in * kind.comm_scale,
                      out * kind.comm_scale);
  }
};

// `group_of` is by item and holds numbers below `group_count`. Groups must not form a cycle.
Instance make_instance(const BalanceProblem& problem, const Fleet& fleet, CommModel comm,
                       const std::vector<std::uint32_t>& group_of, std::size_t group_count);

// The groups that every assignment must keep: items of one colour and all items on a cycle with
// them.
Components tied_items(const BalanceProblem& problem);

// By group, of devices in order: the first that may hold it if each group before it is as early as it
// can be; kNoItem: none may, whatever their memory. Linear.
std::vector<std::uint32_t> earliest_devices(const Instance& instance);
// The same from the end: the last that may hold it.
std::vector<std::uint32_t> latest_devices(const Instance& instance);

// Merges groups where that provably keeps the best objective (with at most all devices). A group u
// whose only successor, or only predecessor, is v may join v when the nets that only u and v share
// cost at least u's time plus u's nets without v: moving u to v's stage then makes no stage slower.
// Linear per round; rounds are few, since each does all independent merges.
Instance contracted(Instance instance);

// An assignment of groups to stages. Stages may be empty.
struct Candidate {
  double objective = kUnlimited;
  std::vector<std::uint32_t> stage_of;       // by group
  std::vector<std::uint32_t> kind_of_stage;  // kinds the fleet has, in its order if it has one
};

// A candidate checked on the items: its true objective, or how much memory the worst stage lacks.
struct Checked {
  double objective = kUnlimited;     // kUnlimited when it does not fit
  double excess_bytes = 0;           // of the stage furthest above its device's memory
  std::vector<BalanceStage> stages;  // none is empty
  std::vector<std::uint32_t> stage_of;
};
Checked check(const Instance& instance, const Candidate& candidate);

// ---- orders ----
//
// Topological orders of an instance's groups, for the dynamic program to cut. Which one is best
// depends on the graph: with costly transfers they differ by up to a tenth, but the best of six
// seldom do.

using Order = std::vector<std::uint32_t>;  // all groups; successors later

// The groups as numbered: the items' own order, as far as groups allow.
Order given_order(const Instance& instance);

// Seven orders: as given; last ready first; first ready first; reverse depth-first postorder from
// the sources; depth-first postorder from the sinks; least live cut next; longest way to the end
// first. O(edges + pins, times log).
std::vector<Order> standard_orders(const Instance& instance);

// Takes the ready group with the least key first; among equals the one with the lower number.
Order order_by_key(const Instance& instance, std::span<const double> key);

// ---- search ----
//
// Local search: moves groups between neighbouring stages and cuts the result anew.
//
// It anneals the stage of each group. A move keeps the order (no earlier than any predecessor, no
// later than any successor) and changes two stages only, since a stage pays for a net once,
// wherever the net's other pins are. The energy is the sum of (load / best)^P: with P = 24 it is
// nearly the greatest load, with P = 4 groups can pass through full stages; rounds alternate
// between the two. After a round the stages become an order of groups, which the dynamic program
// cuts: that moves many groups at once.

// The state of a local search: each group's stage, each stage's cost, and how both change when a
// group moves.
class StageState {
 public:
  // `reserve` is by stage: bytes kept free for activations, which moves do not count.
  StageState(const Instance& instance, const Candidate& candidate, std::vector<double> reserve);

  std::uint32_t stage_count() const { return static_cast<std::uint32_t>(members_.size()); }
  std::uint32_t stage_of(std::uint32_t group) const { return stage_of_[group]; }
  const std::vector<std::uint32_t>& stages() const { return stage_of_; }
  std::span<const std::uint32_t> members(std::uint32_t stage) const { return members_[stage]; }

  struct Range {
    std::uint32_t first, last;
  };
  // The stages that the group may be in while all others stay. O(its edges).
  Range range_of(std::uint32_t group) const;
  bool may_enter(std::uint32_t group, std::uint32_t stage) const {
    return instance_.takes(kind(stage), group);
  }
  // Moves the group. O(its nets).
  void move(std::uint32_t group, std::uint32_t to);

  double load(std::uint32_t stage) const {
    const Sums& s = sums_[stage];
    return instance_.load(kind(stage), s.time, s.host_time, s.in, s.out);
  }
  // By what share of its memory the stage is too large; 0 when it fits.
  double overflow(std::uint32_t stage) const {
    const double room = kind(stage).memory - reserve_[stage];
    return sums_[stage].bytes > room ? (sums_[stage].bytes - room) / kind(stage).memory : 0;
  }

 private:
  struct Sums {
    double time = 0, host_time = 0, in = 0, out = 0, bytes = 0;
  };
  const DeviceKind& kind(std::uint32_t stage) const { return *kinds_[stage]; }
  std::uint32_t& pins_in(std::uint32_t net, std::uint32_t stage) {
    return pins_in_[std::size_t{net} * members_.size() + stage];
  }
  std::uint32_t& users_in(std::uint32_t shared, std::uint32_t stage) {
    return users_in_[std::size_t{shared} * members_.size() + stage];
  }
  void add(std::uint32_t group, std::uint32_t stage);
  void remove(std::uint32_t group);
  void count_net(std::uint32_t net, std::uint32_t stage, double sign);

  const Instance& instance_;
  std::vector<const DeviceKind*> kinds_;  // by stage
  std::vector<double> reserve_;
  std::vector<Sums> sums_;
  std::vector<std::uint32_t> stage_of_;
  std::vector<std::vector<std::uint32_t>> members_;
  std::vector<std::uint32_t> place_;  // of each group among its stage's members
  std::vector<std::uint32_t> pins_in_;
  std::vector<std::uint32_t> users_in_;
};

// The time at which to stop, if there is one.
class Deadline {
 public:
  explicit Deadline(double seconds);
  bool has_passed() const { return limited_ && std::chrono::steady_clock::now() >= at_; }

 private:
  bool limited_ = false;
  std::chrono::steady_clock::time_point at_;
};

struct SearchOptions {
  std::uint64_t moves = 0;  // limit of the moves tried
  std::uint64_t seed = 1;
  // false: the start exceeds a device's memory, and the search begins by making room
  bool start_fits = true;
  double enough = 0;  // stops at this objective: the lower bound
  const Deadline* deadline = nullptr;
  const Progress* progress = nullptr;
};

struct SearchResult {
  Candidate best;
  std::uint64_t moves = 0;
};

// The best fits the devices' memory and is never worse than a start that fits. Its objective is
// kUnlimited when the start does not fit and no fitting assignment was found.
SearchResult local_search(const Instance& instance, const Candidate& start,
                          const SearchOptions& options);

// ---- bound ----
//
// Lower bounds on the objective of any assignment, each named by its certificate.
//
// "work": all compute, spread evenly over the devices. "single-node": every item has to run on some
// device. "path-mincut": take a chain of groups, each after the one before. Any pipeline cuts it
// into runs, one run a stage. A stage that holds exactly the run a..b of the chain
//   must hold what lies between them       (after a, before b)
//   cannot hold what lies before a-1 or after b+1
// so it pays at least m(a,b), the minimum cut of the nets that separates the two sets. It takes at
// least f(a,b), the same minimum cut where each undecided group may also come along at the price of
// its time. An objective T cannot be reached when no cut of the chain into runs with f <= T leaves
// devices with room for all the work after paying m for every run. Bisection finds the least T that
// can be reached.

// The least cost of a stage that must hold some groups and cannot hold others: a minimum cut of the
// nets.
enum class Side : std::uint8_t { open, in, out };

class CutNetwork {
 public:
  explicit CutNetwork(const Instance& instance);

  // Starts a new network; nets are then added, each once. The sides of groups must not change in
  // between.
  void start();
  // `side_of` gives the side of each of the net's pins, which are those of Instance::pins.
  template <class SideOf>
  void add_net(std::uint32_t net, SideOf side_of);
  // The least cost of the nets that any such stage cuts; stops counting at `limit`.
  double least_cut(double limit);
  // The same when an open group may join the stage at the price of its time. Call after least_cut.
  double least_cut_with_time(double limit);

  std::uint64_t steps() const { return network_.steps() + pins_seen_; }

 private:
  std::uint32_t node_of(std::uint32_t group);
  void add_open_net(double cost, bool has_in, bool has_out);

  const Instance& instance_;
  FlowNetwork network_;
  std::vector<std::uint32_t> node_of_;  // by group; valid where stamp_ is now_
  std::vector<std::uint32_t> stamp_;
  std::uint32_t now_ = 0;
  std::vector<std::uint32_t> open_groups_;  // in the network
  std::vector<std::uint32_t> open_pins_;    // of the net being added
  double always_cut_ = 0;                   // nets with pins on both sides
  std::uint64_t pins_seen_ = 0;
};

template <class SideOf>
void CutNetwork::add_net(std::uint32_t net, SideOf side_of) {
  open_pins_.clear();
  bool has_in = false;
  bool has_out = false;
  for (const std::uint32_t group : instance_.pins.of(net)) {
    const Side side = side_of(group);
    has_in = has_in || side == Side::in;
    has_out = has_out || side == Side::out;
    if (side == Side::open) open_pins_.push_back(group);
  }
  pins_seen_ += instance_.pins.of(net).size();
  if (has_in && has_out) {
    always_cut_ += instance_.net_cost[net];
  } else if (!open_pins_.empty()) {
    add_open_net(instance_.net_cost[net], has_in, has_out);
  }
}

// A chain of groups, and the position of every other group relative to it.
class Chain {
 public:
  // `links` ascend, each one after the one before in the order.
  Chain(const Instance& instance, std::vector<std::uint32_t> links);

  std::uint32_t size() const { return static_cast<std::uint32_t>(links_.size()); }
  // The side of a group in a stage that holds exactly the links first..last of the chain.
  Side side(std::uint32_t group, std::uint32_t first, std::uint32_t last) const {
    if (after_[group] >= first && before_[group] <= last) return Side::in;
    const bool is_out = before_[group] < first || after_[group] > last;
    return is_out ? Side::out : Side::open;
  }
  // The nets with pins on both sides of the border before link `first`, or next to it.
  std::span<const std::uint32_t> nets_at(std::uint32_t border) const { return nets_at_.of(border); }
  // Sums over the groups that such a stage must hold (Side::in).
  struct Forced {
    double time = 0, host_time = 0, bytes = 0, host_only = 0;
  };
  const Forced& forced(std::uint32_t first, std::uint32_t last) const {
    return forced_[std::size_t{first - 1} * size() + (last - 1)];
  }

 private:
  void place_groups();
  void sum_forced();
  void find_nets();

  const Instance& instance_;
  std::vector<std::uint32_t> links_;
  // Links are numbered from 1. By group: the last link that it equals or follows, 0 if none; the
  // first link that it equals or precedes, size() + 1 if none.
  std::vector<std::uint32_t> after_;
  std::vector<std::uint32_t> before_;
  std::vector<Forced> forced_;
  Adjacency nets_at_;
};

// Paths through the instance that may give a good bound: the longest by time, by the cost of nets,
// and by the number of groups. Each is thinned to `most` links at equal shares; duplicates are left
// out.
std::vector<Chain> heavy_chains(const Instance& instance, std::size_t most);

struct BoundOptions {
  double reached = kUnlimited;  // an objective known to be reachable: no bound is above it
  // limit of the work on minimum cuts; a cut not computed counts as 0
  std::uint64_t flow_steps = 0;
  const Deadline* deadline = nullptr;
  const Progress* progress = nullptr;
};

struct Bound {
  double objective = 0;  // no assignment is below it; slightly rounded down
  std::string certificate;
};

// The bounds "work" and "single-node". O(n log n).
Bound simple_bound(const Instance& instance);

// The bound "path-mincut" over some chains, and single groups with what they must bring along;
// never below simple_bound().
Bound flow_bound(const Instance& instance, const BoundOptions& options);

// ---- capacity ----
//
// What a device can do: compute within a given time, and bytes at the peak of its stage.

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

// ---- exact ----
//
// The exact search: a dynamic program over the ideals of the order.

// The ideals of an instance: sets of groups that contain all predecessors of their members. The
// stages of a pipeline are the differences of ever larger ideals, so a dynamic program over ideals
// is exact. There may be exponentially many: enumeration stops at a limit.
class Ideals {
 public:
  struct Next {
    std::uint32_t group = 0;  // the group that joins
    std::uint32_t ideal = 0;  // the ideal that results
  };

  // nullopt when there are more than `most`. Time and memory O(ideals x (groups / 64 + ready
  // groups)).
  static std::optional<Ideals> enumerate(const Instance& instance, std::size_t most);

  // Ideals ascend by number of groups: first the empty one, last that of all groups.
  std::size_t count() const { return next_begin_.size() - 1; }
  std::span<const Next> next(std::uint32_t ideal) const {
    return std::span(next_).subspan(next_begin_[ideal],
                                    next_begin_[ideal + 1] - next_begin_[ideal]);
  }

 private:
  explicit Ideals(const Instance& instance);
  bool expand(std::uint32_t ideal, std::size_t most);
  bool holds(std::span<const std::uint64_t> set, std::uint32_t group) const {
    return (set[group / 64] >> (group % 64) & 1U) != 0;
  }
  std::uint32_t find_or_add(std::uint64_t hash);
  void grow_table();
  void find_ready(std::uint32_t ideal);

  const Instance& instance_;
  std::size_t words_;
  std::vector<std::uint64_t> sets_;   // words_ each
  std::vector<std::uint64_t> hash_;   // by ideal
  std::vector<std::uint64_t> code_;   // by group; an ideal's hash is the sum of its groups'
  std::vector<std::uint32_t> table_;  // open addressing: ideals by hash
  std::vector<std::uint64_t> made_;   // the set being looked up
  std::vector<std::uint32_t> ready_;  // groups that may join the ideal being expanded
  std::vector<std::size_t> next_begin_ = {0};
  std::vector<Next> next_;
};

struct ExactOptions {
  double below = kUnlimited;      // looks only for results below this
  std::size_t most_ideals = 0;    // with more ideals there is no search
  std::uint64_t most_stages = 0;  // limit of the pairs of ideals tried as a stage
  const Deadline* deadline = nullptr;
  const Progress* progress = nullptr;
};

struct ExactResult {
  // then no result is better than `best`, or than `below` if there is none
  bool is_complete = false;
  Candidate best;  // objective kUnlimited: none below the limit was found
};

// Grows stages from each ideal, group by group, as long as their compute is below the limit and the
// devices left can still do the rest.
ExactResult exact_search(const Instance& instance, const ExactOptions& options);

// ---- linear ----
//
// The best cut of one topological order into stages.
//
// best[position][state] is the least objective with which the blocks before the position fill the
// devices that the state has taken. Exact for the line: every run of blocks is tried as a stage,
// unless its compute alone is above an objective known to be reachable.

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

// The best cut of an order. Exact while the line is short enough; longer lines are cut over blocks
// around good places (LongOrder in core/stages/linear.cc). The objective is kUnlimited when none is below `below`.
Candidate cut_order(const Instance& instance, const Order& order, const LinearOptions& options);

// The best objective with at most 1, 2, ... devices, over at most some hundred blocks.
std::vector<double> rough_curve(const Instance& instance, const Order& order);

// ---- portfolio ----
//
// Runs the searches one after another, each only if the earlier ones have not proved their answer
// best.

// Why a balance problem has no answer: which constraint does not hold, and by how much.

// An obstacle visible in single groups or in sums; nullopt when there is none.
std::optional<Error> find_obstacle(const Instance& instance);

// More stages are asked for than there are groups that can be in different stages.
Error too_few_to_stand_apart(std::uint32_t stages, std::size_t apart);

// No assignment fits the devices' memory: none exists (`is_proved`), or none was found.
// `excess_bytes` is what the nearest one lacks.
Error no_room(const Instance& instance, bool is_proved, double excess_bytes);

// Numbers as text: whole ones without a point.
std::string number_text(double number);
// As above, followed by the problem's unit if it has one.
std::string time_text(const BalanceProblem& problem, double time);

// What the effort allows. All limits are counts, so that the same input gives the same answer.
struct Budget {
  std::uint64_t moves = 0;         // of the local search
  std::uint64_t flow_steps = 0;    // of the lower bound
  std::uint64_t first_stages = 0;  // of the exact search before the local search
  std::uint64_t last_stages = 0;   // of the exact search after the local search
  std::size_t ideals = 0;
  std::size_t orders = 0;
};
Budget budget_for(Effort effort, std::size_t groups);

struct PortfolioAnswer {
  Checked best;
  Bound bound;
  std::vector<double> curve;
  std::uint64_t moves = 0;
  bool is_proved_impossible = false;  // set when there is no best
  double least_excess_bytes = 0;      // of the candidate nearest to fitting
};

class Portfolio {
 public:
  Portfolio(const Instance& instance, const BalanceOptions& options, const Deadline& deadline);
  PortfolioAnswer run();

 private:
  void cut_orders();
  void cut(const Order& order);
  void make_room();
  void raise_bound();
  void search_exactly(std::uint64_t most_stages);
  void search_locally();
  void draw_curve();
  bool is_done() const;
  // Takes the candidate when it fits and is better.
  bool offer(Candidate candidate);

  const Instance& instance_;
  const BalanceOptions& options_;
  const Deadline& deadline_;
  Budget budget_;
  Candidate best_;    // as the searches see it
  Candidate misfit_;  // while no candidate fits: the one nearest to fitting
  Order best_order_;
  std::vector<Order> orders_;
  PortfolioAnswer answer_;
};

}  // namespace cleave::balance
