// The backward pass of a pipeline as nodes of its root in native JSON:
//
//   stage_backward             kwargs stage_output, output_grads, input_values: lists, null where
//                              there is no gradient; attribute outputs_with_grads_idxs; makes the
//                              gradients of the stage's inputs
//   null_coalesce_accumulate   the sum of two gradients of a value, of the other when one is null
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "core/stages/backward.h"

namespace cleave {

// The nodes in order, each on one line; their names, and those of gradients (`grad_<value>`), are
// ones that the graph does not have.
std::vector<std::string> backward_nodes(const Graph& graph, const Partition& partition,
                                        const Boundaries& boundaries, const BackwardPlan& plan);

}  // namespace cleave
