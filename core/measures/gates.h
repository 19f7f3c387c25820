// The gates of `check`, and the words by which options name their limits: the table of options has them also where
// `check` is left out. What they hold against is in check.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

enum class GateKind : std::uint8_t {
  min_node_coverage,
  min_flops_coverage,
  min_parameter_coverage,
  max_acc_subgraphs,
  max_cpu_nodes,
  max_unchecked,
  max_boundary_bytes,
  min_qps,
  max_latency,
  faster_than_cpu,  // the limit is the time of an inference on the CPU alone
  require,          // the nodes asked for are on the accelerator
  no_unknown_shapes,
  max_new_cpu_nodes,  // this and the following: against a baseline
  node_coverage_regression,
  flops_coverage_regression,
  parameter_coverage_regression,
  qps_regression,
  latency_regression,
};
inline constexpr std::size_t kGateKindCount = 18;

// The least share of the model that one of several targets takes.
// Only coverage is of a target: other measures are of the split as a whole.
struct TargetCoverage {
  std::string target;
  GateKind kind;     // one of min_*_coverage
  double least = 0;  // from 0 to 1
};

// The limits asked for; nullopt: no gate.
struct GateLimits {
  std::optional<double> node_coverage = {};  // minimum, from 0 to 1; the same for the next two
  std::optional<double> flops_coverage = {};
  std::optional<double> parameter_coverage = {};
  std::vector<TargetCoverage> target_coverage = {};
  std::optional<std::uint64_t> acc_subgraphs = {};  // maximum; the same for the next two
  std::optional<std::uint64_t> cpu_nodes = {};
  std::optional<std::uint64_t> unchecked = {};  // most nodes accepted by rules that leave some
                                                // condition unchecked
  std::optional<std::uint64_t> boundary_bytes = {};
  std::optional<double> qps = {};         // minimum
  std::optional<double> latency_us = {};  // maximum
  bool faster_than_cpu = false;
  std::optional<std::uint64_t> unknown_shapes = {};  // maximum; the same for the next one
  std::optional<std::uint64_t> new_cpu_nodes = {};
  // share by which coverage and QPS may fall, and latency may rise
  std::optional<double> regression = {};
};

// The side of a limit that holds.
enum class GateSide : std::uint8_t { none, least, most };
enum class GateUnit : std::uint8_t { none, share, count, rate, bytes, time };

struct GateRow {
  std::string_view name;   // in reports and test suites
  std::string_view title;  // for people: what it reads
  GateUnit unit = GateUnit::none;
  GateSide side = GateSide::none;
  std::string_view word = {};  // by which --min or --max names the limit; "": none does
  // At most one of the two. Gates without a word of their own have neither: faster-than-cpu is --max latency=cpu, and
  // the last row asks for all regressions.
  std::optional<double> GateLimits::*number = nullptr;  // the limit of that word
  std::optional<std::uint64_t> GateLimits::*count = nullptr;
};

// All gates, in the order of GateKind; the last row is the word that asks for the five comparisons before it. Names of
// gates, words of options, their help, completions and messages are made of it.
// Rows are found by index, so a new gate has its row where its GateKind is.
inline constexpr std::array<GateRow, kGateKindCount + 1> kGates = {{
    {"min-coverage-nodes", "node coverage", GateUnit::share, GateSide::least, "coverage",
     &GateLimits::node_coverage},
    {"min-coverage-flops", "FLOPs coverage", GateUnit::share, GateSide::least, "coverage-flops",
     &GateLimits::flops_coverage},
    {"min-coverage-params", "parameter coverage", GateUnit::share, GateSide::least,
     "coverage-params", &GateLimits::parameter_coverage},
    {"max-acc-subgraphs", "accelerator subgraphs", GateUnit::count, GateSide::most, "acc-subgraphs",
     nullptr, &GateLimits::acc_subgraphs},
    {"max-cpu-nodes", "CPU nodes", GateUnit::count, GateSide::most, "cpu-nodes", nullptr,
     &GateLimits::cpu_nodes},
    {"max-unchecked", "unchecked nodes", GateUnit::count, GateSide::most, "unchecked", nullptr,
     &GateLimits::unchecked},
    {"max-boundary-bytes", "boundary bytes", GateUnit::bytes, GateSide::most, "boundary-bytes",
     nullptr, &GateLimits::boundary_bytes},
    {"min-qps", "link-bound QPS", GateUnit::rate, GateSide::least, "qps", &GateLimits::qps},
    {"max-latency", "latency", GateUnit::time, GateSide::most, "latency", &GateLimits::latency_us},
    {"faster-than-cpu", "faster than the CPU", GateUnit::time, GateSide::most},
    {"require", "require"},
    {"no-unknown-shapes", "unknown shapes", GateUnit::count, GateSide::most, "unknown-shapes",
     nullptr, &GateLimits::unknown_shapes},
    {"max-new-cpu-nodes", "new CPU nodes", GateUnit::count, GateSide::most, "new-cpu-nodes",
     nullptr, &GateLimits::new_cpu_nodes},
    {"regression-coverage-nodes", "node coverage kept", GateUnit::share, GateSide::least},
    {"regression-coverage-flops", "FLOPs coverage kept", GateUnit::share, GateSide::least},
    {"regression-coverage-params", "parameter coverage kept", GateUnit::share, GateSide::least},
    {"regression-qps", "link-bound QPS kept", GateUnit::rate, GateSide::least},
    {"regression-latency", "latency kept", GateUnit::time, GateSide::most},
    {"", "", GateUnit::share, GateSide::most, "regression", &GateLimits::regression},
}};

constexpr const GateRow& row_of(GateKind kind) { return kGates[static_cast<std::size_t>(kind)]; }

}  // namespace cleave
