// Jobs that make stages.
#include "formats/run/jobs/stage_jobs.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/split/split.h"
#include "core/stages/stages.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/lists/costs.h"
#include "formats/lists/support_file.h"
#include "formats/lists/tables.h"
#include "formats/models/graph_json.h"
#include "formats/report/stages/stages_report.h"
#include "formats/report/words/words.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {

// ---- backward nodes ----

namespace {

class BackwardWriter {
 public:
  BackwardWriter(const Graph& graph, const Partition& partition, const Boundaries& boundaries,
                 const BackwardPlan& plan)
      : graph_(graph), partition_(partition), boundaries_(boundaries), plan_(plan) {
    for (const ValueId value : IdRange<ValueId>(0, graph.value_count())) {
      taken_.insert(std::string(graph.value(value).name));
    }
    for (const std::string& name : partition.names) taken_.insert(name);
    for (const ValueId value : plan.value_of) {
      gradients_.push_back(fresh("grad_" + std::string(graph.value(value).name)));
    }
  }

  std::string node(const StageBackward& step) {
    const auto outputs = boundaries_.outputs[step.stage];
    const auto inputs = boundaries_.inputs[step.stage];
    std::vector<std::string> gradients, positions;
    for (const GradientId id : step.output_gradients) gradients.push_back(reference(id));
    for (const std::uint32_t i : step.outputs_with_gradients)
      positions.push_back(std::to_string(i));
    JsonObjectText kwargs;
    kwargs.add("stage_output", "{\"list\": " + names_of(outputs) + "}");
    kwargs.add("output_grads", "{\"list\": " + json_list(gradients) + "}");
    kwargs.add("input_values", "{\"list\": " + names_of(inputs) + "}");
    JsonObjectText attributes;
    attributes.add("outputs_with_grads_idxs", json_list(positions));
    std::vector<std::string> made;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      made.push_back(gradient(id_at<GradientId>(index(step.first) + i)));
    }
    JsonObjectText node;
    node.add("name", json_string(fresh(partition_.name(step.stage) + "_backward")));
    node.add("op", "\"stage_backward\"");
    node.add("kind", "\"call_function\"");
    node.add("target", json_string(partition_.name(step.stage)));
    node.add("inputs", "[]");
    node.add("kwargs", kwargs.text());
    node.add("outputs", json_list(made));
    node.add("attributes", attributes.text());
    return node.text();
  }

  std::string node(const AccumulateGradient& step) {
    const std::string name = "accumulate_" + std::string(graph_.value(step.value).name);
    JsonObjectText node;
    node.add("name", json_string(fresh(name)));
    node.add("op", "\"null_coalesce_accumulate\"");
    node.add("kind", "\"call_function\"");
    node.add("inputs", json_list({reference(step.before), reference(step.more)}));
    node.add("outputs", json_list({gradient(step.sum)}));
    return node.text();
  }

 private:
  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
    return name;
  }

  std::string names_of(std::span<const ValueId> values) const {
    std::vector<std::string> names;
    for (const ValueId value : values) names.push_back(json_string(graph_.value(value).name));
    return json_list(names);
  }

  std::string reference(GradientId id) const {
    return id == kNone<GradientId> ? "null" : json_string(gradients_[index(id)]);
  }

  // The declaration of a gradient: a tensor with the value's dtype and shape, or none if the value
  // is not a tensor.
  std::string gradient(GradientId id) const {
    const ValueId value = plan_.value_of[index(id)];
    const Value& record = graph_.value(value);
    JsonObjectText text;
    text.add("name", json_string(gradients_[index(id)]));
    text.add("type", record.is_tensor() ? "\"tensor\"" : "\"none\"");
    if (record.is_tensor() && record.dtype != DType::unknown) {
      text.add("dtype", json_string(dtype_name(record.dtype)));
    }
    if (record.is_tensor() && graph_.has_rank(value)) {
      text.add("shape", make_shape_json(graph_, value));
    }
    return text.text();
  }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  const BackwardPlan& plan_;
  std::unordered_set<std::string> taken_;  // names in the root
  std::vector<std::string> gradients_;     // names
};

}  // namespace

std::vector<std::string> backward_nodes(const Graph& graph, const Partition& partition,
                                        const Boundaries& boundaries, const BackwardPlan& plan) {
  BackwardWriter writer(graph, partition, boundaries, plan);
  std::vector<std::string> nodes;
  for (const auto& step : plan.steps) {
    nodes.push_back(std::visit([&](const auto& any) { return writer.node(any); }, step));
  }
  return nodes;
}

