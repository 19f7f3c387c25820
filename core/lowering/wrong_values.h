// Wrong values: finds the node that computes something other than the reference in a partition that
// compiles and runs, by bisection on the reference's values.
//
// The interval that is wrong is halved. Each half runs on the values that the *reference* has at
// its inputs, so that errors do not add up. No inner value becomes an output, so that what the
// backend fuses within a half stays fused.
//
//   the first half is wrong    -> go on in it
//   else the second is         -> go on in it; a half that is only a tie or a step off comes last
//   both are right             -> no node is wrong by itself:
//       an op between decides an order (TopK, NonZero, a comparison): rounding_decides
//       the interval is right when ten times the error is allowed:    errors_add_up
//       otherwise:                                                    together, and what it takes at least
//       that is right up to a quantiser in it, and behind it:         one_step, which what follows enlarges
//
// What is found explains no more than its own nodes. Where it is no fault (an order of ties, one
// quantisation step, rounding), or the reference has NaN or infinity there, the items before and after
// it run, too, on the reference's values, and what is wrong there is searched in the same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/lowering/culprit_search.h"

namespace cleave {

// Descent: which values depend on a node of some kind. Values that depend on a random operator
// differ from run to run. Values whose shape depends on data have no fixed shape in the model.

// By value: true when a node that makes it, or one that it depends on, is an operator of ONNX that
// draws at random. Linear in the edges.
std::vector<bool> random_values(const Graph& graph);

// By value: true when its shape may depend on data, since it depends on a node such as NonZero,
// NonMaxSuppression, Unique, Compress, Loop, Scan or If. Linear in the edges.
std::vector<bool> values_shaped_by_data(const Graph& graph);

enum class ValueVerdict : std::uint8_t {
  culprit,           // `nodes` are wrong on right inputs
  lower_precision,   // right at the tolerance of a lower precision: a switch of the backend
  tie_order,         // `nodes` give equal values in another order: not a fault
  one_step,          // `nodes` are one quantisation step off here and there: not a fault
  rounding_decides,  // `deciders` turn an error within the tolerance into another order
  errors_add_up,     // each half of `nodes` is right
  together,          // `nodes` are far off, and without the first or the last of them right
  not_finite,        // `nodes` read or give NaN or infinity: what is right there is not known
  unresolved,        // the halves of `nodes` could not be run, or a limit was reached
};

struct WrongValues {
  ValueVerdict verdict = ValueVerdict::unresolved;
  std::vector<NodeId> nodes = {};     // model order
  std::vector<NodeId> deciders = {};  // model order
  // For `together`: one of `nodes` without which the others were seen to be right.
  std::optional<NodeId> necessary = std::nullopt;
  std::optional<ValueId> first_wrong = std::nullopt;  // within `nodes`
  Remedies remedies = {};                             // under which `nodes` were seen to be wrong
  std::string message = {};                           // how their values differ
  std::size_t runs = 0;
  // Where halves could not be run: one of them, and why.
  std::vector<NodeId> blocked = {};
  std::string blocked_why = {};
};

// Whether all that the nodes read and give in the reference is finite. NaN and infinity are where right
// computations differ: Relu gives NaN or 0, a cast any integer. Empty: all of it is.
using FiniteTest = std::function<bool(std::span<const NodeId>)>;

struct AllWrongValues {
  std::vector<WrongValues> found;  // at least one; at most 8
  // All that was found is no fault, and the rest of the partition is right.
  bool is_no_fault = false;
};

// For each finding at most 2 ceil(log2 n) runs, plus 1 when no node is wrong by itself, and as many
// again as the bisection took where some are wrong together; plus up to 16 for each half that cannot be
// run; 2 more for the rest after what is no fault. Only a `culprit` and a `necessary` node may become a
// rule.
AllWrongValues find_wrong_values(const FailedPartition& failed, const Oracle& oracle,
                                 const AskingLimits& limits, const FiniteTest& is_finite = {});

}  // namespace cleave
