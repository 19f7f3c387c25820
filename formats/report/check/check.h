// A check: what came of holding models and lists against gates and a baseline. Plain data, free of
// the models that it was made from; the writers of text, JSON, JUnit, SARIF, Markdown and GitHub
// annotations all start from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/study/gate.h"
#include "formats/report/check/baseline_file.h"
#include "formats/report/check/checked_node.h"
#include "formats/report/words/report.h"

namespace cleave {

struct CheckedGate {
  Gate gate;
  std::string detail;  // which nodes break it, or why it cannot be judged; empty: nothing to say
};

struct CheckRun {
  std::string model, list;  // as the command line named them
  RulePlace list_place;
  Measures now;
  std::optional<Measures> before;
  std::vector<CheckedGate> gates;
  std::vector<CheckedMove> regressions;   // to the CPU, or new there; model order
  std::vector<CheckedMove> improvements;  // from the CPU to the accelerator
  std::size_t removed = 0;                // nodes of the baseline that are gone
  std::vector<std::string> settings;      // that differ from the baseline's: "start: cpu, was acc"
  // On the CPU, model order; those that break a gate first, and at most kMostCpuNodes.
  std::vector<CheckedNode> cpu_nodes;

  bool passed() const;
};

struct Check {
  std::vector<CheckRun> runs;
  bool passed() const;
};

inline constexpr std::size_t kMostCpuNodes = 5000;  // what GitHub keeps of a SARIF run

struct CheckRequest {
  GateLimits limits = {};
  std::vector<std::string> require = {};  // names or globs of nodes, or ops
};

// `before`: null when there is no baseline.
CheckRun check_report(const Report& report, const CheckRequest& request,
                      const EarlierResult* before);

// A requirement that met no node in any run asks for what is not there: it fails in all of them.
void fail_vain_requirements(Check& check);

// Nodes that a `require` asks for: of that name or op, both as globs, or with such a node in a body
// (which is where they are).
std::vector<NodeId> required_nodes(const Graph& graph, const std::string& pattern);

}  // namespace cleave
