// A part as a model-local function of root.onnx.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "formats/io/byte_pieces.h"
#include "formats/onnx/write/split_job.h"

namespace cleave {

struct OnnxFunctionBody {
  BytePieces pieces;                     // the FunctionProto
  std::vector<std::string_view> inputs;  // boundary inputs, then weights
  std::vector<std::uint32_t> weights;    // initializers that are passed as inputs
  std::vector<NodeId> constants;         // nodes whose outputs are, too: the root holds them
};

class OnnxPartFunctions {
 public:
  explicit OnnxPartFunctions(const OnnxSplitJob& job);

  // The domain of all functions of parts, which nothing else in the model uses.
  const std::string& domain() const { return domain_; }
  // True for an initializer that is listed as graph input, too, from the IR version on where that
  // means that a caller may give another value.
  bool is_overridable(std::uint32_t initializer) const {
    return overridable_.contains(initializer);
  }

  OnnxFunctionBody build(PartId part) const;

 private:
  // True when the initializer becomes a Constant node in each function that reads it.
  bool is_made_inside(std::uint32_t initializer) const;

  const OnnxSplitJob& job_;
  std::string domain_;
  std::int64_t default_opset_ = 0;  // 0: the model does not import the default domain
  std::unordered_set<std::uint32_t> overridable_;
};

}  // namespace cleave
