// A check: the result of comparing models and lists with gates and a baseline. Plain data,
// independent of the models; the writers of text, JSON and what CI servers read all start from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/check/gate.h"
#include "formats/report/check/baseline_file.h"
#include "formats/report/check/checked_node.h"
#include "formats/report/ci/ci_report.h"
#include "formats/report/words/report.h"

namespace cleave {

struct CheckedGate {
  Gate gate;
  std::string detail;  // which nodes break it, or why it cannot be judged; may be empty
};

struct CheckRun {
  std::string model, list;  // as the command line named them
  FilePlace list_place;
  Measures now;
  std::optional<Measures> before;
  std::vector<CheckedGate> gates;
  std::vector<CheckedMove> regressions;   // to the CPU, or new there; model order
  std::vector<CheckedMove> improvements;  // from the CPU to the accelerator
  std::vector<CheckedMove> moved;         // of several targets: from one to another
  std::vector<std::string> targets;       // of several: names of the places of moves
  std::size_t removed = 0;                // nodes of the baseline that no longer exist
  std::vector<std::string> settings;      // differences from the baseline: "start: cpu, was acc"
  // On the CPU, in model order; those that break a gate come first; at most kMostCpuNodes. Of several
  // targets a row for each that does not run the node, and also nodes on others where a gate of the
  // target fails.
  std::vector<CheckedNode> cpu_nodes;
  std::size_t cpu_nodes_left_out = 0;
  std::string open_sizes = {};  // options that state sizes that are open; "": all are known

  bool passed() const;
};

// A model that could not be read, or with a list not be split.
struct CheckError {
  std::string model, message;
};

struct Check {
  std::vector<CheckRun> runs;
  std::vector<CheckError> errors = {};
  bool passed() const;
};

inline constexpr std::size_t kMostCpuNodes = 5000;  // GitHub keeps this many per SARIF run

struct CheckRequest {
  GateLimits limits = {};
  std::vector<std::string> require = {};  // names or globs of nodes, or ops
};

// `before` is null when there is no baseline.
CheckRun check_report(const Report& report, const CheckRequest& request,
                      const EarlierResult* before);

// A requirement that matches no node in any run is a mistake: it fails in all runs.
void fail_vain_requirements(Check& check);

// What CI servers are told. Gates that cannot be judged fail, and gates without anything to compare with
// are skipped. There are no times: the same check gives the same bytes.
CiReport ci_report(const Check& check);

// The verdict first; then each model and list with its gates, and the nodes that moved since the
// baseline, by the change to blame and the reason. At most 100 columns.
std::string check_text(const Check& check);

// A row for each model, a column for each list: the share of its nodes on the accelerator, and in how many
// partitions. Models in the order of their names.
std::string check_table(const Check& check);

// cleave.check version 1. Gates, regressions and improvements of all runs, each with its model and
// list.
std::string check_json(const Check& check);

}  // namespace cleave
