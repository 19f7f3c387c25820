#include "cli/balance_run.h"

#include <chrono>
#include <functional>
#include <utility>

#include "cli/progress_bar.h"
#include "cli/terminal.h"
#include "formats/cost_files.h"
#include "formats/number_text.h"
#include "formats/report_words.h"
#include "formats/source_file.h"

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

// ---- words ----

std::string comm_text(CommModel comm) {
  switch (comm) {
    case CommModel::serial:
      return "a stage takes compute + in + out (serial)";
    case CommModel::overlap:
      return "a stage takes the longer of compute and in + out (overlap)";
    case CommModel::duplex:
      return "a stage takes the longest of compute, in and out (duplex)";
    case CommModel::none:
      break;
  }
  return "free (none)";
}

std::string memory_line(const BalanceArgs& args) {
  std::string line = "memory     " + bytes_text(args.memory_bytes) + " a device, for parameters";
  if (args.costs.optimizer_factor != 1) {
    line += " (times " + rate_text(args.costs.optimizer_factor) + ")";
  }
  return line + " and the peak of live activations";
}

std::string times_line(const Graph& graph, const GraphBalance& made, const BalanceArgs& args) {
  const std::string roofline = "the longer of FLOPs at " + flops_text(args.costs.device_flops) +
                               "/s and bytes at " + link_text(args.device_bandwidth);
  if (made.measured == 0) return "times      estimated: " + roofline;
  if (made.measured == graph.node_count()) return "times      measured";
  return "times      measured for " + count_text(made.measured) + " of " +
         counted(graph.node_count(), "node", "nodes") + ", for the others " + roofline;
}

// What is known too little of, and so counts nothing.
std::vector<std::string> notes_on(const GraphBalance& made, BalanceBy by) {
  std::vector<std::string> notes;
  if (made.unknown_costs > 0) {
    notes.push_back("the cost of " + counted(made.unknown_costs, "node", "nodes") +
                    " is not known and counts as 0" +
                    (by == BalanceBy::time ? ": give --costs, or shapes with --dim" : ""));
  }
  if (made.unknown_sizes > 0) {
    notes.push_back("the size of " + counted(made.unknown_sizes, "tensor", "tensors") +
                    " is not known: moving and keeping them counts as 0; give shapes with --dim");
  }
  return notes;
}

// ---- what both kinds of runs do ----

// `unit_seconds`: how long a unit of the problem's times is; 0 where they are no times.
OrRefusal<BalanceOptions> options_for(const BalanceArgs& args, double unit_seconds,
                                      Clock::time_point start) {
  BalanceOptions options = args.options;
  if (unit_seconds == 0) {
    if (args.is_comm_given) return wrong_usage("--comm counts only where times are balanced");
    options.comm = CommModel::none;
  }
  if (args.target_seconds && unit_seconds == 0) {
    return wrong_usage("--target-latency is a time, but no times are balanced",
                       {"a number without a unit is the most that a stage may hold"});
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
  std::optional<NodeTimes> times;
  std::vector<DeviceSpec> devices;
};

OrRefusal<Measurements> read_measurements(const Graph& graph, BalanceBy by,
                                          const BalanceArgs& args) {
  Measurements read;
  if (!args.costs_path.empty()) {
    if (by != BalanceBy::time) return wrong_usage("--costs counts only where times are balanced");
    auto times = read_from<NodeTimes>(
        args.costs_path, [&](const SourceFile& source) { return read_node_times(source, graph); });
    if (!times) return std::move(times).error();
    print_diagnostics(times->warnings);
    read.times = *std::move(times);
  }
  if (!args.devices_path.empty()) {
    auto devices = read_from<std::vector<DeviceSpec>>(args.devices_path, read_devices);
    if (!devices) return std::move(devices).error();
    read.devices = *std::move(devices);
  }
  return read;
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
  auto read = read_measurements(graph, by, args);
  if (!read) return std::move(read).error();
  const Clock::time_point start = Clock::now();
  const Link link = args.link.value_or(default_link());
  GraphCostOptions costs = args.costs;
  costs.by = by;
  costs.device_bandwidth = args.device_bandwidth.bytes_per_second;
  costs.link_bandwidth = link.bytes_per_second;
  if (read->times) costs.measured = &read->times->microseconds;
  GraphBalance made = balance_problem_of(graph, costs);
  BalanceRun run;
  run.problem = std::move(made.problem);
  const auto added = add_devices(read->devices, stages, args, costs, run.problem);
  if (!added) return added.error();
  const auto options = options_for(args, by == BalanceBy::time ? 1e-6 : 0, start);
  if (!options) return options.error();
  run.notes = notes_on(made, by);
  const auto solved = solve(run, *options, by);
  if (!solved) return solved.error();
  if (by != BalanceBy::time) {
    run.balance.assumptions = {"balanced   by " + run.problem.unit +
                               " alone: transfers do not count"};
  } else {
    run.balance.assumptions = {times_line(graph, made, args), "transfers  " + link_text(link) +
                                                                  ", each tensor once a stage; " +
                                                                  comm_text(options->comm)};
  }
  if (args.memory == BalanceArgs::Memory::bytes) {
    run.balance.assumptions.push_back(memory_line(args));
  }
  return run;
}

// ---- workloads ----

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
