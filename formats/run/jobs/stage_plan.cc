#include "formats/run/jobs/stage_plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/number_text.h"
#include "core/cost/cost.h"
#include "core/stages/stages.h"
#include "formats/base/text/diagnostic.h"
#include "formats/report/words/value_text.h"

namespace cleave {
namespace {

// The number of devices when only a target is given.
constexpr std::uint32_t kMostForTarget = 64;

bool has_cuts(const CutOptions& cuts) {
  return !cuts.at.empty() || !cuts.at_nodes.empty() || cuts.between;
}

Result<StagePlan, Fault> plan_by_cuts(const Graph& graph, const CutOptions& cuts) {
  if (!has_cuts(cuts) && !has_stage_markers(graph)) {
    return fault_of(FaultCause::request,
                    "the stages have no given ends: the model has no pippy._pipe_split markers",
                    {"give --split-at, --split-between, --map or --stages"});
  }
  auto numbers = cut_stages(graph, cuts);
  if (!numbers) {
    const auto cause = numbers.error().node ? FaultCause::input : FaultCause::request;
    return fault_of(cause, numbers.error());
  }
  return StagePlan{.stage_of = std::move(numbers->stage_of), .notes = std::move(numbers->notes)};
}

// The stages in the order of their first nodes where the data allows it, else in one that runs.
Result<Partition> order_stages(const Graph& graph, const Assignment& stages, const NodeTies& ties) {
  auto as_met = order_parts(graph, stages, {.keep_original_order = true}, ties);
  return as_met ? std::move(as_met) : order_parts(graph, stages, {}, ties);
}

Result<StagePlan, Fault> plan_by_map(const Graph& graph, const StagePlanRequest& request) {
  const auto stages = read_partition_map(request.map_path, graph, request.map);
  if (!stages) return input_fault(stages.error());
  const auto partition = order_stages(graph, *stages, request.ties);
  if (!partition) {
    Fault fault = fault_of(FaultCause::input, partition.error());
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
    plan.notes.push_back(counted(shards.count, "stage") + " instead of " + std::to_string(stages) +
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

// Names devices that have no stage; empty where each has one.
std::string order_note(const BalanceProblem& problem, const std::vector<std::string>& used) {
  if (used.empty()) return {};
  std::string left;
  for (const BalanceDevice& device : problem.devices) {
    const bool has_stage = std::find(used.begin(), used.end(), device.name) != used.end();
    if (!has_stage && !device.name.empty()) {
      left += (left.empty() ? "" : ", ") + escaped(device.name);
    }
  }
  if (left.empty()) return {};
  return "no stage is on " + left +
         ": stages follow the order of the devices in the file, and with it there they would be "
         "slower or not fit; another order may be faster";
}

// Why there are no stages, where several were asked for and the balance has one, since no cost is known.
std::optional<Fault> nothing_known(const Graph& graph, const BalanceRun& run) {
  const StageBalance& balance = run.balance;
  if (balance.objective > 0 || balance.caveats.empty() || run.result.stages.size() > 1) {
    return std::nullopt;
  }
  std::vector<std::string> notes = balance.caveats;
  const std::string sizes =
      dim_options(graph, [](ValueId, std::size_t) { return std::optional<std::int64_t>(); });
  if (!sizes.empty()) notes.push_back("sizes are open: give " + sizes);
  return fault_of(FaultCause::input, "nothing to balance: no cost above 0 is known",
                  std::move(notes));
}

Result<StagePlan, Fault> plan_by_balance(const Graph& graph, const StagePlanRequest& request,
                                         const Progress& progress) {
  const bool has_number = request.stages > 0 || !request.balance.devices_path.empty();
  BalanceRequest balance = request.balance;
  balance.costs.by = balance_by(request.policy);
  balance.costs.ties = &request.ties;
  const std::uint32_t stages =
      has_number || balance.asks_fewest() ? request.stages : kMostForTarget;
  auto run = balance_model(graph, stages, balance, progress);
  if (!run) return std::move(run).error();
  if (stages > 1 || (!balance.devices_path.empty() && run->problem.devices.size() > 1)) {
    if (auto unknown = nothing_known(graph, *run)) return *std::move(unknown);
  }
  StagePlan plan{.stage_of = PerNode<std::uint32_t>(graph.node_count()),
                 .balance = std::move(run->balance),
                 .devices = device_names(run->problem, run->result),
                 .notes = std::move(run->notes),
                 .warnings = std::move(run->warnings)};
  for (const NodeId node : graph.nodes()) plan.stage_of[node] = run->result.stage_of[index(node)];
  leave_out_markers(graph, plan);
  if (std::string note = order_note(run->problem, plan.devices); !note.empty()) {
    plan.notes.push_back(std::move(note));
  }
  return plan;
}

Result<StagePlan, Fault> plan_by_request(const Graph& graph, const StagePlanRequest& request,
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
  return stages > 0 || has_target || !balance.devices_path.empty() ||
         balance.memory == BalanceRequest::Memory::parameters;
}

Result<StagePlan, Fault> plan_stages(const Graph& graph, const StagePlanRequest& request,
                                     const Progress& progress) {
  const bool has_map = !request.map_path.empty();
  if (int{request.has_policy()} + int{has_cuts(request.cuts)} + int{has_map} > 1) {
    return fault_of(FaultCause::request,
                    "stages are either cut at modules and nodes, given by a map, or balanced: not "
                    "two of these");
  }
  auto plan = plan_by_request(graph, request, progress);
  if (!plan || request.ties.whole.empty()) return plan;
  const auto is_whole = check_whole(graph, form_stages(graph, plan->stage_of), request.ties);
  if (!is_whole) return fault_of(FaultCause::request, is_whole.error());
  return plan;
}

// Steps:
// 1. find the times of the nodes, measured or estimated, as for a balance;
// 2. sum the cost of each stage; a sum with an unknown addend is unknown;
// 3. make every schedule that these stages can have, and choose the best.

namespace {

// ---- times ----

struct NodeTimes {
  GraphBalance made;
  std::size_t unknown_transfers = 0;  // values between stages whose bytes are not known
  bool all_known() const { return made.unknown_costs + unknown_transfers == 0; }
};

bool has_unknown_bytes(const Graph& graph, ValueId value) {
  return graph.value(value).is_tensor() && !value_bytes(graph, value);
}

bool leaves_stage(const Graph& graph, const Partition& partition, ValueId value, PartId part) {
  for (const NodeId reader : graph.users(value)) {
    if (partition.part_of[reader] != part) return true;
  }
  return false;
}

std::size_t count_unknown_transfers(const Graph& graph, const Partition& partition) {
  std::size_t count = 0;
  for (const NodeId node : partition.members) {
    for (const ValueId output : graph.outputs(node)) {
      if (has_unknown_bytes(graph, output) &&
          leaves_stage(graph, partition, output, partition.part_of[node])) {
        ++count;
      }
    }
  }
  return count;
}

Result<NodeTimes, Fault> times_of(const ScheduleBasis& basis) {
  auto read = read_cost_set(basis.costs.costs_files, basis.graph);
  if (!read) return input_fault(std::move(read).error());
  GraphCostOptions options = basis.costs.costs;
  options.by = BalanceBy::time;
  options.device_bandwidth = basis.costs.device_bandwidth.bytes_per_second;
  options.link_bandwidth = basis.costs.link.value_or(default_link()).bytes_per_second;
  if (!read->cpu.empty()) options.measured = &read->cpu_us;
  return NodeTimes{balance_problem_of(basis.graph, options),
                   count_unknown_transfers(basis.graph, basis.partition)};
}

// ---- stages ----

// The compute and outgoing transfers of each stage in microseconds, when each runs on its own
// device.
std::vector<BalanceStage> estimated(const ScheduleBasis& basis, const GraphBalance& made) {
  const Partition& partition = basis.partition;
  BalanceProblem problem = made.problem;
  problem.devices.assign(partition.count(), BalanceDevice{});
  std::vector<std::uint32_t> stage_of(basis.graph.node_count(), 0), device_of(partition.count());
  for (const NodeId node : basis.graph.nodes()) {
    const PartId part = partition.part_of[node];
    if (part != kNone<PartId>) stage_of[index(node)] = index(part);
  }
  for (std::uint32_t stage = 0; stage < device_of.size(); ++stage) device_of[stage] = stage;
  return evaluate_stages(problem, CommModel::none, stage_of, device_of);
}

// True if the bytes of all parameters that the stage's nodes read are known.
bool knows_parameters(const Graph& graph, std::span<const NodeId> nodes) {
  const auto is_unknown = [&](ValueId value) {
    return graph.is_parameter(value) && has_unknown_bytes(graph, value);
  };
  for (const NodeId node : nodes) {
    for (const Operand& operand : graph.operands(node)) {
      if (is_unknown(operand.value)) return false;
    }
    for (const ValueId value : graph.module_parameters(node)) {
      if (is_unknown(value)) return false;
    }
  }
  return true;
}

// The bytes of all tensors that the nodes make, since their backward pass may read any of them;
// nullopt when one is unknown.
std::optional<double> activation_bytes(const Graph& graph, std::span<const NodeId> nodes) {
  double bytes = 0;
  for (const NodeId node : nodes) {
    for (const ValueId output : graph.outputs(node)) {
      if (has_unknown_bytes(graph, output)) return std::nullopt;
      bytes += static_cast<double>(value_bytes(graph, output).value_or(0));
    }
  }
  return bytes;
}

bool has_times(const ScheduleBasis& basis) {
  const auto& balance = basis.balance;
  return balance && balance->unit == "us" && balance->loads.size() == basis.partition.count();
}

// The stage's forward time and transfer. If times are unknown, all stages get the same.
StageCost time_of(const ScheduleBasis& basis, const NodeTimes& times, const BalanceStage& stage,
                  PartId part) {
  if (!times.all_known()) return {.forward = 1};
  if (!has_times(basis)) return {.forward = stage.compute, .transfer = stage.out};
  const StageLoad& load = basis.balance->loads[index(part)];
  return {.forward = load.compute, .transfer = load.out};
}

ScheduleInput input_of(const ScheduleBasis& basis, const NodeTimes& times,
                       const ScheduleRequest& request) {
  const std::vector<BalanceStage> stages = estimated(basis, times.made);
  ScheduleInput input{.stages = {}, .ranks = request.ranks, .microbatches = request.microbatches};
  for (const PartId part : basis.partition.parts()) {
    const BalanceStage& stage = stages[index(part)];
    const auto nodes = basis.partition.nodes(part);
    StageCost cost = time_of(basis, times, stage, part);
    cost.backward = cost.forward * request.backward_factor;
    if (knows_parameters(basis.graph, nodes)) cost.held_bytes = stage.parameter_bytes;
    cost.activation_bytes = activation_bytes(basis.graph, nodes);
    input.stages.push_back(cost);
  }
  if (input.ranks == 0) {
    const auto count = static_cast<std::uint32_t>(basis.partition.count());
    input.ranks = request.kind == ScheduleKind::interleaved ? (count + 1) / 2 : count;
  }
  return input;
}

// ---- the report ----

std::string unknown_times(const NodeTimes& times) {
  std::string what;
  if (times.made.unknown_costs > 0) {
    what = "the time of " + counted(times.made.unknown_costs, "node");
  }
  if (times.unknown_transfers > 0) {
    what += (what.empty() ? "" : " and ") + std::string("the size of ") +
            counted(times.unknown_transfers, "tensor") + " between stages";
  }
  return what + (times.made.unknown_costs > 0 && times.unknown_transfers > 0 ? " are" : " is") +
         " not known, so the schedules' times are not: give shapes with --input-shape or --dim, "
         "or measured times with --costs; works are in the order that fits stages that take "
         "equally long";
}

std::vector<std::string> caveats_of(const ScheduleBasis& basis, const NodeTimes& times,
                                    const ScheduleRequest& request) {
  std::vector<std::string> caveats;
  caveats.push_back("a backward pass counts as " + rate_text(request.backward_factor) +
                    " forward passes, half of it for the weights; memory counts parameters and "
                    "all tensors that the nodes of a stage make");
  if (!times.all_known()) {
    caveats.push_back(unknown_times(times));
  } else if (times.made.measured == 0) {
    caveats.emplace_back("times of the stages are estimated from FLOPs and bytes");
  } else if (times.made.measured_share < 1) {
    caveats.push_back(percent_text(times.made.measured_share) +
                      " of the stages' time was measured, the rest is estimated from FLOPs and "
                      "bytes");
  }
  for (const PartId part : basis.partition.parts()) {
    const auto nodes = basis.partition.nodes(part);
    if (knows_parameters(basis.graph, nodes) && activation_bytes(basis.graph, nodes)) continue;
    caveats.emplace_back(
        "memory marked ? is not known, for want of shapes: give --input-shape or --dim");
    break;
  }
  return caveats;
}

// Chooses the fastest schedule that is known to fit in memory; none when times are unknown.
void choose_best(ScheduleReport& report) {
  if (!report.has_times) return;
  for (std::size_t i = 0; i < report.schedules.size(); ++i) {
    const Schedule& schedule = report.schedules[i];
    const auto most = schedule.most_bytes();
    const bool fits = !report.memory || (most && *most <= static_cast<double>(*report.memory));
    const bool is_faster =
        !report.best || schedule.makespan < report.schedules[*report.best].makespan;
    if (fits && is_faster) report.best = i;
  }
}

}  // namespace

Result<ScheduleReport, Fault> schedule_stages(const ScheduleBasis& basis,
                                              const ScheduleRequest& request) {
  const auto times = times_of(basis);
  if (!times) return times.error();
  const ScheduleInput input = input_of(basis, *times, request);
  ScheduleReport report{.stage_names = basis.partition.names,
                        .microbatches = request.microbatches,
                        .has_times = times->all_known()};
  for (const ScheduleKind kind : {ScheduleKind::gpipe, ScheduleKind::one_f_one_b,
                                  ScheduleKind::interleaved, ScheduleKind::zero_bubble}) {
    auto schedule = make_schedule(kind, input);
    if (kind == request.kind) {
      if (!schedule) return fault_of(FaultCause::request, schedule.error());
      report.chosen = report.schedules.size();
    }
    if (schedule) report.schedules.push_back(*std::move(schedule));
  }
  if (basis.costs.memory == BalanceRequest::Memory::bytes) report.memory = basis.costs.memory_bytes;
  choose_best(report);
  report.caveats = caveats_of(basis, *times, request);
  return report;
}

}  // namespace cleave
