#include "core/check/gate.h"

#include <algorithm>
#include <array>
#include <utility>

namespace cleave {
namespace {

GateVerdict verdict_of(bool holds) { return holds ? GateVerdict::holds : GateVerdict::fails; }

class Evaluator {
 public:
  Evaluator(const GateLimits& limits, const GateFacts& facts) : limits_(limits), facts_(facts) {}

  std::vector<Gate> evaluate() {
    const Measures& now = facts_.now;
    add_coverage(GateKind::min_node_coverage, limits_.node_coverage, now.nodes, true);
    add_coverage(GateKind::min_flops_coverage, limits_.flops_coverage, now.flops,
                 now.flops.are_known());
    add_coverage(GateKind::min_parameter_coverage, limits_.parameter_coverage, now.parameter_bytes,
                 true);
    for (const TargetCoverage& wanted : limits_.target_coverage) add_coverage_of_target(wanted);
    add_most(GateKind::max_acc_subgraphs, limits_.acc_subgraphs, now.acc_subgraphs);
    add_most(GateKind::max_cpu_nodes, limits_.cpu_nodes, now.cpu_nodes);
    add_most(GateKind::max_unchecked, limits_.unchecked, facts_.unchecked);
    add_boundary_bytes();
    add_qps();
    if (limits_.latency_us) add_time(GateKind::max_latency, limits_.latency_us);
    if (limits_.faster_than_cpu) add_faster_than_cpu();
    if (limits_.no_unknown_shapes) {
      add_most(GateKind::no_unknown_shapes, 0, facts_.unknown_shapes);
    }
    if (facts_.before) add_comparisons(*facts_.before);
    return std::move(gates_);
  }

 private:
  void add_coverage(GateKind kind, std::optional<double> least, const Coverage& coverage,
                    bool is_known) {
    if (!least) return;
    Gate gate{.kind = kind, .limit = *least, .verdict = GateVerdict::not_known};
    if (is_known) {
      gate.actual = coverage.ratio();
      gate.verdict = verdict_of(*gate.actual >= *least);
    }
    gates_.push_back(std::move(gate));
  }

  void add_coverage_of_target(const TargetCoverage& wanted) {
    const auto& targets = facts_.now.targets;
    const auto own = std::find_if(targets.begin(), targets.end(),
                                  [&](const auto& one) { return one.name == wanted.target; });
    const bool is_of_flops = wanted.kind == GateKind::min_flops_coverage;
    if (own == targets.end()) {
      add_coverage(wanted.kind, wanted.least, {}, false);
    } else {
      add_coverage(wanted.kind, wanted.least,
                   wanted.kind == GateKind::min_node_coverage ? own->nodes
                   : is_of_flops                              ? own->flops
                                                              : own->parameter_bytes,
                   !is_of_flops || facts_.now.flops.are_known());
    }
    gates_.back().subject = wanted.target;
  }

  void add_most(GateKind kind, std::optional<std::uint64_t> most, std::uint64_t actual) {
    if (!most) return;
    gates_.push_back({.kind = kind,
                      .limit = static_cast<double>(*most),
                      .actual = static_cast<double>(actual),
                      .verdict = verdict_of(actual <= *most)});
  }

  void add_boundary_bytes() {
    if (!limits_.boundary_bytes) return;
    add_most(GateKind::max_boundary_bytes, limits_.boundary_bytes, facts_.now.boundary_bytes);
    if (!facts_.now.is_any_boundary_known()) gates_.back().actual.reset();
    leave_open_unless_failed();
  }

  void add_qps() {
    if (!limits_.qps) return;
    Gate gate{.kind = GateKind::min_qps, .limit = *limits_.qps, .actual = facts_.now.qps};
    if (gate.actual) gate.verdict = verdict_of(*gate.actual >= gate.limit);
    gates_.push_back(std::move(gate));
    leave_open_unless_failed();
  }

  // A split that is as fast as the CPU alone is not faster.
  void add_time(GateKind kind, std::optional<double> most) {
    const std::optional<double> actual = facts_.now.latency_us;
    Gate gate{.kind = kind,
              .limit = most.value_or(0),
              .actual = actual,
              .verdict = GateVerdict::not_known};
    const bool may_be_equal = kind == GateKind::max_latency;
    if (actual && most) {
      gate.verdict = verdict_of(may_be_equal ? *actual <= *most : *actual < *most);
    }
    gates_.push_back(std::move(gate));
  }

  // Not known where the difference is smaller than the time that profiles measured outside nodes.
  void add_faster_than_cpu() {
    const Measures& now = facts_.now;
    add_time(GateKind::faster_than_cpu, now.all_cpu_us);
    Gate& gate = gates_.back();
    if (!gate.actual || !now.all_cpu_us || now.acc_subgraphs == 0) return;
    const bool may_be_slower = *gate.actual + now.acc_unmatched_us >= gate.limit;
    const bool may_be_faster = *gate.actual < gate.limit + now.cpu_unmatched_us;
    if (may_be_slower && may_be_faster) gate.verdict = GateVerdict::not_known;
  }

