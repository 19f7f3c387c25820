// Decides where a pipeline is cut: by markers, scopes and nodes, by a map of nodes, or by a policy
// for a number of stages. A policy yields the stage of each node and how well the stages are
// balanced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/split/node_ties.h"
#include "core/split/partition.h"
#include "core/stages/stages.h"
#include "formats/lists/tables/partition_map.h"
#include "formats/report/stages/schedule_report.h"
#include "formats/run/jobs/balance_job.h"

namespace cleave {

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
// estimated as in problem_of_graph.h. The memory of a rank is its parameters, times the optimizer's
// factor, plus all tensors that the stage's nodes make, for each microbatch in flight. If a time is
// unknown, works are ordered as if all stages took equally long. Refuses a request that the
// schedule cannot meet, and files of times that cannot be read.
Result<ScheduleReport, Fault> schedule_stages(const ScheduleBasis& basis,
                                              const ScheduleRequest& request);

}  // namespace cleave
