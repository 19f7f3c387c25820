// A diff: what moved between two splits, and which change moved it. Plain data, as in check.h.
#pragma once

#include <string>
#include <vector>

#include "core/measures/measures.h"
#include "formats/report/check/checked_node.h"
#include "formats/report/drawings/content_page.h"
#include "formats/report/words/report.h"

namespace cleave {

struct DiffSide {
  std::string model, list;  // as the command line named them
  Measures measures;
  std::vector<OpsetImport> opsets = {};  // domains by the names in the file
  std::string opsets_text = {};          // the same for people
};

struct Diff {
  DiffSide before, after;
  bool is_same_model = true;
  bool is_same_list = true;
  std::vector<std::string> settings;  // differences: "start: cpu, was acc"
  // Nodes in both models, in model order. For nodes now on the accelerator, `cause` and `detail`
  // say why they were not there before.
  std::vector<CheckedMove> to_cpu, to_acc;
  std::vector<CheckedMove> moved;    // of several targets: from one to another
  std::vector<std::string> targets;  // of several: names of the places of moves
  std::vector<CheckedMove> added;    // with their places now
  struct Removed {
    std::string node;
    Place from;
  };
  std::vector<Removed> removed;  // by name
};

// The caller sets `side.model` and `side.list`. Nodes are matched by name. Cost: up to two more
// splits, and reading the later model with the earlier shapes if these differ.
Diff diff_reports(const Report& before, const Report& after);

// The numbers of both, side by side.
KeptTable diff_numbers(const Diff& diff);

// The numbers of both side by side, then the nodes by the change to blame. At most 100 columns.
std::string diff_text(const Diff& diff);

// cleave.diff version 1.
std::string diff_json(const Diff& diff);

}  // namespace cleave
