#include "formats/run/jobs/balance_job.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/number_text.h"
#include "formats/base/io/side_file.h"
#include "formats/lists/costs/cost_set.h"
#include "formats/lists/tables/device_file.h"
#include "formats/report/stages/stage_balance.h"
#include "formats/run/jobs/stage_targets.h"

namespace cleave {
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
    return wrong_request("--exact-stages cannot be used with --target-latency",
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
    return !devices.empty() && std::all_of(devices.begin(), devices.end(), has);
  };
  const std::string but = " has no effect: each device of " + request.devices_path + " has ";
  if (request.memory != BalanceRequest::Memory::unset &&
      all([](const DeviceSpec& device) { return device.memory.has_value(); })) {
    return "--memory" + but + "its own memory";
  }
  if (request.link && all([](const DeviceSpec& device) { return device.link.has_value(); })) {
    return "--link" + but + "its own link";
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
  constexpr double kMost = 1e6;
  return static_cast<std::uint32_t>(std::clamp(std::ceil(bytes / memory), 1.0, kMost));
}

// As few stages as the limit on parameters allows: tries one more until an assignment is found. The
// fault is that of the first try.
OrFault<Done> solve_fewest(BalanceRun& run, const BalanceOptions& options, BalanceBy by) {
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
  run.balance.caveats = caveats_of(facts);
  if (facts.costs.by == BalanceBy::time) run.balance.measured_share = facts.made.measured_share;
  for (const TargetOfStages& target : facts.targets) {
    auto& least = run.balance.measured_share;
    least = std::min(least.value_or(1), target.measured_share);
  }
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
  costs.device_bandwidth = request.device_bandwidth.bytes_per_second;
  costs.link_bandwidth = link.bytes_per_second;
  if (!read.cpu.empty()) costs.measured = &read.cpu_us;
  return costs;
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
                           .device_bandwidth = request.device_bandwidth,
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
  return !std::all_of(devices.begin(), devices.end(), is_host) &&
         std::all_of(run.result.stages.begin(), run.result.stages.end(),
                     [&](const BalanceStage& stage) { return devices[stage.device].is_host; });
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

}  // namespace

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

}  // namespace cleave
