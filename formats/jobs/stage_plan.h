// Where a pipeline is cut: by markers and scopes, or by a policy that is given a number of stages.
// A policy yields the stage of each node, and what it knows of how well they are balanced.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/stages/stages.h"
#include "formats/jobs/balance_job.h"

namespace cleave {

// How a number of stages is made.
enum class StagePolicy : std::uint8_t { time, flops, params, bytes, nodes, params_greedy };

struct StagePlanRequest {
  CutOptions cuts = {};      // without a policy: beside the model's markers
  std::uint32_t stages = 0;  // 0: not given
  StagePolicy policy = StagePolicy::time;
  BalanceRequest balance = {};

  // Whether something asks for balanced stages: a number of them, devices, or a target.
  bool has_policy() const;
};

struct StagePlan {
  PerNode<std::uint32_t> stage_of;
  std::optional<StageBalance> balance = {};  // loads by stage, those without nodes left out
  std::vector<std::string> devices = {};     // by stage; empty: they have no names
  std::vector<std::string> notes = {};
  Diagnostics warnings = {};
};

// Where the model's nodes go. Refuses a request that names no cut, or both cuts and a policy.
Result<StagePlan, JobFault> plan_stages(const Graph& graph, const StagePlanRequest& request,
                                        const Progress& progress = {});

}  // namespace cleave
