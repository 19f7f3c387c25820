// Reads the costs of a model, and lets the sizes that a profile saw bind the symbolic dims of the
// model's inputs: then all shapes that follow from them are known, also those of nodes that the
// runtime fused or renamed.
#pragma once

#include <span>

#include "formats/lists/costs/cost_set.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/run/jobs/split_request.h"

namespace cleave {

// Refuses --costs NAME=FILE where no list makes a target NAME, and there is no file of that whole name. To be
// asked before the files are read.
Status<> check_cost_targets(const SplitRequest& request);

// The costs, matched with the shapes that follow; `inferred` has these, and
// observed_shapes() has all. The model's graph keeps the declared shapes. The model's notes on shapes that stay unknown are
// replaced by those that hold with the dims bound. Dims for which two files saw different sizes are
// not bound, with a warning. If a profile saw a dim, the model is read again.
Loaded<CostSet> read_costs_and_shapes(std::span<const CostSource> sources, LoadedModel& model);

}  // namespace cleave
