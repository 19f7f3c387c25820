// Gates: limits that a split must keep, and whether it does. Plain numbers in, plain numbers out.
//
// A gate holds only when that is certain: a limit on bytes or rates does not hold while the size of
// some tensor that crosses the link is unknown, unless it is broken already by what is known.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/split/measures.h"

namespace cleave {

enum class GateKind : std::uint8_t {
  min_node_coverage,
  min_flops_coverage,
  min_parameter_coverage,
  max_acc_subgraphs,
  max_cpu_nodes,
  max_boundary_bytes,
  min_qps,
  require,  // certain nodes are on the accelerator
  no_unknown_shapes,
  max_new_cpu_nodes,  // this and the following: against a baseline
  node_coverage_regression,
  flops_coverage_regression,
  parameter_coverage_regression,
  qps_regression,
};
inline constexpr int kGateKindCount = 14;

// "min-coverage-nodes", "require", ...: as reports and test suites name the gate.
std::string_view gate_kind_name(GateKind kind);

// What is asked; nothing: no gate.
struct GateLimits {
  std::optional<double> node_coverage = {};  // least, from 0 to 1, and so the next two
  std::optional<double> flops_coverage = {};
  std::optional<double> parameter_coverage = {};
  std::optional<std::uint64_t> acc_subgraphs = {};  // most, and so the next two
  std::optional<std::uint64_t> cpu_nodes = {};
  std::optional<std::uint64_t> boundary_bytes = {};
  std::optional<double> qps = {};  // least
  bool no_unknown_shapes = false;
  std::optional<std::uint64_t> new_cpu_nodes = {};  // most
  std::optional<double> regression = {};            // share by which coverage and QPS may fall
};

enum class GateVerdict : std::uint8_t {
  holds,
  fails,
  not_known,       // counts as failed: what would decide it is not known
  not_applicable,  // counts as held: there is nothing to hold it against
};

// "holds", "fails", "not_known", "not_applicable"
std::string_view gate_verdict_name(GateVerdict verdict);

struct Gate {
  GateKind kind;
  std::string subject = {};             // require: the node or op asked for
  double limit = 0;                     // the least or the most that is allowed
  std::optional<double> actual = {};    // nothing: not known, not bounded or not applicable
  std::optional<double> baseline = {};  // regressions: what the limit was made from
  GateVerdict verdict = GateVerdict::holds;

  bool passed() const {
    return verdict == GateVerdict::holds || verdict == GateVerdict::not_applicable;
  }
};

// What one run has to show.
struct GateFacts {
  Measures now;
  std::size_t unknown_shapes = 0;
  std::optional<Measures> before = {};  // of the baseline
  std::size_t new_cpu_nodes = 0;        // on the CPU now, and not so in the baseline
};

// A gate for each limit, in the order of GateKind but for `require`, which is not among them. Those
// against a baseline only where there is one. Coverage and rates are compared with the limit as it
// was written: 19 of 20 nodes are 0.95. Against a baseline a relative 1e-12 is let pass as
// rounding.
std::vector<Gate> evaluate_gates(const GateLimits& limits, const GateFacts& facts);

// The gate that certain nodes be on the accelerator: holds when none of the `matched` is on the
// CPU, is not applicable when there are none.
Gate require_gate(std::string subject, std::size_t matched, std::size_t on_cpu);

}  // namespace cleave
