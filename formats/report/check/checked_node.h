// A node in checks and diffs: its reason as text and the rule that caused it, independent of the
// graph. The shapes that two runs gave to a model's inputs, compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/measures/measures.h"
#include "core/study/comparison.h"
#include "core/support/reason.h"
#include "formats/models/bind/shape_bindings.h"
#include "formats/report/ci/ci_report.h"
#include "formats/report/words/report.h"

namespace cleave {

struct CheckedNode {
  std::string name;
  std::string op;
  ReasonCode code = ReasonCode::none;  // none: on the accelerator
  std::string cause;                   // the text that all nodes with this cause share
  std::string detail;                  // the whole reason
  std::string because;                 // the node to blame; empty for none
  FilePlace place;                     // of the rule that caused the reason, else of the list
  bool breaks_gate = false;  // new on the CPU where that is not allowed, or required elsewhere
};

struct CheckedMove {
  CheckedNode node;
  Place from;
  Place to;
  Change change;  // the one to blame
};

// Cost: making the text of a reason, and following the chain of nodes that blame each other.
CheckedNode checked_node(const Report& report, NodeId node);

// The numbers of the report's split, with the time of an inference where it is known.
Measures measures_of(const Report& report);

// The times of the report's nodes; null when they were not asked for.
const TargetTimes* times_of(const Report& report);

// The first list as a whole, for a node whose rule is not known.
FilePlace place_of_list(const Report& report);

// Moves with the same change and cause, in the order in which they first appear, model changes
// first.
struct MoveGroup {
  Change change;
  std::string cause;  // as text; empty when they are on the accelerator
  std::vector<const CheckedMove*> moves;
};
std::vector<MoveGroup> group_moves(const std::vector<CheckedMove>& moves);

// One line for each difference: `dim N: 8, was not given`.
std::vector<std::string> changed_bindings(const ShapeBindings& before, const ShapeBindings& now);

}  // namespace cleave