// ---- balance job ----

namespace {

using Clock = std::chrono::steady_clock;

template <class T>
using OrFault = Result<T, Fault>;

Fault wrong_request(std::string message, std::vector<std::string> notes = {}) {
  return fault_of(FaultCause::request, std::move(message), std::move(notes));
}

// ---- what both kinds of runs do ----

// `unit_seconds`: the length of the problem's unit of time; 0 if the loads are not times.
OrFault<BalanceOptions> options_for(const BalanceRequest& request, double unit_seconds,
                                    Clock::time_point start) {
  BalanceOptions options = request.options;
  if (unit_seconds == 0) options.comm = CommModel::none;
  if (request.target_seconds && unit_seconds == 0) {
    return wrong_request("--target-latency is a time, but no times are balanced",
                         {"give a number without a unit: the most that a stage may hold"});
  }
  if (request.target_number && unit_seconds != 0) {
    const std::string number = rate_text(*request.target_number);
    return wrong_request("--target-latency: " + number + " has no unit: write " + number +
                         "ms or " + number + "us");
  }
  if (options.exact_stages && (request.target_seconds || request.target_number)) {
    return wrong_request("--stages exactly:N cannot be used with --target-latency",
                         {"the first asks for a number of stages, the second for the fewest"});
  }
  if (request.target_seconds) options.target = *request.target_seconds / unit_seconds;
  if (request.target_number) options.target = *request.target_number;
  if (options.time_limit_seconds < kUnlimited) {
    options.time_limit_seconds -= std::chrono::duration<double>(Clock::now() - start).count();
  }
  return options;
}

OrFault<Done> solve(BalanceRun& run, const BalanceOptions& options, BalanceBy by) {
  auto result = balance_stages(run.problem, options);
  if (!result) return fault_of(FaultCause::infeasible, result.error());
  run.result = *std::move(result);
  run.balance = stage_balance_of(run.problem, run.result, by);
  run.notes.insert(run.notes.end(), run.result.notes.begin(), run.result.notes.end());
  return Done{};
}

// ---- graphs ----

struct Measurements {
  CostSet costs;
  std::vector<DeviceSpec> devices;
};

Loaded<std::vector<DeviceSpec>> read_device_list(const std::string& path) {
  const auto source = open_side_file(path);
  return source ? read_devices(*source) : source.error();
}

OrFault<Measurements> read_measurements(const Graph& graph, const BalanceRequest& request) {
  Measurements read;
  auto costs = read_cost_set(request.costs_files, graph);
  if (!costs) return input_fault(std::move(costs).error());
  read.costs = *std::move(costs);
  if (request.devices_path.empty()) return read;
  auto devices = read_device_list(request.devices_path);
  if (!devices) {
    return after(read.costs.warnings, input_fault(std::move(devices).error()));
  }
  read.devices = *std::move(devices);
  return read;
}

// The first given option without effect, since every device has its own value; "" if none.
std::string idle_option(const BalanceRequest& request, const std::vector<DeviceSpec>& devices) {
  const auto all = [&](bool (*has)(const DeviceSpec&)) {
    return !devices.empty() && std::ranges::all_of(devices, has);
  };
  const std::string but = " has no effect: each device of " + request.devices_path + " has ";
  if (request.memory != BalanceRequest::Memory::unset &&
      all([](const DeviceSpec& device) { return device.memory.has_value(); })) {
    return "--memory" + but + "its own memory";
  }
  if (request.link && all([](const DeviceSpec& device) { return device.link.has_value(); })) {
    return "--pcie-bw" + but + "its own link";
  }
  return {};
}

std::optional<std::uint64_t> memory_limit(const BalanceRequest& request) {
  using Memory = BalanceRequest::Memory;
  const bool is_limited = request.memory == Memory::bytes || request.memory == Memory::parameters;
  return is_limited ? std::optional(request.memory_bytes) : std::nullopt;
}

// Adds the first `stages` devices of the list (0: all); without a list, `stages` equal ones.
// `target_of` is by device; empty: there is one target.
void add_devices(const std::vector<DeviceSpec>& list, std::uint32_t stages,
                 const BalanceRequest& request, const GraphCostOptions& costs,
                 const std::vector<std::uint32_t>& target_of, BalanceProblem& problem) {
  const auto limit = memory_limit(request);
  const double memory = limit ? static_cast<double>(*limit) : kUnlimited;
  if (list.empty()) {
    problem.devices = {{.name = "device", .memory = memory, .count = stages}};
    return;
  }
  const std::size_t count = stages == 0 ? list.size() : stages;
  problem.devices_in_order = true;
  for (std::size_t i = 0; i < count; ++i) {
    const DeviceSpec& spec = list[i];
    const double scale = spec.link ? costs.link_bandwidth / spec.link->bytes_per_second : 1;
    problem.devices.push_back({.name = spec.name,
                               .speed = spec.speed,
                               .transfer_scale = scale,
                               .memory = spec.memory ? static_cast<double>(*spec.memory) : memory,
                               .is_host = !target_of.empty() && spec.target == "cpu",
                               .target = target_of.empty() ? 0 : target_of[i]});
  }
}

// The fewest devices that could hold all parameters.
std::uint32_t least_devices(const BalanceProblem& problem, double memory) {
  double bytes = 0;
  for (const BalanceItem& item : problem.items) bytes += item.bytes;
  for (std::uint32_t i = 0; i < problem.shared_bytes.size(); ++i) {
    if (!problem.shared_users.of(i).empty()) bytes += problem.shared_bytes[i];
  }
  // As many as a file of devices may list.
  constexpr double kMost = 1e6;
  return static_cast<std::uint32_t>(std::clamp(std::ceil(bytes / memory), 1.0, kMost));
}

// As few stages as the limit on parameters allows: tries one more until an assignment is found. The
// fault is that of the first try.
OrFault<Done> solve_fewest(BalanceRun& run, const BalanceOptions& options, BalanceBy by) {
  // The sum of the bytes says the fewest; as nodes cannot be divided, some more may be needed.
  // Where 64 more do not help, mostly one node alone is too large, and the fault of the first try
  // says so.
  constexpr std::uint32_t kMostTries = 64;
  BalanceDevice& device = run.problem.devices.front();
  const std::uint32_t least = least_devices(run.problem, device.memory);
  std::optional<Fault> first;
  for (std::uint32_t i = 0; i < kMostTries; ++i) {
    device.count = least + i;
    auto solved = solve(run, options, by);
    if (solved) return solved;
    if (!first) first = std::move(solved).error();
  }
  return *std::move(first);
}

// Records the assumptions of the run and its notes.
void describe(BalanceRun& run, const BalanceFacts& facts) {
  run.balance.assumptions = assumptions_of(facts);
  run.balance.basis = basis_of(facts);
  // Where nothing costs anything, what is known in part decides nothing.
  const bool is_partial = run.balance.objective <= 0 && facts.made.unknown_costs == 0;
  if (!is_partial) run.balance.caveats = caveats_of(facts);
  if (facts.costs.by == BalanceBy::time) run.balance.measured_share = facts.made.measured_share;
  for (const TargetOfStages& target : facts.targets) {
    auto& least = run.balance.measured_share;
    least = std::min(least.value_or(1), target.measured_share);
  }
  run.balance.is_least = facts.made.partial_costs > 0;
  run.balance.is_partly_known = facts.made.unknown_costs > 0 ||
                                (facts.comm != CommModel::none && facts.made.unknown_sizes > 0);
}

// Lists and the column "target" need each other.
OrFault<Done> check_targets_of_devices(const BalanceRequest& request,
                                       const std::vector<DeviceSpec>& devices) {
  const bool has_lists = !request.lists.accepts_nothing();
  const bool names_targets = !devices.empty() && devices.front().target.has_value();
  if (has_lists == names_targets) return Done{};
  if (has_lists) {
    return wrong_request("-s says what a target takes, and no device is of a target",
                         {"give --devices with a column \"target\": name,target,memory"});
  }
  return wrong_request(
      request.devices_path + " says which target each device is of, and no target has a list",
      {"give -s NAME=LIST for each target, or leave the column out"});
}

GraphCostOptions costs_for(const BalanceRequest& request, const Link& link, const CostSet& read) {
  GraphCostOptions costs = request.costs;
  costs.link_bandwidth = link.bytes_per_second;
  if (!read.cpu.empty()) costs.measured = &read.cpu_us;
  return costs;
}

// ---- stage targets ----
//
// Steps:
// 1. read the lists, and find the target of each device;
// 2. judge each node by the lists of each target; what a pattern accepts stays together;
// 3. make the balance problem with the times of each target.

constexpr const char* kHostName = "cpu";
constexpr double kRefused = -1;

class StageTargetsMaker {
 public:
  StageTargetsMaker(const Graph& graph, const BalanceRequest& request,
                    const GraphCostOptions& costs, const CostSet& read,
                    std::vector<DeviceSpec>& devices)
      : graph_(graph), request_(request), costs_(costs), measured_(read), devices_(devices) {}

