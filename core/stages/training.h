// Training a pipeline: the backward pass of its stages, and the schedules of a step.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"

namespace cleave {

// The backward pass of a pipeline: which stages are called backwards, in which order, and how
// gradients of a value that several stages read are added.
//
//   forward:    0: x -> a     1: a -> b     2: a b -> loss
//   backward:   2: -> grad a, grad b    1: grad b -> another grad a    both are added    0: ...

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

// Schedules of a pipeline in training: in which order each rank computes the forward and backward
// passes of its stages for each microbatch, and what that costs.
//
//   rank 0   F0 F1 F2 .. .. B0 B1 B2       gpipe, two ranks, three microbatches:
//   rank 1   .. F0 F1 F2 B0 B1 B2 ..       the dots are the bubble
//
//   gpipe        all forward passes, then all backward passes
//   1f1b         a rank begins the backward passes as soon as it can, so that few microbatches are
//                in flight (PipeDream-Flush, Narayanan et al. 2021)
//   interleaved  the same with several stages a rank, stage s on rank s % ranks: a smaller bubble
//                for more transfers (Megatron-LM, Narayanan et al. 2021)
//   zero_bubble  a backward pass is two works, for the inputs and for the weights; the latter fill
//                the bubble. No rank holds more microbatches than there are ranks, which is what the
//                first one holds in 1f1b (ZB-H1, Qi et al. 2023)
enum class ScheduleKind : std::uint8_t { gpipe, one_f_one_b, interleaved, zero_bubble };

// "gpipe", "1f1b", "interleaved", "zero-bubble"
std::string_view schedule_name(ScheduleKind kind);

// Times in any one unit, for one microbatch.
struct StageCost {
  double forward = 0;
  double backward = 0;  // for inputs and weights together, half of it for each
  double transfer = 0;  // of its outputs to the next stage, and of their gradients back
  // nullopt: unknown
  std::optional<double> held_bytes = {};        // parameters and the optimizer's state
  std::optional<double> activation_bytes = {};  // kept until a microbatch's backward pass
};

struct ScheduleInput {
  std::vector<StageCost> stages;
  std::uint32_t ranks = 1;
  std::uint32_t microbatches = 1;
};

enum class WorkKind : std::uint8_t { forward, backward, input_gradient, weight_gradient };

struct Work {
  WorkKind kind = WorkKind::forward;
  std::uint32_t stage = 0;
  std::uint32_t microbatch = 0;
  double begin = 0, end = 0;
};

struct Schedule {
  ScheduleKind kind = ScheduleKind::gpipe;
  std::vector<std::vector<Work>> ranks;           // in the order in which each rank works
  double makespan = 0;                            // until the last work ends
  double bubble = 0;                              // the share of all ranks' time without work
  std::vector<std::optional<double>> peak_bytes;  // by rank; nullopt: not known
  std::optional<double> most_bytes() const;       // of any rank; nullopt: not known of all
};

// The most passes of one kind, stages times microbatches, that a schedule may have.
inline constexpr std::uint64_t kMostPasses = 1'000'000;

// Refuses an input that the schedule cannot have: more than kMostPasses passes; a number of stages
// that is not a multiple of the ranks; more than one stage for each rank, unless the schedule is
// gpipe or interleaved; only one for interleaved; microbatches that do not divide into its rounds.
// O(works * log ranks).
Result<Schedule> make_schedule(ScheduleKind kind, const ScheduleInput& input);

// One line for each rank, "0F0,0F1,0B0": stage, work (F, B, I, W) and microbatch. Torch's
// _PipelineScheduleRuntime loads this as `compute_only`.
std::string schedule_csv(const Schedule& schedule);

}  // namespace cleave
