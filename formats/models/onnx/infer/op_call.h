// One node for inference: its operator, its attributes, the known facts about its inputs, and the
// types of its outputs, which inference sets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/models/onnx/index/attributes.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/index/type.h"
#include "formats/models/onnx/infer/elements.h"

namespace cleave {

// The known facts about a value.
struct OnnxValueFacts {
  const OnnxType* type = OnnxTypePool::unknown();  // owned by a pool
  const OnnxTensor* tensor = nullptr;              // the value's elements, if they are in the file
  std::unique_ptr<OnnxTensor> own_tensor;  // owner of `tensor` if the index has no such tensor
  std::unique_ptr<OnnxElements> elements;  // null: see OnnxOpCall::elements
  bool elements_sought = false;

  // Whether more is known of the elements than follows from the type: they are in the file and few
  // enough to be read, or inference has found them.
  bool has_values() const;
};

// The attributes of a call of the model's own function, by name: `ref_attr_name` refers to them.
using OnnxBindings = std::unordered_map<std::string_view, const OnnxAttribute*>;

class OnnxOpCall {
 public:
  // Tensors above this many bytes are never read.
  static constexpr std::size_t kSmallTensor = 4096;

  // `inputs` has null for an input that is left out. `bindings` is null outside functions. Sets
  // `reads_values`, if it is not null, as soon as a rule asks for elements of an input and there are
  // any: until then, what is inferred follows from the node's kind, the types of its inputs, and which
  // of them has_values().
  OnnxOpCall(const OnnxNode& node, std::int64_t opset, std::vector<OnnxValueFacts*> inputs,
             const OnnxBindings* bindings, bool* reads_values = nullptr);

  // The same call, treated as one of operator `op` of the default domain.
  OnnxOpCall taken_as(std::string_view op, std::int64_t opset) const;

  const OnnxNode& node() const { return node_; }
  std::string_view op() const { return op_; }
  std::string_view domain() const { return domain_; }  // "" for the default domain
  std::int64_t opset() const { return opset_; }        // of the domain

  std::size_t input_count() const { return inputs_.size(); }
  bool has_input(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  // Null when the input is left out or unknown.
  const OnnxType* input(std::size_t i) const;
  const OnnxType* tensor_input(std::size_t i) const;  // null also when it is not a tensor
  const OnnxType* shaped_input(std::size_t i) const;  // null also when the rank is unknown
  const OnnxTensor* constant(std::size_t i) const;    // small and dense, in the file
  // Null when no element is known; otherwise some or all may be unknown.
  const OnnxElements* elements(std::size_t i) const;
  // The elements of an integer tensor, if all are known.
  std::optional<std::vector<std::int64_t>> integers(std::size_t i) const;

  // The attribute that the node states or its function's call binds; null when there is none.
  const OnnxAttribute* attribute(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string_view text(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<std::int64_t>> integer_list(std::string_view name) const;
  std::optional<std::vector<double>> real_list(std::string_view name) const;

  std::vector<OnnxType> outputs;  // one per output of the node, also for one that is left out
  // By output: the elements that inferring a body or function for the call gave.
  std::vector<std::optional<OnnxElements>> output_elements = {};

 private:
  void note_values_read(const OnnxValueFacts& facts) const;

  const OnnxNode& node_;
  std::string_view op_, domain_;
  std::int64_t opset_;
  std::vector<OnnxValueFacts*> inputs_;
  const OnnxBindings* bindings_;
  bool* reads_values_;  // shared by copies of the call
};

}  // namespace cleave