  Result<StageTargets, Fault> run() && {
    auto lists = read_lists(request_.lists);
    if (!lists) return input_fault(std::move(lists).error());
    lists_ = *std::move(lists);
    for (SupportList& list : lists_.lists) {
      if (list.role == ListRole::verdicts) settle_verdicts(graph_, list);
    }
    if (lists_.targets.empty()) {
      lists_.targets = {{.name = request_.lists.targets().front(),
                         .first_list = 0,
                         .end_list = lists_.lists.size()}};
    }
    if (auto done = find_targets_of_devices(); !done) {
      return fault_of(FaultCause::request, done.error());
    }
    if (auto done = judge(); !done) return fault_of(FaultCause::request, done.error());
    add_times();
    made_.warnings = std::move(lists_.warnings);
    return std::move(made_);
  }

 private:
  std::size_t target_count() const { return lists_.targets.size(); }
  static bool is_host(const DeviceSpec& device) { return device.target == kHostName; }

  // ---- step 1 ----

  Status<> find_targets_of_devices() {
    std::vector<std::uint8_t> has_device(target_count(), 0);
    for (const DeviceSpec& device : devices_) {
      made_.target_of.push_back(0);
      if (is_host(device)) continue;
      std::uint32_t target = 0;
      while (target < target_count() && lists_.targets[target].name != device.target) ++target;
      if (target == target_count()) {
        return Error{"the device " + escaped_in_quotes(device.name) + " of " +
                         request_.devices_path + " is of the target " +
                         escaped_in_quotes(device.target.value_or("")) + ", which has no list",
                     std::nullopt,
                     {"give -s " + escaped(device.target.value_or("")) + "=LIST"}};
      }
      made_.target_of.back() = target;
      has_device[target] = 1;
    }
    for (const TargetSpec& spec : request_.targets) {
      const bool is_known = spec.target == TargetName::cpu || spec.name == kOnlyTarget ||
                            std::ranges::any_of(lists_.targets, [&](const Target& target) {
                              return target.name == spec.name;
                            });
      if (!is_known) return Error{"--target " + spec.name + ": no list is of this target"};
    }
    for (std::size_t target = 0; target < target_count(); ++target) {
      if (has_device[target] != 0) continue;
      return Error{"no device that stages may use is of the target " +
                   in_quotes(lists_.targets[target].name)};
    }
    for (std::size_t i = 0; i < devices_.size(); ++i) add_numbers(devices_[i], made_.target_of[i]);
    return Done{};
  }

