// Decides where a pipeline is cut: by markers, scopes and nodes, by a map of nodes, or by a policy
// for a number of stages. A policy yields the stage of each node and how well the stages are
// balanced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/split/node_ties.h"
#include "core/stages/stages.h"
#include "formats/lists/tables/partition_map.h"
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
Result<StagePlan, JobFault> plan_stages(const Graph& graph, const StagePlanRequest& request,
                                        const Progress& progress = {});

}  // namespace cleave
