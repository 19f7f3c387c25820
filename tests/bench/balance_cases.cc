#include "tests/bench/balance_cases.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <fstream>
#include <stdexcept>

#include "core/stages/stages.h"
#include "formats/lists/stage_tables.h"
#include "formats/models/graph_json.h"
#include "tests/bench/bench_memory.h"

namespace cleave::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

nlohmann::json load(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be opened");
  return nlohmann::json::parse(file);
}

Workload read(const std::string& path) {
  const Loaded<SourceFile> source = SourceFile::open(path);
  if (!source) throw std::runtime_error(format_diagnostic(source.error().front()));
  Loaded<Workload> workload = read_workload(*source);
  if (!workload) throw std::runtime_error(format_diagnostic(workload.error().front()));
  return *std::move(workload);
}

}  // namespace

std::vector<BalanceCase> published_cases(const std::string& folder) {
  std::vector<BalanceCase> cases;
  for (const auto& entry : load(folder + "/published_setting.json")) {
    const auto& reference = entry.at("reference_dp");
    const auto seconds = reference.find("wall_s");
    cases.push_back({.input = entry.at("input"), .optimum = entry.at("optimum")});
    if (seconds != reference.end() && seconds->is_number()) {
      cases.back().reference_seconds = seconds->get<double>();
    }
  }
  return cases;
}

std::vector<BalanceCase> optima_cases(const std::string& folder) {
  std::vector<BalanceCase> cases;
  for (const auto& entry : load(folder + "/optima.json")) {
    cases.push_back({.input = entry.at("input"),
                     .stages = entry.at("k"),
                     .has_memory_cap = entry.at("memory_cap") == "file",
                     .optimum = entry.at("optimum"),
                     .reference_seconds = std::nullopt});
  }
  return cases;
}

BalanceOutcome run_case(const std::string& folder, const BalanceCase& wanted, Effort effort) {
  Workload workload = read(folder + "/" + wanted.input);
  WorkloadDevices devices = workload.devices;
  if (wanted.stages > 0) devices = {.accelerators = wanted.stages, .memory = devices.memory};
  if (!wanted.has_memory_cap) devices.memory = kUnlimited;
  workload.problem.devices = balance_devices(devices);

  release_freed_memory();
  restart_peak();
  const auto start = Clock::now();
  const Result<BalanceResult> result = balance_stages(workload.problem, {.effort = effort});
  const double seconds = seconds_since(start);
  if (!result) throw std::runtime_error(wanted.input + ": " + result.error().message);
  return {.ratio = result->objective / wanted.optimum,
          .bound = result->bound / wanted.optimum,
          .certificate = result->certificate,
          .seconds = seconds,
          .peak_bytes = peak_resident_bytes(),
          .time_limit_hit = result->time_limit_hit};
}

ScaleOutcome run_scale(GraphKind kind, std::size_t nodes, std::uint32_t stages) {
  const SourceFile source = SourceFile::from_text("graph", make_graph(kind, nodes));
  const Loaded<GraphJson> loaded = read_graph_json(source, {});
  if (!loaded) throw std::runtime_error(format_diagnostic(loaded.error().front()));
  release_freed_memory();
  restart_peak();
  const std::uint64_t before = resident_bytes();
  auto start = Clock::now();
  GraphBalance made = balance_problem_of(loaded->graph, {});
  made.problem.devices = {{.name = "device", .count = stages}};
  ScaleOutcome outcome{.nodes = loaded->graph.node_count(),
                       .problem_seconds = seconds_since(start)};
  start = Clock::now();
  const Result<BalanceResult> result = balance_stages(made.problem, {});
  outcome.stages_seconds = seconds_since(start);
  if (!result) throw std::runtime_error(result.error().message);
  outcome.gap = result->gap;
  outcome.peak_bytes = peak_resident_bytes() - before;
  return outcome;
}

}  // namespace cleave::bench
