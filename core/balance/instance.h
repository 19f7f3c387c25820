// A balance problem made compact: the searches see groups of items that stay together.
//
// Groups come from colours (with every item that the order ties to them both ways) and from
// contraction. Nets within one group are dropped, nets over the same groups are merged. The
// searches work on groups only; what they find is checked on the items.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/balance/problem.h"
#include "core/balance/solver.h"
#include "core/base/adjacency.h"

namespace cleave::balance {

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

}  // namespace cleave::balance
