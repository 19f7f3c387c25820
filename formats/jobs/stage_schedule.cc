#include "formats/jobs/stage_schedule.h"

#include <array>
#include <utility>

#include "core/cost/cost.h"
#include "core/stages/stages.h"

namespace cleave {
namespace {

bool has_times(const std::optional<StageBalance>& balance, const Partition& partition) {
  return balance && balance->unit == "us" && balance->loads.size() == partition.count();
}

// Compute and outgoing transfers of each stage in microseconds, each on a device of its own.
std::vector<BalanceStage> estimated(const Graph& graph, const Partition& partition,
                                    const GraphBalance& made) {
  BalanceProblem problem = made.problem;
  problem.devices.assign(partition.count(), BalanceDevice{});
  std::vector<std::uint32_t> stage_of(graph.node_count(), 0), device_of(partition.count());
  for (const NodeId node : graph.nodes()) {
    const PartId part = partition.part_of[node];
    if (part != kNone<PartId>) stage_of[index(node)] = index(part);
  }
  for (std::uint32_t stage = 0; stage < device_of.size(); ++stage) device_of[stage] = stage;
  return evaluate_stages(problem, CommModel::none, stage_of, device_of);
}

// All tensors that the nodes of a stage make, which its backward pass may read.
double activation_bytes(const Graph& graph, const Partition& partition, PartId part) {
  double bytes = 0;
  for (const NodeId node : partition.nodes(part)) {
    for (const ValueId output : graph.outputs(node)) {
      bytes += static_cast<double>(value_bytes(graph, output).value_or(0));
    }
  }
  return bytes;
}

std::vector<std::string> caveats_of(const GraphBalance& made, bool is_balanced,
                                    const ScheduleRequest& request) {
  std::vector<std::string> caveats;
  std::string factor = std::to_string(request.backward_factor);
  factor.erase(factor.find('.') + 2);
  caveats.push_back("a backward pass counts as " + factor +
                    " forward passes, half of it for the weights; memory counts parameters and "
                    "all tensors that the nodes of a stage make");
  if (!is_balanced) caveats.emplace_back("times of the stages are estimated from FLOPs and bytes");
  if (made.unknown_costs + made.unknown_sizes > 0) {
    caveats.push_back("costs that are not known count as 0: those of " +
                      std::to_string(made.unknown_costs) + " nodes and " +
                      std::to_string(made.unknown_sizes) + " tensors");
  }
  return caveats;
}

void choose_best(ScheduleReport& report) {
  for (std::size_t i = 0; i < report.schedules.size(); ++i) {
    const Schedule& schedule = report.schedules[i];
    const bool fits =
        !report.memory || schedule.most_bytes() <= static_cast<double>(*report.memory);
    const bool is_faster =
        !report.best || schedule.makespan < report.schedules[*report.best].makespan;
    if (fits && is_faster) report.best = i;
  }
}

}  // namespace

Result<ScheduleReport, JobFault> schedule_stages(const Graph& graph, const Partition& partition,
                                                 const BalanceRequest& costs,
                                                 const std::optional<StageBalance>& balance,
                                                 const ScheduleRequest& request) {
  GraphCostOptions options = costs.costs;
  options.by = BalanceBy::time;
  const GraphBalance made = balance_problem_of(graph, options);
  const std::vector<BalanceStage> stages = estimated(graph, partition, made);
  const bool is_balanced = has_times(balance, partition);
  ScheduleInput input{.stages = {}, .ranks = request.ranks, .microbatches = request.microbatches};
  for (const PartId part : partition.parts()) {
    const BalanceStage& stage = stages[index(part)];
    const double forward = is_balanced ? balance->loads[index(part)].compute : stage.compute;
    input.stages.push_back({.forward = forward,
                            .backward = forward * request.backward_factor,
                            .transfer = is_balanced ? balance->loads[index(part)].out : stage.out,
                            .held_bytes = stage.parameter_bytes,
                            .activation_bytes = activation_bytes(graph, partition, part)});
  }
  if (input.ranks == 0) {
    const auto count = static_cast<std::uint32_t>(partition.count());
    input.ranks = request.kind == ScheduleKind::interleaved ? (count + 1) / 2 : count;
  }
  ScheduleReport report{.microbatches = request.microbatches};
  for (const ScheduleKind kind : {ScheduleKind::gpipe, ScheduleKind::one_f_one_b,
                                  ScheduleKind::interleaved, ScheduleKind::zero_bubble}) {
    auto schedule = make_schedule(kind, input);
    if (kind == request.kind) {
      if (!schedule) return job_fault(FaultCause::request, schedule.error());
      report.chosen = report.schedules.size();
    }
    if (schedule) report.schedules.push_back(*std::move(schedule));
  }
  if (costs.memory == BalanceRequest::Memory::bytes) report.memory = costs.memory_bytes;
  choose_best(report);
  report.caveats = caveats_of(made, is_balanced, request);
  return report;
}

}  // namespace cleave
