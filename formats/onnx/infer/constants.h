// Constants of an ONNX model: nodes that compute on initializers and other constants only. They are
// no nodes of the split; each part that reads one gets a copy of it and its makers.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "formats/onnx/index/model.h"

namespace cleave {

class OnnxConstants {
 public:
  explicit OnnxConstants(const OnnxModel& model);

  // Whether the node, whose inputs are all constant (or which has none), gives the same each time:
  // no random operator, none in its bodies, none in the function it calls; and its operator is one
  // whose meaning is known. Without inputs: only what is there to make constants.
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

// Key of a model's own function: domain ("ai.onnx" is ""), name and overload.
std::string onnx_function_key(std::string_view domain, std::string_view name,
                              std::string_view overload);

}  // namespace cleave