  // Unknown bytes can only add to the known ones.
  void leave_open_unless_failed() {
    Gate& gate = gates_.back();
    if (!facts_.now.is_boundary_known && gate.verdict == GateVerdict::holds) {
      gate.verdict = GateVerdict::not_known;
    }
  }

  // ---- against a baseline ----

  void add_comparisons(const Measures& before) {
    add_most(GateKind::max_new_cpu_nodes, limits_.new_cpu_nodes, facts_.new_cpu_nodes);
    if (!limits_.regression) return;
    const Measures& now = facts_.now;
    add_fall(GateKind::node_coverage_regression, before.nodes.ratio(), now.nodes.ratio());
    add_flops_fall(before);
    add_fall(GateKind::parameter_coverage_regression, before.parameter_bytes.ratio(),
             now.parameter_bytes.ratio());
    add_qps_fall(before);
    add_latency_rise(before);
  }

  // If the baseline's latency is unknown there is no gate.
  void add_latency_rise(const Measures& before) {
    if (!before.latency_us) return;
    add_time(GateKind::latency_regression, *before.latency_us * (1 + *limits_.regression));
    Gate& gate = gates_.back();
    gate.baseline = before.latency_us;
    if (gate.actual) {
      constexpr double kRounding = 1e-12;
      gate.verdict = verdict_of(*gate.actual <= gate.limit + kRounding * gate.limit);
    }
  }

  void add_fall(GateKind kind, double before, double now) {
    constexpr double kRounding = 1e-12;
    const double least = before * (1 - *limits_.regression);
    gates_.push_back({.kind = kind,
                      .limit = least,
                      .actual = now,
                      .baseline = before,
                      .verdict = verdict_of(now >= least - kRounding * before)});
  }

  // A baseline without known FLOPs, or with few, cannot be compared with. If FLOPs known to the baseline are now
  // unknown, the share of the rest is meaningless.
  void add_flops_fall(const Measures& before) {
    const Measures& now = facts_.now;
    add_fall(GateKind::flops_coverage_regression, before.flops.ratio(), now.flops.ratio());
    Gate& gate = gates_.back();
    const bool are_lost =
        now.flops.unknown > before.flops.unknown && now.flops.total < before.flops.total;
    if (are_lost || !now.flops.are_known()) {
      gate.verdict = GateVerdict::not_known;
      gate.actual = std::nullopt;
    }
    if (!before.flops.are_known()) {
      gate = {.kind = gate.kind, .verdict = GateVerdict::not_applicable};
    }
  }

  // A link that bounds no partition allows any rate, but a baseline without an accelerator
  // partition had none that could fall. If some of the baseline's bytes were unknown, its rate is
  // only an upper bound: a lower rate need not be a fall.
  void add_qps_fall(const Measures& before) {
    const Measures& now = facts_.now;
    if (before.qps && now.qps) {
      add_fall(GateKind::qps_regression, *before.qps, *now.qps);
      Gate& gate = gates_.back();
      if (!before.is_boundary_known && gate.verdict == GateVerdict::fails) {
        gate = {.kind = gate.kind, .verdict = GateVerdict::not_applicable};
      }
      return leave_open_unless_failed();
    }
    Gate gate{.kind = GateKind::qps_regression, .actual = now.qps, .baseline = before.qps};
    gate.verdict = GateVerdict::not_applicable;
    if (now.qps && before.acc_subgraphs > 0 && before.is_boundary_known) {
      gate.verdict = GateVerdict::fails;
    }
    if (before.qps && !now.is_boundary_known) {
      gate.verdict = GateVerdict::not_known;
      gate.limit = *before.qps * (1 - *limits_.regression);
    }
    gates_.push_back(std::move(gate));
  }

  const GateLimits& limits_;
  const GateFacts& facts_;
  std::vector<Gate> gates_;
};

}  // namespace

std::string_view gate_kind_name(GateKind kind) {
  // In the order of the enumerators.
  static constexpr std::array<std::string_view, kGateKindCount> kNames = {
      "min-coverage-nodes",
      "min-coverage-flops",
      "min-coverage-params",
      "max-acc-subgraphs",
      "max-cpu-nodes",
      "max-unchecked",
      "max-boundary-bytes",
      "min-qps",
      "max-latency",
      "faster-than-cpu",
      "require",
      "no-unknown-shapes",
      "max-new-cpu-nodes",
      "regression-coverage-nodes",
      "regression-coverage-flops",
      "regression-coverage-params",
      "regression-qps",
      "regression-latency",
  };
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view gate_verdict_name(GateVerdict verdict) {
  static constexpr std::array<std::string_view, 4> kNames = {"holds", "fails", "not_known",
                                                             "not_applicable"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::vector<Gate> evaluate_gates(const GateLimits& limits, const GateFacts& facts) {
  return Evaluator(limits, facts).evaluate();
}

Gate require_gate(std::string subject, std::size_t matched, std::size_t on_cpu) {
  Gate gate{.kind = GateKind::require, .subject = std::move(subject)};
  if (matched == 0) {
    gate.verdict = GateVerdict::not_applicable;
    return gate;
  }
  gate.actual = static_cast<double>(on_cpu);
  gate.verdict = verdict_of(on_cpu == 0);
  return gate;
}

}  // namespace cleave
