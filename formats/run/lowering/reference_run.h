// The reference's results for a model: each tensor of one run of the whole model, by the name of
// its value. Boundary shapes are pinned to these, and the values of pieces are compared with them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/models/bind/loaded_model.h"
#include "formats/run/backend/session.h"
#include "formats/run/backend/tensor.h"

namespace cleave {

struct ReferenceTensor {
  std::vector<std::int64_t> shape;
  std::string file;               // a TensorProto
  bool is_small_integer = false;  // int32 or int64, of at most 16 elements
};

struct ReferenceRequest {
  std::string folder;  // for tensors
  std::string inputs;  // a .npz file, or a folder of ONNX test data; "" draws them from `seed`
  std::uint64_t seed = 0;
};

struct ReferenceFault {
  std::string message;
  bool is_of_inputs = false;  // false: the reference does not start, or cannot run the model
};

class ReferenceRun {
 public:
  // Runs the model once in the worker of `session`, which must serve "capture".
  static Result<ReferenceRun, ReferenceFault> make(BackendSession& session,
                                                   const LoadedModel& model,
                                                   const ReferenceRequest& request);

  // Null for a value that is not in the run, or not a tensor.
  const ReferenceTensor* find(std::string_view name) const;
  std::size_t count() const { return tensors_.size(); }

 private:
  std::unordered_map<std::string, ReferenceTensor> tensors_;
};

// Order of ties: outputs of TopK, ArgMax and ArgMin with other indices than the reference's, where
// the elements at these indices are equal. ONNX takes the lower index first; many compilers do not.
struct IndexOutput {
  std::string_view op;     // "TopK", "ArgMax", "ArgMin"
  std::int64_t axis = -1;  // the axis of `data` that indices refer to
  const Tensor& data;
  const Tensor& wants;  // int64 indices
  const Tensor& is;
};

// True when the shapes agree and each index of `is` refers to an element equal to that of `wants`.
// Linear in the indices. False for other ops, and for indices out of range.
bool is_tie_order(const IndexOutput& output);

}  // namespace cleave
