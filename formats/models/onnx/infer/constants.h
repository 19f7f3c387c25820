// Constants of an ONNX model: nodes that compute on initializers and other constants only. They are
// not nodes of the split; each partition that reads one gets a copy of it and of its makers.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "formats/models/onnx/index/model.h"

namespace cleave {

class OnnxConstants {
 public:
  explicit OnnxConstants(const OnnxModel& model);

  // Whether the node, whose inputs are all constant or which has none, gives the same result each
  // time: its operator is known, and there is no random operator in it, in its bodies, or in the
  // function it calls. Without inputs only operators made for constants count.
  bool is_pure(const OnnxNode& node) const;

 private:
  bool is_random(const OnnxNode& node) const;
  bool is_training_dropout(const OnnxNode& node) const;
  bool is_false(std::string_view name) const;
  const OnnxFunction* function_of(const OnnxNode& node) const;
  void judge_functions();

  const OnnxModel& model_;
  std::int64_t opset_ = 1;  // of the default domain
  std::unordered_map<std::string, const OnnxFunction*> functions_;
  std::unordered_set<const OnnxFunction*> impure_;
  std::unordered_map<std::string_view, const OnnxTensor*> booleans_;  // initializers
};

// The key of a model's own function: domain ("ai.onnx" is ""), name and overload.
std::string onnx_function_key(std::string_view domain, std::string_view name,
                              std::string_view overload);

}  // namespace cleave