  std::span<const SupportList> lists_of(const Target& target) const {
    return std::span<const SupportList>(lists_.lists)
        .subspan(target.first_list, target.end_list - target.first_list);
  }

  // The numbers of the target's lists, and those of --target, which win.
  template <class Take>
  void each_spec(std::size_t target, Take take) const {
    const Target& of = lists_.targets[target];
    if (const auto spec = first_list_target(lists_of(of))) take(*spec);
    for (const TargetSpec& spec : request_.targets) {
      const bool is_of_it =
          spec.target == TargetName::acc && (spec.name == of.name || spec.name == kOnlyTarget);
      if (is_of_it) take(spec);
    }
  }

  void add_numbers(DeviceSpec& device, std::size_t target) const {
    if (is_host(device)) return;
    std::optional<std::uint64_t> memory;
    std::optional<Link> link;
    each_spec(target, [&](const TargetSpec& spec) {
      if (spec.memory) memory = spec.memory;
      if (spec.link) link = spec.link;
    });
    if (!device.memory) device.memory = memory;
    if (!device.link) device.link = link;
  }

  // ---- step 2 ----

  Status<> judge() {
    if (costs_.ties != nullptr) ties_ = *costs_.ties;
    for (const Target& target : lists_.targets) {
      const auto lists = lists_of(target);
      auto support = judge_by_lists(graph_, lists, *request_.facts);
      if (!support) return std::move(support).error();
      for (std::size_t i = 0; i < support->patterns.count(); ++i) {
        const auto nodes = support->patterns.nodes_of(i);
        ties_.whole.emplace_back(nodes.begin(), nodes.end());
      }
      takes_.push_back(std::move(support->supported));
    }
    return Done{};
  }

