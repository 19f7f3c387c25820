// Bound split: whether `cleave split` writes the partitions that were lowered with pinned shapes
// when the model is bound to the same sizes.
#pragma once

#include <optional>

#include "core/split/split.h"
#include "formats/run/lowering/lower_outcome.h"
#include "formats/run/lowering/open_shapes.h"

namespace cleave {

struct BoundSplitInput {
  const LoadedModel& model;
  const std::vector<SupportList>& lists;  // of the round
  const Link& link;
  const SplitOptions& options;
};

// Reads the model again with the sizes, splits it with the same lists, and compares the result with
// the parts of the round. nullopt when the model cannot take the sizes. Linear, as a split is.
std::optional<BoundSplit> compare_bound_split(const BoundSplitInput& input,
                                              const ShapeBindings& sizes, const LowerRound& round);

}  // namespace cleave
