// Oracle: answers whether a backend accepts a piece of a partition. The culprit search asks an
// oracle; the code that runs a backend provides it. Tests pass lambdas.
//
//   piece     nodes that are cut out of the model, convex, compiled (and run) as a model
//   remedy    a change to a piece other than to its nodes: its open shapes pinned, ...
//   stage     what failed: "check", "compile", "values", ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"

namespace cleave {

// How a piece is changed before the backend gets it. Remedies add up and are never undone.
struct Remedies {
  bool pin_shapes = false;        // open dims at the boundary get the sizes of the reference run
  bool freeze_values = false;     // small integer inputs become constants
  bool constants_inside = false;  // parameters are initializers, not inputs
  std::optional<std::int64_t> opset = std::nullopt;  // the default domain's, raised to this
  bool operator==(const Remedies&) const = default;
};

// Both remedies. Of two opsets the higher one.
Remedies operator|(const Remedies& one, const Remedies& other);

struct Piece {
  std::vector<NodeId> nodes;  // model order
  Remedies remedies = {};
  // Above 0: the piece was asked before, and the question is whether the answer is the same; so it
  // must not come from a cache.
  std::uint32_t attempt = 0;
  double tolerance = 1;  // factor on the difference of values that the backend's file allows
};

enum class OracleOutcome : std::uint8_t {
  passes,
  fails,
  unresolved,  // neither: a fault of the driver, a cut that cannot be made, a lost machine
  unchanged,   // the remedies do not change this piece: the answer without them holds
};

// How wrong values differ.
enum class Difference : std::uint8_t {
  none,  // no values were compared, or all are right
  wrong,
  lower_precision,  // right at the tolerance of a lower precision
  tie_order,        // equal values come in another order
};

struct Answer {
  OracleOutcome outcome = OracleOutcome::unresolved;
  std::string stage = {};    // of a failure
  std::string how = {};      // of a failure, in words: "refused", "crashed (SIGSEGV)"
  std::string message = {};  // the backend's own
  Difference difference = Difference::none;
  std::optional<ValueId> first_wrong = std::nullopt;  // the first value that differs
  std::size_t runs = 1;  // calls of the backend; 0: the answer was known
};

using Oracle = std::function<Answer(const Piece&)>;

}  // namespace cleave