  // ---- step 3 ----

  // `target`: target_count() for the host.
  GraphCostOptions costs_on(std::size_t target) const {
    GraphCostOptions costs = costs_;
    costs.ties = &ties_;
    const auto take = [&](const TargetSpec& spec) {
      if (spec.flops_per_second) costs.device_flops = *spec.flops_per_second;
      if (spec.bytes_per_second) costs.device_bandwidth = *spec.bytes_per_second;
    };
    const PerNode<double>* measured = nullptr;
    if (target == target_count()) {
      for (const TargetSpec& spec : request_.targets) {
        if (spec.target == TargetName::cpu) take(spec);
      }
      measured = &measured_.cpu_us;
    } else {
      each_spec(target, take);
      if (target == 0) measured = &measured_.acc_us;
      if (target > 0 && target <= measured_.later.size())
        measured = &measured_.later[target - 1].us;
    }
    costs.measured = measured == nullptr || measured->empty() ? nullptr : measured;
    return costs;
  }

  TargetOfStages described(const GraphBalance& made, const GraphCostOptions& costs,
                           std::string name, std::size_t takes) const {
    return {.name = std::move(name),
            .takes = takes,
            .measured = made.measured,
            .is_scaled = made.scaled > 0,
            .measured_share = made.measured_share,
            .flops_per_second = costs.device_flops,
            .bytes_per_second = costs.device_bandwidth};
  }

  void add_times() {
    const std::size_t targets = target_count();
    const GraphCostOptions on_host = costs_on(targets);
    made_.made = balance_problem_of(graph_, on_host);
    BalanceProblem& problem = made_.made.problem;
    const std::size_t nodes = problem.items.size();
    problem.target_times.assign(nodes * targets, kRefused);
    for (BalanceItem& item : problem.items) {
      item.host_time = item.time;
      item.time = kUnlimited;
    }
    for (std::size_t target = 0; target < targets; ++target) {
      const GraphCostOptions costs = costs_on(target);
      const GraphBalance made = balance_problem_of(graph_, costs);
      std::size_t taken = 0;
      for (const NodeId node : graph_.nodes()) {
        const bool is_marker = is_stage_marker(graph_, node);
        if (!is_marker && !takes_[target].contains(node)) continue;
        taken += is_marker ? 0 : 1;
        const double time = made.problem.items[index(node)].time;
        problem.target_times[index(node) * targets + target] = time;
        problem.items[index(node)].time = std::min(problem.items[index(node)].time, time);
      }
      made_.targets.push_back(described(made, costs, lists_.targets[target].name, taken));
    }
    for (BalanceItem& item : problem.items) {
      item.runs_on_accelerator = item.time < kUnlimited;
      if (!item.runs_on_accelerator) item.time = 0;
    }
    if (std::ranges::any_of(devices_, is_host)) {
      made_.targets.push_back(described(made_.made, on_host, kHostName, nodes));
    }
  }

