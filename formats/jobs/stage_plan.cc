#include "formats/jobs/stage_plan.h"

#include <utility>

#include "core/stages/auto_shard.h"
#include "formats/text/number_text.h"

namespace cleave {
namespace {

// The number of devices when only a target is given.
constexpr std::uint32_t kMostForTarget = 64;

Result<StagePlan, JobFault> plan_by_cuts(const Graph& graph, const CutOptions& cuts) {
  if (cuts.at.empty() && !cuts.between && !has_stage_markers(graph)) {
    return job_fault(
        FaultCause::request,
        Error{
            .message = "the stages have no given ends: the model has no pippy._pipe_split markers",
            .notes = {"give --split-at, --split-between or --stages"}});
  }
  auto numbers = cut_stages(graph, cuts);
  if (!numbers) {
    const auto cause = numbers.error().node ? FaultCause::input : FaultCause::request;
    return job_fault(cause, numbers.error());
  }
  return StagePlan{.stage_of = std::move(numbers->stage_of), .notes = std::move(numbers->notes)};
}

StagePlan plan_by_parameters(const Graph& graph, std::uint32_t stages) {
  AutoShards shards = shard_by_parameters(graph, stages);
  StagePlan plan{.stage_of = std::move(shards.stage_of)};
  plan.notes.push_back("a stage ends once it holds more than " + count_text(shards.share) +
                       " parameters; the fullest holds " + count_text(shards.largest));
  if (shards.count < stages) {
    plan.notes.push_back(counted(shards.count, "stage", "stages") + " instead of " +
                         std::to_string(stages) +
                         ": a node that reads from an earlier stage joins it, with all nodes in "
                         "between, and a large node fills the share of several stages");
  }
  return plan;
}

BalanceBy balance_by(StagePolicy policy) {
  switch (policy) {
    case StagePolicy::time:
      return BalanceBy::time;
    case StagePolicy::flops:
      return BalanceBy::flops;
    case StagePolicy::params:
      return BalanceBy::params;
    case StagePolicy::bytes:
      return BalanceBy::bytes;
    case StagePolicy::nodes:
    case StagePolicy::params_greedy:
      break;
  }
  return BalanceBy::nodes;
}

// Removes stages that hold only markers, which are in no stage.
void leave_out_markers(const Graph& graph, StagePlan& plan) {
  std::vector<std::uint8_t> has_nodes(plan.balance->loads.size(), 0);
  for (const NodeId node : graph.nodes()) {
    if (!is_stage_marker(graph, node)) has_nodes[plan.stage_of[node]] = 1;
  }
  for (std::size_t stage = has_nodes.size(); stage-- > 0;) {
    if (has_nodes[stage] != 0) continue;
    const auto at = static_cast<std::ptrdiff_t>(stage);
    plan.balance->loads.erase(plan.balance->loads.begin() + at);
    if (!plan.devices.empty()) plan.devices.erase(plan.devices.begin() + at);
  }
}

Result<StagePlan, JobFault> plan_by_balance(const Graph& graph, const StagePlanRequest& request,
                                            const Progress& progress) {
  const bool has_number = request.stages > 0 || !request.balance.devices_path.empty();
  BalanceRequest balance = request.balance;
  balance.costs.by = balance_by(request.policy);
  auto run = balance_model(graph, has_number ? request.stages : kMostForTarget, balance, progress);
  if (!run) return std::move(run).error();
  StagePlan plan{.stage_of = PerNode<std::uint32_t>(graph.node_count()),
                 .balance = std::move(run->balance),
                 .devices = device_names(run->problem, run->result),
                 .notes = std::move(run->notes),
                 .warnings = std::move(run->warnings)};
  for (const NodeId node : graph.nodes()) plan.stage_of[node] = run->result.stage_of[index(node)];
  leave_out_markers(graph, plan);
  return plan;
}

}  // namespace

bool StagePlanRequest::has_policy() const {
  const bool has_target = balance.target_seconds || balance.target_number;
  return stages > 0 || has_target || !balance.devices_path.empty();
}

Result<StagePlan, JobFault> plan_stages(const Graph& graph, const StagePlanRequest& request,
                                        const Progress& progress) {
  if (!request.has_policy()) return plan_by_cuts(graph, request.cuts);
  if (!request.cuts.at.empty() || request.cuts.between) {
    return job_fault(FaultCause::request,
                     Error{"stages are either cut at modules or balanced, not both"});
  }
  if (request.policy == StagePolicy::params_greedy) {
    return plan_by_parameters(graph, request.stages);
  }
  return plan_by_balance(graph, request, progress);
}

}  // namespace cleave
