// A balance problem made compact: the searches see groups of items that stay together.
//
// Groups come from colours (with every item that the order ties to them both ways) and from
// contraction. Nets within one group are dropped, nets over the same groups are merged. The
// searches work on groups only; what they find is checked on the items.
#pragma once

#include <cstdint>
#include <vector>

#include "core/balance/fleet.h"
#include "core/balance/solver.h"
#include "core/base/adjacency.h"

namespace cleave::balance {

struct Instance {
  const BalanceProblem* problem = nullptr;
  const Fleet* fleet = nullptr;
  CommModel comm = CommModel::serial;

  // By group; numbered so that successors come later.
  std::vector<double> time;
  std::vector<double> host_time;
  std::vector<double> bytes;            // own parameters
  std::vector<std::uint8_t> host_only;  // holds an item that cannot run on an accelerator
  Adjacency successors;                 // ascending, each once
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