  const Graph& graph_;
  const BalanceRequest& request_;
  const GraphCostOptions& costs_;
  const CostSet& measured_;
  std::vector<DeviceSpec>& devices_;
  ListsRead lists_;
  std::vector<NodeSet> takes_;  // by target
  NodeTies ties_;
  StageTargets made_;
};

// Reads the lists. A device without memory or link of its own gets those that its target is given.
// Refuses a device of a target that has no list, and a target that has no device. Linear in nodes and
// edges for each target.
Result<StageTargets, Fault> stage_targets(const Graph& graph, const BalanceRequest& request,
                                          const GraphCostOptions& costs, const CostSet& read,
                                          std::vector<DeviceSpec>& devices) {
  return StageTargetsMaker(graph, request, costs, read, devices).run();
}

OrFault<BalanceRun> run_graph(const Graph& graph, std::uint32_t stages,
                              const BalanceRequest& request, Measurements& read) {
  const Clock::time_point start = Clock::now();
  const Link link = request.link.value_or(default_link());
  const GraphCostOptions costs = costs_for(request, link, read.costs);
  if (auto fine = check_targets_of_devices(request, read.devices); !fine) return fine.error();
  const std::size_t listed = read.devices.size();
  if (stages > 0 && stages < listed) read.devices.resize(stages);
  StageTargets on_targets;
  if (request.lists.accepts_nothing()) {
    on_targets.made = balance_problem_of(graph, costs);
  } else {
    auto made = stage_targets(graph, request, costs, read.costs, read.devices);
    if (!made) return std::move(made).error();
    on_targets = *std::move(made);
  }
  GraphBalance& made = on_targets.made;
  BalanceRun run{.problem = std::move(made.problem), .warnings = std::move(on_targets.warnings)};
  const bool is_of_parameters = request.memory == BalanceRequest::Memory::parameters;
  if (is_of_parameters) {
    for (BalanceNet& net : run.problem.nets) net.bytes = 0;
  }
  if (stages > listed && listed > 0) {
    return wrong_request("--stages asks for " + count_text(stages) + ", but " +
                         request.devices_path + " has " + counted(listed, "device"));
  }
  add_devices(read.devices, stages, request, costs, on_targets.target_of, run.problem);
  if (const std::string idle = idle_option(request, read.devices); !idle.empty()) {
    return wrong_request(idle);
  }
  const auto options = options_for(request, costs.by == BalanceBy::time ? 1e-6 : 0, start);
  if (!options) return options.error();
  const BalanceFacts facts{.graph = graph,
                           .made = made,
                           .costs = costs,
                           .measured = &read.costs,
                           .unit = run.problem.unit,
                           .comm = options->comm,
                           .link = link,
                           .memory = is_of_parameters ? std::nullopt : memory_limit(request),
                           .devices = std::move(read.devices),
                           .devices_path = request.devices_path,
                           .targets = std::move(on_targets.targets)};
  run.notes = notes_of(facts);
  const bool asks_fewest = stages == 0 && request.asks_fewest();
  const auto solved =
      asks_fewest ? solve_fewest(run, *options, costs.by) : solve(run, *options, costs.by);
  if (!solved) return solved.error();
  describe(run, facts);
  if (is_of_parameters) {
    run.balance.assumptions.push_back("memory     " + bytes_text(request.memory_bytes) +
                                      " a device, for parameters");
  }
  return run;
}

// ---- workloads ----

// True if there are accelerators but all stages are on the host.
bool uses_no_accelerator(const BalanceRun& run) {
  const auto& devices = run.problem.devices;
  const auto is_host = [](const BalanceDevice& device) { return device.is_host; };
  return !std::ranges::all_of(devices, is_host) &&
         std::ranges::all_of(run.result.stages, [&](const BalanceStage& stage) {
           return devices[stage.device].is_host;
         });
}

WorkloadDevices devices_for(const Workload& workload, std::uint32_t stages,
                            const BalanceRequest& request) {
  WorkloadDevices devices = workload.devices;
  if (stages > 0) devices = {.accelerators = stages, .memory = devices.memory};
  if (request.memory == BalanceRequest::Memory::none) devices.memory = kUnlimited;
  if (const auto limit = memory_limit(request)) devices.memory = static_cast<double>(*limit);
  return devices;
}

void describe(BalanceRun& run, const WorkloadDevices& devices, CommModel comm) {
  const std::string memory = devices.memory < kUnlimited
                                 ? " of " + bytes_text(static_cast<std::uint64_t>(devices.memory))
                                 : " without a memory limit";
  if (uses_no_accelerator(run)) {
    run.balance.caveats = {
        "no accelerator is used: all nodes are on the CPU, either because that is fastest or "
        "because no accelerator can run them"};
  }
  run.balance.assumptions = {
      "devices    " + counted(devices.accelerators, "accelerator") + memory +
          (devices.hosts > 0 ? ", " + counted(devices.hosts, "CPU") : ""),
      "transfers  the file's costs, each tensor once a stage, none to and from a CPU; " +
          comm_text(comm)};
}

// Balances the graph over at most `stages` stages (0: as many as request.devices_path lists, or the
// fewest that keep a limit on parameters). The fault is `infeasible` when the devices cannot hold the nodes.
Result<BalanceRun, Fault> balance_model(const Graph& graph, std::uint32_t stages,
                                        const BalanceRequest& request, const Progress& progress) {
  auto read = read_measurements(graph, request);
  if (!read) return std::move(read).error();
  BalanceRequest observed = request;
  observed.options.progress = progress;
  auto run = run_graph(graph, stages, observed, *read);
  if (!run) return after(read->costs.warnings, std::move(run).error());
  run->warnings.insert(run->warnings.begin(), read->costs.warnings.begin(),
                       read->costs.warnings.end());
  return run;
}

}  // namespace

