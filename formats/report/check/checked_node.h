// A node in checks and diffs: its reason as text and the rule that caused it, independent of the
// graph. The shapes that two runs gave to a model's inputs, compared.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/check/comparison.h"
#include "core/measures/measures.h"
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
  std::string target = {};             // one of several, which does not run it; "": all of them
  std::string runs_on = {};            // of several targets the one that runs it; "": the CPU
  bool breaks_gate = false;  // new on the CPU where that is not allowed, or required elsewhere
};

struct CheckedMove {
  CheckedNode node;
  Place from;
  Place to;
  Change change;  // the one to blame
};

// Cost: making the text of a reason, and following the chain of nodes that blame each other. With
// `asked`, one of several targets: why it does not run the node, wherever that runs.
CheckedNode checked_node(const Report& report, NodeId node, TargetId asked = kNone<TargetId>);
// The same with the reason of the target that the node left, where that has one to give.
CheckedMove checked_move(const Report& report, const Move& move, const ComparedTargets& targets);

// "npu", "gpu": of several targets.
std::vector<std::string> target_names(std::span<const Target> targets);
// One line for each difference: `npu: launch: 100 us, was 20 us`.
std::vector<std::string> changed_targets(std::span<const Target> before,
                                         const SplitOptions& before_numbers, const Report& now);

// Whether the link of the one target is another: "pcie-bw: 0.25 GB/s, was 7.88 GB/s"; else "".
std::string changed_link(std::span<const Target> before, double bytes_per_second_before,
                         const Report& now);

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
