#include "cli/jobs/balance_run.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "cli/jobs/balance_words.h"
#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"
#include "formats/costs/cost_set.h"
#include "formats/io/source_file.h"
#include "formats/tables/device_file.h"
#include "formats/text/number_text.h"

namespace cleave {
namespace {

using Clock = std::chrono::steady_clock;

// Why there is no result: faults of a file, or an error and what to exit with.
struct Refusal {
  ExitCode code = ExitCode::usage;
  Error error = {};
  Diagnostics diagnostics = {};
};
template <class T>
using OrRefusal = Result<T, Refusal>;

Refusal wrong_usage(std::string message, std::vector<std::string> notes = {}) {
  return {.error = {.message = std::move(message), .notes = std::move(notes)}};
}

void print(const Refusal& refusal) {
  print_diagnostics(refusal.diagnostics);
  if (refusal.diagnostics.empty()) print_error(refusal.error.message, refusal.error.notes);
}

template <class T>
OrRefusal<T> read_from(const std::string& path,
                       const std::function<Loaded<T>(const SourceFile&)>& read) {
  const auto source = SourceFile::open(path);
  Loaded<T> result = source ? read(*source) : Loaded<T>(source.error());
  if (result) return *std::move(result);
  return Refusal{.code = ExitCode::bad_input, .diagnostics = std::move(result).error()};
}

// ---- what both kinds of runs do ----

// `unit_seconds`: how long a unit of the problem's times is; 0 where they are no times.
OrRefusal<BalanceOptions> options_for(const BalanceArgs& args, double unit_seconds,
                                      Clock::time_point start) {
  BalanceOptions options = args.options;
  if (unit_seconds == 0) options.comm = CommModel::none;
  if (args.target_seconds && unit_seconds == 0) {
    return wrong_usage("--target-latency is a time, but no times are balanced",
                       {"a number without a unit is the most that a stage may hold"});
  }
  if (args.target_number && unit_seconds != 0) {
    const std::string number = rate_text(*args.target_number);
    return wrong_usage("--target-latency: " + number + " has no unit: write " + number + "ms or " +
                       number + "us");
  }
  if (options.exact_stages && (args.target_seconds || args.target_number)) {
    return wrong_usage("--exact-stages means nothing to --target-latency",
                       {"the one asks for a number of stages, the other for the fewest"});
  }
  if (args.target_seconds) options.target = *args.target_seconds / unit_seconds;
  if (args.target_number) options.target = *args.target_number;
  if (options.time_limit_seconds < kUnlimited) {
    options.time_limit_seconds -= std::chrono::duration<double>(Clock::now() - start).count();
  }
  return options;
}

Result<BalanceResult> balance_with_progress(const BalanceProblem& problem, BalanceOptions options) {
  ProgressBar bar("");
  options.progress = bar.observer();
  return balance_stages(problem, options);
}

OrRefusal<Done> solve(BalanceRun& run, const BalanceOptions& options, BalanceBy by) {
  auto result = balance_with_progress(run.problem, options);
  if (!result) return Refusal{.code = ExitCode::check_failed, .error = std::move(result).error()};
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

OrRefusal<Measurements> read_measurements(const Graph& graph, const BalanceArgs& args) {
  Measurements read;
  auto costs = read_cost_set(args.costs_files, graph);
  if (!costs) return Refusal{.code = ExitCode::bad_input, .diagnostics = std::move(costs).error()};
  print_diagnostics(costs->warnings);
  read.costs = *std::move(costs);
  if (!args.devices_path.empty()) {
    auto devices = read_from<std::vector<DeviceSpec>>(args.devices_path, read_devices);
    if (!devices) return std::move(devices).error();
    read.devices = *std::move(devices);
  }
  return read;
}

// An option that would change nothing; empty: there is none.
std::string idle_option(const BalanceArgs& args, BalanceBy by) {
  if (by != BalanceBy::time) {
    for (const char* const option :
         {"--comm", "--link", "--costs", "--device-flops", "--device-bandwidth"}) {
      if (args.is_given(option)) {
        return std::string(option) + " counts only where times are balanced";
      }
    }
  }
  if (args.link && args.options.comm == CommModel::none) {
    return "--link means nothing to --comm none, where transfers are free";
  }
  return {};
}

// The same of options that are for devices which say nothing themselves.
std::string idle_option(const BalanceArgs& args, const std::vector<DeviceSpec>& devices) {
  const auto all = [&](bool (*has)(const DeviceSpec&)) {
    return !devices.empty() && std::all_of(devices.begin(), devices.end(), has);
  };
  const std::string but = " means nothing here: each device of " + args.devices_path + " has ";
  if (args.memory != BalanceArgs::Memory::unset &&
      all([](const DeviceSpec& device) { return device.memory.has_value(); })) {
    return "--memory" + but + "its own memory";
  }
  if (args.link && all([](const DeviceSpec& device) { return device.link.has_value(); })) {
    return "--link" + but + "its own link";
  }
  return {};
}

// The first `stages` of the list (0: all), else `stages` equal ones.
OrRefusal<Done> add_devices(const std::vector<DeviceSpec>& list, std::uint32_t stages,
                            const BalanceArgs& args, const GraphCostOptions& costs,
                            BalanceProblem& problem) {
  const double memory = args.memory == BalanceArgs::Memory::bytes
                            ? static_cast<double>(args.memory_bytes)
                            : kUnlimited;
  if (list.empty()) {
    problem.devices = {{.name = "device", .memory = memory, .count = stages}};
    return Done{};
  }
  if (stages > list.size()) {
    return wrong_usage("--stages asks for " + count_text(stages) + ", but " + args.devices_path +
                       " has " + counted(list.size(), "device", "devices"));
  }
  const std::size_t count = stages == 0 ? list.size() : stages;
  problem.devices_in_order = true;
  for (std::size_t i = 0; i < count; ++i) {
    const DeviceSpec& spec = list[i];
    const double scale = spec.link ? costs.link_bandwidth / spec.link->bytes_per_second : 1;
    problem.devices.push_back({.name = spec.name,
                               .speed = spec.speed,
                               .transfer_scale = scale,
                               .memory = spec.memory ? static_cast<double>(*spec.memory) : memory});
  }
  return Done{};
}

OrRefusal<BalanceRun> run_graph(const Graph& graph, BalanceBy by, std::uint32_t stages,
                                const BalanceArgs& args) {
  if (const std::string idle = idle_option(args, by); !idle.empty()) return wrong_usage(idle);
  auto read = read_measurements(graph, args);
  if (!read) return std::move(read).error();
  const Clock::time_point start = Clock::now();
  const Link link = args.link.value_or(default_link());
  GraphCostOptions costs = args.costs;
  costs.by = by;
  costs.device_bandwidth = args.device_bandwidth.bytes_per_second;
  costs.link_bandwidth = link.bytes_per_second;
  if (!read->costs.cpu.empty()) costs.measured = &read->costs.cpu_us;
  GraphBalance made = balance_problem_of(graph, costs);
  BalanceRun run;
  run.problem = std::move(made.problem);
  const auto added = add_devices(read->devices, stages, args, costs, run.problem);
  if (!added) return added.error();
  if (stages > 0 && stages < read->devices.size()) read->devices.resize(stages);
  if (const std::string idle = idle_option(args, read->devices); !idle.empty()) {
    return wrong_usage(idle);
  }
  const auto options = options_for(args, by == BalanceBy::time ? 1e-6 : 0, start);
  if (!options) return options.error();
  const BalanceFacts facts{.graph = graph,
                           .made = made,
                           .args = args,
                           .unit = run.problem.unit,
                           .by = by,
                           .comm = options->comm,
                           .devices = std::move(read->devices),
                           .costs = &read->costs};
  run.notes = notes_of(facts);
  const auto solved = solve(run, *options, by);
  if (!solved) return solved.error();
  run.balance.assumptions = assumptions_of(facts);
  run.balance.caveats = caveats_of(facts);
  if (by == BalanceBy::time) run.balance.measured_share = made.measured_share;
  run.balance.is_partly_known =
      made.unknown_costs > 0 || (options->comm != CommModel::none && made.unknown_sizes > 0);
  return run;
}

// ---- workloads ----

// There are accelerators, and all stages are on the host.
bool uses_no_accelerator(const BalanceRun& run) {
  const auto& devices = run.problem.devices;
  const auto is_host = [](const BalanceDevice& device) { return device.is_host; };
  return !std::all_of(devices.begin(), devices.end(), is_host) &&
         std::all_of(run.result.stages.begin(), run.result.stages.end(),
                     [&](const BalanceStage& stage) { return devices[stage.device].is_host; });
}

OrRefusal<BalanceRun> run_workload(const Workload& workload, std::uint32_t stages,
                                   const BalanceArgs& args) {
  const Clock::time_point start = Clock::now();
  WorkloadDevices devices = workload.devices;
  if (stages > 0) devices = {.accelerators = stages, .memory = devices.memory};
  if (args.memory == BalanceArgs::Memory::none) devices.memory = kUnlimited;
  if (args.memory == BalanceArgs::Memory::bytes) {
    devices.memory = static_cast<double>(args.memory_bytes);
  }
  BalanceRun run;
  run.problem = workload.problem;
  run.problem.devices = balance_devices(devices);
  run.problem.unit = "ms";
  run.problem.item_name = [&workload](std::uint32_t item) { return workload.names[item]; };
  const auto options = options_for(args, 1e-3, start);
  if (!options) return options.error();
  const auto solved = solve(run, *options, BalanceBy::time);
  if (!solved) return solved.error();
  const std::string memory = devices.memory < kUnlimited
                                 ? " of " + bytes_text(static_cast<std::uint64_t>(devices.memory))
                                 : " without a memory limit";
  if (uses_no_accelerator(run)) {
    run.balance.caveats = {
        "no accelerator is used: all nodes are on the CPU, which is as fast as it "
        "gets, or the accelerators take none of them"};
  }
  run.balance.assumptions = {
      "devices    " + counted(devices.accelerators, "accelerator", "accelerators") + memory +
          (devices.hosts > 0 ? ", " + counted(devices.hosts, "CPU", "CPUs") : ""),
      "transfers  the file's costs, each tensor once a stage, none to and from a CPU; " +
          comm_text(options->comm)};
  return run;
}

std::optional<BalanceRun> unpack(OrRefusal<BalanceRun> run, ExitCode& code) {
  if (run) {
    code = ExitCode::done;
    return *std::move(run);
  }
  print(run.error());
  code = run.error().code;
  if (!run.error().diagnostics.empty()) code = ExitCode::bad_input;
  return std::nullopt;
}

}  // namespace

std::optional<BalanceRun> balance_graph(const Graph& graph, BalanceBy by, std::uint32_t stages,
                                        const BalanceArgs& args, ExitCode& code) {
  return unpack(run_graph(graph, by, stages, args), code);
}

std::optional<BalanceRun> balance_workload(const Workload& workload, std::uint32_t stages,
                                           const BalanceArgs& args, ExitCode& code) {
  return unpack(run_workload(workload, stages, args), code);
}

}  // namespace cleave
