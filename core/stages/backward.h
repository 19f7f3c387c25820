// The backward pass of a pipeline: which stages are called backwards, in which order, and how
// gradients of a value that several stages read are added.
//
//   forward:    0: x -> a     1: a -> b     2: a b -> loss
//   backward:   2: -> grad a, grad b    1: grad b -> another grad a    both are added    0: ...
#pragma once

#include <cstdint>
#include <limits>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"

namespace cleave {

// The n-th gradient that is computed.
enum class GradientId : std::uint32_t {};

// Calls a stage backwards: it returns a gradient for each of its inputs, in their order.
struct StageBackward {
  PartId stage;
  std::vector<GradientId> output_gradients;  // by output of the stage; kNone: it has no gradient
  // positions of the outputs that the loss needs
  std::vector<std::uint32_t> outputs_with_gradients;
  GradientId first;  // of the first input; the others follow
};

// Adds two gradients of a value, either of which may turn out to be null.
struct AccumulateGradient {
  ValueId value;
  GradientId before;  // kNone: null
  GradientId more;
  GradientId sum;
};

struct BackwardPlan {
  ValueId loss;
  std::vector<std::variant<StageBackward, AccumulateGradient>> steps;
  std::vector<ValueId> value_of;  // by gradient
};

// Backward steps of the stages that the loss depends on, last stage first. A further gradient of a
// value is added to the one before, unless the value is an input of the graph, which keeps the last
// one. Refuses a loss that no stage makes. Linear. Method: PiPPy, _insert_stage_symbolic_backward.
Result<BackwardPlan> plan_backward(const Graph& graph, const Partition& partition,
                                   const Boundaries& boundaries, ValueId loss);

}  // namespace cleave
