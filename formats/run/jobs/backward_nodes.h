// The backward pass of a pipeline as nodes of its root in native JSON.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"
#include "core/stages/training.h"

namespace cleave {

//   stage_backward             kwargs stage_output, output_grads, input_values: lists, null where
//                              there is no gradient; attribute outputs_with_grads_idxs; outputs the
//                              gradients of the stage's inputs
//   null_coalesce_accumulate   the sum of two gradients of a value; if one is null, the other
//
// The nodes in order, each on one line. Their names, and the names of gradients (`grad_<value>`),
// do not occur in the graph.
std::vector<std::string> backward_nodes(const Graph& graph, const Partition& partition,
                                        const Boundaries& boundaries, const BackwardPlan& plan);

}  // namespace cleave
