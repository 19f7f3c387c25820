// A partition as a model-local function of root.onnx.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "formats/base/io/byte_pieces.h"
#include "formats/models/onnx/write/split_job.h"

namespace cleave {

struct OnnxFunctionBody {
  BytePieces pieces;                     // the FunctionProto
  std::vector<std::string_view> inputs;  // boundary inputs, then weights
  std::vector<std::uint32_t> weights;    // initializers passed as inputs
  // constants whose outputs are passed as inputs, too: they are in the root
  std::vector<NodeId> constants;
};

class OnnxPartFunctions {
 public:
  explicit OnnxPartFunctions(const OnnxSplitJob& job);

  // The domain of all partitions' functions, which the model does not use otherwise.
  const std::string& domain() const { return domain_; }
  // True for an initializer that is also listed as a graph input, from the IR version on in which
  // that means that a caller may override it.
  bool is_overridable(std::uint32_t initializer) const {
    return overridable_.contains(initializer);
  }

  OnnxFunctionBody build(PartId part) const;

 private:
  // True when each function that reads the initializer gets its own Constant node for it.
  bool is_made_inside(std::uint32_t initializer) const;

  const OnnxSplitJob& job_;
  std::string domain_;
  std::int64_t default_opset_ = 0;  // 0: the model does not import the default domain
  std::unordered_set<std::uint32_t> overridable_;
};

}  // namespace cleave
