#include "formats/run/jobs/stage_plan.h"

#include <utility>

#include "core/stages/auto_shard.h"
#include "formats/base/text/number_text.h"

namespace cleave {
namespace {

// The number of devices when only a target is given.
constexpr std::uint32_t kMostForTarget = 64;

bool has_cuts(const CutOptions& cuts) {
  return !cuts.at.empty() || !cuts.at_nodes.empty() || cuts.between;
}

Result<StagePlan, JobFault> plan_by_cuts(const Graph& graph, const CutOptions& cuts) {
  if (!has_cuts(cuts) && !has_stage_markers(graph)) {
    return job_fault(
        FaultCause::request,
        Error{
            .message = "the stages have no given ends: the model has no pippy._pipe_split markers",
            .notes = {"give --split-at, --split-between, --map or --stages"}});
  }
  auto numbers = cut_stages(graph, cuts);
  if (!numbers) {
    const auto cause = numbers.error().node ? FaultCause::input : FaultCause::request;
    return job_fault(cause, numbers.error());
  }
  return StagePlan{.stage_of = std::move(numbers->stage_of), .notes = std::move(numbers->notes)};
}

// The stages in the order of their first nodes where the data allows it, else in one that runs.
Result<Partition> order_stages(const Graph& graph, const Assignment& stages, const NodeTies& ties) {
  auto as_met = order_parts(graph, stages, {.keep_original_order = true}, ties);
  return as_met ? std::move(as_met) : order_parts(graph, stages, {}, ties);
}

Result<StagePlan, JobFault> plan_by_map(const Graph& graph, const StagePlanRequest& request) {
  const auto stages = read_partition_map(request.map_path, graph, request.map);
  if (!stages) return JobFault{FaultCause::input, stages.error()};
  const auto partition = order_stages(graph, *stages, request.ties);
  if (!partition) {
    JobFault fault = job_fault(FaultCause::input, partition.error());
    fault.faults.back().file = request.map_path;
    return fault;
  }
  StagePlan plan{.stage_of = PerNode<std::uint32_t>(graph.node_count()), .names = partition->names};
  for (const NodeId node : graph.nodes()) plan.stage_of[node] = index(partition->part_of[node]);
  return plan;
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
  balance.costs.ties = &request.ties;
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

Result<StagePlan, JobFault> plan_by_request(const Graph& graph, const StagePlanRequest& request,
                                            const Progress& progress) {
  if (!request.map_path.empty()) return plan_by_map(graph, request);
  if (!request.has_policy()) return plan_by_cuts(graph, request.cuts);
  if (request.policy == StagePolicy::params_greedy) {
    return plan_by_parameters(graph, request.stages);
  }
  return plan_by_balance(graph, request, progress);
}

}  // namespace

bool StagePlanRequest::has_policy() const {
  const bool has_target = balance.target_seconds || balance.target_number;
  return stages > 0 || has_target || !balance.devices_path.empty();
}

Result<StagePlan, JobFault> plan_stages(const Graph& graph, const StagePlanRequest& request,
                                        const Progress& progress) {
  const bool has_map = !request.map_path.empty();
  if (int{request.has_policy()} + int{has_cuts(request.cuts)} + int{has_map} > 1) {
    return job_fault(FaultCause::request, Error{"stages are either cut at modules and nodes, given "
                                                "by a map, or balanced: not two of these"});
  }
  auto plan = plan_by_request(graph, request, progress);
  if (!plan || request.ties.whole.empty()) return plan;
  const auto is_whole = check_whole(graph, form_stages(graph, plan->stage_of), request.ties);
  if (!is_whole) return job_fault(FaultCause::request, is_whole.error());
  return plan;
}

}  // namespace cleave