Result<BalanceRun, Fault> balance_workload(const Workload& workload, std::uint32_t stages,
                                           const BalanceRequest& request,
                                           const Progress& progress) {
  const Clock::time_point start = Clock::now();
  const WorkloadDevices devices = devices_for(workload, stages, request);
  BalanceRun run{.problem = workload.problem};
  run.problem.devices = balance_devices(devices);
  run.problem.unit = "ms";
  run.problem.item_name = [&workload](std::uint32_t item) { return workload.names[item]; };
  auto options = options_for(request, 1e-3, start);
  if (!options) return std::move(options).error();
  options->progress = progress;
  const auto solved = solve(run, *options, BalanceBy::time);
  if (!solved) return solved.error();
  describe(run, devices, options->comm);
  return run;
}

// ---- stage plan ----

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
                    {"give --split-at, --map or --stages"});
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
  const std::unordered_set<std::string_view> with_stage(used.begin(), used.end());
  std::string left;
  for (const BalanceDevice& device : problem.devices) {
    if (!with_stage.contains(device.name) && !device.name.empty()) {
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

// What it costs that stages end at the borders of blocks.
std::string price_of_blocks(const StageBalance& whole, const StageBalance& free) {
  const std::string than = amount_text(whole, whole.objective) + ", and cuts anywhere " +
                           amount_text(free, free.objective);
  const double times = free.objective > 0 ? whole.objective / free.objective : 1;
  return "whole blocks: the slowest of " + counted(whole.loads.size(), "stage") + " takes " + than +
         (free.loads.size() == whole.loads.size() ? ""
                                                  : " in " + counted(free.loads.size(), "stage")) +
         ", so they cost " + fixed_text(times, 2) + " times as much";
}

Result<StagePlan, Fault> plan_by_balance(const Graph& graph, const StagePlanRequest& request,
                                         const Progress& progress) {
  const bool has_number = request.stages > 0 || !request.balance.devices_path.empty();
  BalanceRequest balance = request.balance;
  balance.costs.by = balance_by(request.policy);
  balance.costs.ties = &request.ties;
  const std::uint32_t stages =
      has_number || balance.asks_fewest() ? request.stages : kMostForTarget;
  const auto nodes = graph.nodes();
  if (balance.costs.keeps_blocks && std::ranges::all_of(nodes, [&](NodeId node) {
        return block_of(scope_of(graph, node)).empty();
      })) {
    return fault_of(FaultCause::request, "--cut-at scopes: the nodes of the model have no scopes",
                    {"leave it out, or name the cuts: --split-at node:NAME=end"});
  }
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
  if (balance.costs.keeps_blocks) {
    balance.costs.keeps_blocks = false;
    if (const auto free = balance_model(graph, stages, balance, progress)) {
      plan.notes.push_back(price_of_blocks(*plan.balance, free->balance));
    }
  }
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

// ---- schedules ----
//
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
         " not known, so the schedules' times are not: give shapes with --input-shape or --dim, or "
         "measured times with --costs; works are in the order that fits stages that take equally "
         "long";
}

std::vector<std::string> caveats_of(const ScheduleBasis& basis, const NodeTimes& times,
                                    const ScheduleRequest& request) {
  std::vector<std::string> caveats;
  const std::string passes = rate_text(request.backward_factor);
  caveats.push_back("a backward pass counts as " + passes +
                    (passes == "1" ? " forward pass" : " forward passes") +
                    ", half of it for the weights; memory counts parameters and all "
                    "tensors that the nodes of a stage make");
  if (!times.all_known()) {
    caveats.push_back(unknown_times(times));
  } else if (times.made.measured == 0) {
    caveats.emplace_back("times of the stages are estimated from FLOPs and bytes");
  } else if (times.made.measured_share < 1) {
    caveats.push_back(
        percent_text(times.made.measured_share) +
        " of the stages' time was measured, the rest is estimated from FLOPs and bytes");
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
