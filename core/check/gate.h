// Gates: limits that a split must meet, and whether it does. The input and the result are plain
// numbers.
//
// A gate holds only when that is certain. A limit on bytes or rates does not hold while the size of
// a tensor that crosses the link is unknown; it fails when the known sizes already break it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/measures/measures.h"

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
inline constexpr int kGateKindCount = 18;

// "min-coverage-nodes", "require", ...: the gate's name in reports and test suites.
std::string_view gate_kind_name(GateKind kind);

// The least share of the model that one of several targets takes.
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
  bool no_unknown_shapes = false;
  std::optional<std::uint64_t> new_cpu_nodes = {};  // maximum
  // share by which coverage and QPS may fall, and latency may rise
  std::optional<double> regression = {};
};

enum class GateVerdict : std::uint8_t {
  holds,
  fails,
  not_known,       // counts as failed: what decides it is unknown
  not_applicable,  // counts as passed: there is nothing to compare with
};

// "holds", "fails", "not_known", "not_applicable"
std::string_view gate_verdict_name(GateVerdict verdict);

struct Gate {
  GateKind kind;
  // require: the node or op asked for; coverage: one of several targets, or "" for all together
  std::string subject = {};
  double limit = 0;                     // the minimum or maximum allowed
  std::optional<double> actual = {};    // nullopt: unknown, not bounded or not applicable
  std::optional<double> baseline = {};  // regressions: the value from which the limit was computed
  GateVerdict verdict = GateVerdict::holds;

  bool passed() const {
    return verdict == GateVerdict::holds || verdict == GateVerdict::not_applicable;
  }
};

// The facts of one run.
struct GateFacts {
  Measures now;
  std::size_t unknown_shapes = 0;
  std::size_t unchecked = 0;            // nodes accepted by rules that leave a condition unchecked
  std::optional<Measures> before = {};  // of the baseline
  std::size_t new_cpu_nodes = 0;        // on the CPU now, but not in the baseline
};

// One gate for each limit, in the order of GateKind, without `require`; coverage of single targets
// follows that of all, and is not known where there is no such target. Gates against a baseline
// exist only when there is one. Coverage and rates are compared with the limit as written: 19 of 20
// nodes are 0.95. Comparisons with a baseline allow a relative 1e-12 for rounding.
std::vector<Gate> evaluate_gates(const GateLimits& limits, const GateFacts& facts);

// The gate that certain nodes are on the accelerator: holds when none of the `matched` nodes is on
// the CPU, not applicable when no node matched.
Gate require_gate(std::string subject, std::size_t matched, std::size_t on_cpu);

}  // namespace cleave
