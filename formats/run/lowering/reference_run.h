// The reference's results for a model: each tensor of one run of the whole model, by the name of
// its value. Boundary shapes are pinned to these, and the values of pieces are compared with them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/models/bind/loaded_model.h"
#include "formats/run/backend/session.h"
#include "formats/run/backend/tensor.h"

namespace cleave {

struct ReferenceTensor {
  DType dtype = DType::unknown;
  std::vector<std::int64_t> shape;
  std::string file = {};          // a TensorProto
  bool is_small_integer = false;  // int32 or int64, of at most 16 elements
  // It holds infinities that constants of the model bring in, as a mask does, and no NaN.
  bool is_infinite_by_constants = false;
};

// The size that the reference took for an open dim of an input of the model.
struct TakenSize {
  std::string input;
  std::size_t axis = 0;
  std::int64_t size = 0;
  std::string why;  // "as given", "a picture", ...
};

struct ReferenceRequest {
  std::string folder;  // for tensors
  std::string inputs;  // a .npz file, or a folder of ONNX test data; "" draws them from `seed`
  std::uint64_t seed = 0;
};

struct ReferenceFault {
  std::string message;
  bool is_of_inputs = false;  // false: the reference does not start, or cannot run the model
  bool is_of_run = false;     // it opened the model, and no run came to an end
};

class ReferenceRun {
 public:
  // Runs the model once in the worker of `session`, which must serve "capture". Where the file does not hold
  // the nodes of the graph, as an If that was decided, a model of these runs, too, on the same inputs.
  static Result<ReferenceRun, ReferenceFault> make(BackendSession& session,
                                                   const LoadedModel& model,
                                                   const ReferenceRequest& request);

  // Null for a value that is not in the run, or not a tensor.
  const ReferenceTensor* find(std::string_view name) const;
  std::size_t count() const { return tensors_.size(); }
  // In the order of the inputs and their axes.
  const std::vector<TakenSize>& taken() const { return taken_; }

 private:
  Status<ReferenceFault> add_run(BackendSession& session, const std::string& request);
  void add_folded_run(BackendSession& session, const LoadedModel& model,
                      const ReferenceRequest& request);
  bool has_all(const Graph& graph) const;

  std::unordered_map<std::string, ReferenceTensor> tensors_;
  std::vector<TakenSize> taken_;
};

// How the run's tensor differs from what the graph declares of the value, in type, rank or a size:
// "is float32 (2,2), and the model declares float32 (1,3)"; "" when it does not. Such a run is of
// another model, or of other sizes than the user said: no compiler is to blame for what it does with it.
std::string mismatch_text(const Graph& graph, ValueId value, const ReferenceTensor& tensor);

// True when all that the nodes read and give in the runs is finite, as far as it is known, or infinite by constants
// of the model, so that it is known what is right. Reads these
// tensors; linear in their elements.
bool has_finite_values(const Graph& graph, std::span<const NodeId> nodes,
                       std::span<const ReferenceRun> runs);

// Order of ties: outputs of TopK, ArgMax and ArgMin with other indices than the reference's, where
// the elements at these indices are equal. ONNX takes the lower index first; many compilers do not.
struct IndexOutput {
  std::string_view op;     // "TopK", "ArgMax", "ArgMin"
  std::int64_t axis = -1;  // the axis of `data` that indices refer to
  const Tensor& data;
  const Tensor& wants;  // int64 indices
  const Tensor& is;
};

// The first of the values of which a run has other than the graph declares, in words with the way out;
// "" when all are as declared. Linear in values and runs.
std::string mismatch_of(const Graph& graph, std::span<const ValueId> values,
                        std::span<const ReferenceRun> runs);

// How outputs differ of which each element is a whole number of steps: 8-bit integers, and floats
// that a DequantizeLinear makes of them, all multiples of its scale.
//
//   one_step  by one step, and only in a few elements (a twentieth; one at least): two right
//             computations may, since a value half way between two steps may fall to either
//   none      by no more steps than the tolerance for integers allows
//   other     in any other way
enum class StepDifference : std::uint8_t { none, one_step, other };

// `wants` and `is` differ beyond the tolerance. Linear.
StepDifference step_difference(const Tensor& wants, const Tensor& is,
                               const CompareTolerance& tolerance);

// True when the values differ little as a whole: the mean square of the differences is at most a hundredth
// of that of the wanted values, both as roots; of 8-bit integers, of what these are off their mean. Behind a quantisation right computations differ so, since
// one rounds up what the other rounds down; a fault differs by more. False when one is not finite. Linear.
bool is_of_rounding(const Tensor& wants, const Tensor& is);

// True when floats differ as those of a lower precision do: little as a whole (is_of_rounding), and no one
// of them by more than a fiftieth of the largest wanted. A small sum of large terms that cancel is off by
// a share of the terms, so that no tolerance of its own size holds for it. Linear.
bool is_of_lower_precision(const Tensor& wants, const Tensor& is);

// True when the value is what a DequantizeLinear makes, but for operators that only move elements or
// leave them out: its floats are steps of a scale.
bool is_dequantised(const Graph& graph, ValueId value);

// True when the shapes agree and each index of `is` refers to an element equal to that of `wants`.
// Linear in the indices. False for other ops, and for indices out of range.
bool is_tie_order(const IndexOutput& output);

}  // namespace cleave
