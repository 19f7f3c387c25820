#include "core/check/gate.h"

#include <sstream>

#include "tests/catch2.h"

namespace cleave {
namespace {

// 19 of 20 nodes, 3 of 4 GFLOP, half of the parameters; two subgraphs, 1000 bytes, 50 QPS.
Measures some_measures() {
  return {.nodes = {19, 20},
          .flops = {{3e9, 4e9}},
          .parameter_bytes = {512, 1024},
          .acc_subgraphs = 2,
          .cpu_nodes = 1,
          .boundary_bytes = 1000,
          .qps = 50};
}

// "min-coverage-nodes holds: 0.95 of 0.95\n"
std::string describe(const std::vector<Gate>& gates) {
  std::ostringstream text;
  for (const Gate& gate : gates) {
    text << gate_kind_name(gate.kind) << ' ' << gate_verdict_name(gate.verdict) << ": ";
    if (gate.actual) text << *gate.actual << " of ";
    text << gate.limit << '\n';
  }
  return text.str();
}

std::string evaluated(const GateLimits& limits, const GateFacts& facts) {
  return describe(evaluate_gates(limits, facts));
}

TEST_CASE(
    "whether a split is faster is not known where unmatched time is more than the difference") {
  Measures now = some_measures();
  now.latency_us = 105;
  now.all_cpu_us = 100;
  const auto verdict = [&] { return evaluated({.faster_than_cpu = true}, {.now = now}); };
  CHECK(verdict() == "faster-than-cpu fails: 105 of 100\n");
  now.cpu_unmatched_us = 4;
  CHECK(verdict() == "faster-than-cpu fails: 105 of 100\n");
  now.cpu_unmatched_us = 6;
  CHECK(verdict() == "faster-than-cpu not_known: 105 of 100\n");
  now.latency_us = 95;
  CHECK(verdict() == "faster-than-cpu holds: 95 of 100\n");
  now.acc_unmatched_us = 10;
  CHECK(verdict() == "faster-than-cpu not_known: 95 of 100\n");
  now.acc_subgraphs = 0;
  now.latency_us = 100;
  CHECK(verdict() == "faster-than-cpu fails: 100 of 100\n");
}

TEST_CASE("a share of FLOPs of which most are not known meets and breaks no limit") {
  Measures now = some_measures();
  now.flops.computing = now.flops.unknown = 15;
  const auto verdict = [&] { return evaluated({.flops_coverage = 0.5}, {.now = now}); };
  CHECK(verdict() == "min-coverage-flops holds: 0.75 of 0.5\n");
  now.flops.computing = 14;
  CHECK(verdict() == "min-coverage-flops not_known: 0.5\n");
  now.flops.acc = 0;
  CHECK(verdict() == "min-coverage-flops not_known: 0.5\n");
}

TEST_CASE("coverage of one of several targets is that target's share of the whole model") {
  Measures now = some_measures();
  now.targets = {{.name = "npu", .nodes = {15, 20}, .flops = {3e9, 4e9}, .parameter_bytes = {0, 1}},
                 {.name = "gpu", .nodes = {4, 20}, .flops = {0, 4e9}, .parameter_bytes = {1, 1}}};
  const auto gates = [&](const std::string& target, GateKind kind, double least) {
    return evaluated({.target_coverage = {{target, kind, least}}}, {.now = now});
  };
  CHECK(gates("npu", GateKind::min_node_coverage, 0.75) ==
        "min-coverage-nodes holds: 0.75 of 0.75\n");
  CHECK(gates("gpu", GateKind::min_node_coverage, 0.75) ==
        "min-coverage-nodes fails: 0.2 of 0.75\n");
  CHECK(gates("gpu", GateKind::min_flops_coverage, 0) == "min-coverage-flops holds: 0 of 0\n");
  CHECK(gates("npu", GateKind::min_parameter_coverage, 0.5) ==
        "min-coverage-params fails: 0 of 0.5\n");
  CHECK(gates("dsp", GateKind::min_node_coverage, 0) == "min-coverage-nodes not_known: 0\n");
}

TEST_CASE("a limit that is met exactly holds") {
  const GateLimits limits{.node_coverage = 0.95,
                          .flops_coverage = 0.75,
                          .parameter_coverage = 0.5,
                          .acc_subgraphs = 2,
                          .cpu_nodes = 1,
                          .boundary_bytes = 1000,
                          .qps = 50,
                          .no_unknown_shapes = true};
  CHECK(evaluated(limits, {.now = some_measures()}) ==
        "min-coverage-nodes holds: 0.95 of 0.95\n"
        "min-coverage-flops holds: 0.75 of 0.75\n"
        "min-coverage-params holds: 0.5 of 0.5\n"
        "max-acc-subgraphs holds: 2 of 2\n"
        "max-cpu-nodes holds: 1 of 1\n"
        "max-boundary-bytes holds: 1000 of 1000\n"
        "min-qps holds: 50 of 50\n"
        "no-unknown-shapes holds: 0 of 0\n");
}

TEST_CASE("a limit that is missed by little fails") {
  const GateLimits limits{.node_coverage = 0.9500001,
                          .flops_coverage = 0.7500001,
                          .parameter_coverage = 0.5000001,
                          .acc_subgraphs = 1,
                          .cpu_nodes = 0,
                          .boundary_bytes = 999,
                          .qps = 50.001,
                          .no_unknown_shapes = true};
  for (const Gate& gate : evaluate_gates(limits, {.now = some_measures(), .unknown_shapes = 1})) {
    CHECK(gate.verdict == GateVerdict::fails);
  }
}

TEST_CASE("every share of nodes equals itself when written as a decimal") {
  for (int total = 1; total <= 400; ++total) {
    for (int acc = 0; acc <= total; ++acc) {
      Measures now = some_measures();
      now.nodes = {static_cast<double>(acc), static_cast<double>(total)};
      const double written = static_cast<double>(acc) / total;
      REQUIRE(evaluate_gates({.node_coverage = written}, {.now = now}).front().passed());
    }
  }
}

TEST_CASE("no gate is made if no limit is given") {
  CHECK(evaluated({}, {.now = some_measures()}).empty());
  CHECK(evaluated({.new_cpu_nodes = 0, .regression = 0.0}, {.now = some_measures()}).empty());
}

TEST_CASE("bytes and rates hold only when all that crosses the link is known") {
  Measures now = some_measures();
  now.is_boundary_known = false;
  CHECK(evaluated({.boundary_bytes = 2000, .qps = 10}, {.now = now}) ==
        "max-boundary-bytes not_known: 1000 of 2000\n"
        "min-qps not_known: 50 of 10\n");
  CHECK(evaluated({.boundary_bytes = 500, .qps = 60}, {.now = now}) ==
        "max-boundary-bytes fails: 1000 of 500\n"
        "min-qps fails: 50 of 60\n");
  now.qps = std::nullopt;
  CHECK(evaluated({.qps = 10}, {.now = now}) == "min-qps not_known: 10\n");
  now.is_boundary_known = true;
  CHECK(evaluated({.qps = 10}, {.now = now}) == "min-qps holds: 10\n");
}

TEST_CASE("of bytes of which none is known there is no sum") {
  Measures now = some_measures();
  now.boundary_bytes = 0;
  now.is_boundary_known = false;
  const Gate gate = evaluate_gates({.boundary_bytes = 1000}, {.now = now}).front();
  CHECK(gate.verdict == GateVerdict::not_known);
  CHECK_FALSE(gate.actual);
}

TEST_CASE("the share of FLOPs is unknown if no node's FLOPs are known") {
  Measures now = some_measures();
  now.flops = {{}, 0, 20};
  CHECK(evaluated({.flops_coverage = 0.0}, {.now = now}) == "min-coverage-flops not_known: 0\n");
  now.flops.unknown = 0;
  CHECK(evaluated({.flops_coverage = 1.0}, {.now = now}) == "min-coverage-flops holds: 1 of 1\n");
}

TEST_CASE("coverage and QPS may fall by the share allowed, and no further") {
  const Measures before = some_measures();
  Measures now = before;
  now.nodes = {18, 20};
  now.qps = 49;
  CHECK(evaluated({.regression = 0.02}, {.now = now, .before = before}) ==
        "regression-coverage-nodes fails: 0.9 of 0.931\n"
        "regression-coverage-flops holds: 0.75 of 0.735\n"
        "regression-coverage-params holds: 0.5 of 0.49\n"
        "regression-qps holds: 49 of 49\n");
}

TEST_CASE("a share of FLOPs is compared while the FLOPs of the baseline are still known") {
  Measures before = some_measures();
  Measures now = before;
  const auto flops_gate = [&] {
    return describe({evaluate_gates({.regression = 0.1}, {.now = now, .before = before}).at(1)});
  };
  now.flops.computing = 3;
  before.flops.computing = 3;
  now.flops.unknown = 2;  // of new nodes: what was known still is
  CHECK(flops_gate() == "regression-coverage-flops holds: 0.75 of 0.675\n");
  now.flops.acc = now.flops.total = 1e9;
  CHECK(flops_gate() == "regression-coverage-flops not_known: 0.675\n");
  before.flops.unknown = 2;  // they were not known then either: the model shrank
  CHECK(flops_gate() == "regression-coverage-flops holds: 1 of 0.675\n");
  now.flops = {{}, 0, 2};
  CHECK(flops_gate() == "regression-coverage-flops not_known: 0.675\n");
  before.flops = {{}, 0, 2};
  CHECK(flops_gate() == "regression-coverage-flops not_applicable: 0\n");
}

TEST_CASE("a rate is compared with a baseline that had one") {
  Measures before = some_measures();
  Measures now = before;
  const auto qps_gate = [&] {
    return describe({evaluate_gates({.regression = 0.0}, {.now = now, .before = before}).back()});
  };
  now.qps = std::nullopt;  // the link no longer sets a bound
  CHECK(qps_gate() == "regression-qps not_applicable: 0\n");
  now.is_boundary_known = false;  // unless some bytes are unknown
  CHECK(qps_gate() == "regression-qps not_known: 50\n");
  now = some_measures();
  before.qps = std::nullopt;  // the link set no bound
  CHECK(qps_gate() == "regression-qps fails: 50 of 0\n");
  before.acc_subgraphs = 0;  // since no node was on the accelerator
  CHECK(qps_gate() == "regression-qps not_applicable: 50 of 0\n");
  before = some_measures();
  before.is_boundary_known = false;  // it was at most 50, and may have been less
  CHECK(qps_gate() == "regression-qps holds: 50 of 50\n");
  now.qps = 10;
  CHECK(qps_gate() == "regression-qps not_applicable: 0\n");
}

TEST_CASE("new CPU nodes are counted against a baseline") {
  const GateFacts facts{.now = some_measures(), .before = some_measures(), .new_cpu_nodes = 2};
  CHECK(evaluated({.new_cpu_nodes = 2}, facts) == "max-new-cpu-nodes holds: 2 of 2\n");
  CHECK(evaluated({.new_cpu_nodes = 1}, facts) == "max-new-cpu-nodes fails: 2 of 1\n");
}

TEST_CASE("a requirement fails with one node on the CPU, and does not apply without a node") {
  CHECK(require_gate("Conv", 3, 0).verdict == GateVerdict::holds);
  CHECK(require_gate("Conv", 3, 1).verdict == GateVerdict::fails);
  CHECK(require_gate("Conv", 0, 0).verdict == GateVerdict::not_applicable);
}

TEST_CASE("an unknown latency does not pass a gate; the CPU's time must be undercut") {
  const GateLimits limits{.latency_us = 20000, .faster_than_cpu = true};
  GateFacts facts{.now = some_measures()};
  CHECK(evaluated(limits, facts) ==
        "max-latency not_known: 20000\n"
        "faster-than-cpu not_known: 0\n");
  facts.now.latency_us = 20000;
  facts.now.all_cpu_us = 20000;
  CHECK(evaluated(limits, facts) ==
        "max-latency holds: 20000 of 20000\n"
        "faster-than-cpu fails: 20000 of 20000\n");
}

TEST_CASE("a latency may rise by the allowed share if the baseline has one") {
  const GateLimits limits{.regression = 0.1};
  GateFacts facts{.now = some_measures(), .before = some_measures()};
  CHECK(evaluated(limits, facts).find("latency") == std::string::npos);
  facts.before->latency_us = 1000;
  CHECK(evaluated(limits, facts).find("regression-latency not_known: 1100") != std::string::npos);
  facts.now.latency_us = 1100;
  CHECK(evaluated(limits, facts).find("regression-latency holds: 1100 of 1100") !=
        std::string::npos);
  facts.now.latency_us = 1101;
  CHECK(evaluated(limits, facts).find("regression-latency fails: 1101 of 1100") !=
        std::string::npos);
}

}  // namespace
}  // namespace cleave
