// Jobs that make stages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/base.h"
#include "core/base/quantity.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/split/split.h"
#include "core/stages/balance.h"
#include "core/stages/stages.h"
#include "formats/base/faults.h"
#include "formats/lists/costs.h"
#include "formats/lists/stage_tables.h"
#include "formats/report/stages/stages_report.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {

// ---- backward nodes ----
//
// The backward pass of a pipeline as nodes of its root in native JSON.

//   stage_backward             kwargs stage_output, output_grads, input_values: lists, null where
//                              there is no gradient; attribute outputs_with_grads_idxs; outputs the
//                              gradients of the stage's inputs
//   null_coalesce_accumulate   the sum of two gradients of a value; if one is null, the other
//
// The nodes in order, each on one line. Their names, and the names of gradients (`grad_<value>`),
// do not occur in the graph.
std::vector<std::string> backward_nodes(const Graph& graph, const Partition& partition,
                                        const Boundaries& boundaries, const BackwardPlan& plan);

// ---- balance job ----
//
// Balances stages: from files and options to a result with its notes. Does not print; warnings are
// part of the result.

// What a stage costs, on which devices, and how hard to search.
struct BalanceRequest {
  BalanceOptions options = {};    // except the target and the progress
  GraphCostOptions costs = {};    // except what is balanced, the link's rate, and measured times
  std::optional<Link> link = {};  // nullopt: the default
  // What a device holds at most: bytes count parameters and live activations, or parameters alone.
  enum class Memory : std::uint8_t { unset, none, bytes, parameters };
  Memory memory = Memory::unset;
  std::uint64_t memory_bytes = 0;
  std::vector<CostSource> costs_files = {};
  std::string devices_path = {};  // empty: all devices are equal
  // Of devices of several targets: what each takes, and its rates where those of `costs` do not hold.
  ListsRequest lists = {};
  std::vector<TargetSpec> targets = {};
  const OpFacts* facts = nullptr;             // of the model; lists need them
  std::optional<double> target_seconds = {};  // use the fewest stages that take no longer
  std::optional<double> target_number = {};   // the same when something other than time is balanced

  // True if a limit on parameters decides how many stages there are: the fewest that keep it.
  bool asks_fewest() const {
    return memory == Memory::parameters && devices_path.empty() && !target_seconds &&
           !target_number;
  }
};

struct BalanceRun {
  BalanceProblem problem;  // refers to the graph or workload that it was made of
  BalanceResult result = {};
  StageBalance balance = {};
  std::vector<std::string> notes = {};
  Diagnostics warnings = {};  // about the files of times
};

// Balances a workload: on its own devices, or, with `stages`, on that many accelerators without a
// host. Does not use the times, link and devices of the request.
Result<BalanceRun, Fault> balance_workload(const Workload& workload, std::uint32_t stages,
                                           const BalanceRequest& request,
                                           const Progress& progress = {});

// ---- stage plan ----
//
// Decides where a pipeline is cut: by markers, scopes and nodes, by a map of nodes, or by a policy
// for a number of stages. A policy yields the stage of each node and how well the stages are
// balanced.

// What a policy balances among a number of stages.
enum class StagePolicy : std::uint8_t { time, flops, params, bytes, nodes, params_greedy };

struct StagePlanRequest {
  CutOptions cuts = {};      // without a policy: cuts besides the model's markers
  std::uint32_t stages = 0;  // 0: not given
  StagePolicy policy = StagePolicy::time;
  BalanceRequest balance = {};
  std::string map_path = {};  // empty: no map
  PartitionMapOptions map = {};
  NodeTies ties = {};  // of the model

  // True if balanced stages are asked for: by a number of them, devices, or a target.
  bool has_policy() const;
};

struct StagePlan {
  PerNode<std::uint32_t> stage_of;
  std::vector<std::string> names = {};       // by stage, from a map; empty: unnamed
  std::optional<StageBalance> balance = {};  // loads by stage, without empty stages
  std::vector<std::string> devices = {};     // names by stage; empty: unnamed
  std::vector<std::string> notes = {};
  Diagnostics warnings = {};
};

// Assigns nodes to stages. Refuses a request that names no cut, or two of cuts, map and policy; and
// stages that divide nodes which must stay together.
Result<StagePlan, Fault> plan_stages(const Graph& graph, const StagePlanRequest& request,
                                     const Progress& progress = {});

// Makes schedules for the stages of a model. The costs of the stages come from the balance, or are
// estimated.
struct ScheduleRequest {
  ScheduleKind kind = ScheduleKind::one_f_one_b;
  std::uint32_t microbatches = 1;
  std::uint32_t ranks = 0;     // 0: one for each stage; interleaved: one for two stages
  double backward_factor = 2;  // a backward pass takes this many times as long as a forward pass
};

// What the costs of the stages are computed from.
struct ScheduleBasis {
  const Graph& graph;
  const Partition& partition;
  const BalanceRequest& costs;
  const std::optional<StageBalance>& balance;  // nullopt: the stages were not balanced
};

// The times of stages are those of the balance if it balanced times; otherwise they are measured or
// estimated as for balancing (core/stages/stages.h). The memory of a rank is its parameters, times the optimizer's
// factor, plus all tensors that the stage's nodes make, for each microbatch in flight. If a time is
// unknown, works are ordered as if all stages took equally long. Refuses a request that the
// schedule cannot meet, and files of times that cannot be read.
Result<ScheduleReport, Fault> schedule_stages(const ScheduleBasis& basis,
                                              const ScheduleRequest& request);

// ---- stage targets ----
//
// Stages on devices of several targets: which nodes each target takes, and how long they take there.
//
//   name,target,memory
//   npu0,npu,8MiB             stages go to the devices in this order; each holds only nodes that the
//   gpu0,gpu,4GiB             lists of its target accept
//   host,cpu,                 the host takes every node

struct StageTargets {
  GraphBalance made;  // with target_times; an item's host_time is that of the host
  std::vector<std::uint32_t> target_of;  // by device; of the host 0
  std::vector<TargetOfStages>
      targets;  // in the order of the lists; the host last, if it is a device
  Diagnostics warnings;
};

}  // namespace cleave
