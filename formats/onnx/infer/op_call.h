// One node as inference sees it: its operator, attributes, what is known of its inputs, and the
// types of its outputs, to be filled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/onnx/index/attributes.h"
#include "formats/onnx/index/model.h"
#include "formats/onnx/index/type_pool.h"
#include "formats/onnx/infer/elements.h"

namespace cleave {

// What is known of a value.
struct OnnxValueFacts {
  const OnnxType* type = OnnxTypePool::unknown();  // kept by a pool
  const OnnxTensor* tensor = nullptr;      // the value's elements, where they stand in the file
  std::unique_ptr<OnnxTensor> own_tensor;  // what `tensor` points to where the index has no such
  std::unique_ptr<OnnxElements> elements;  // null: see OnnxOpCall::elements
  bool elements_sought = false;
};

// The attributes of the call of a model's own function, by name: what `ref_attr_name` refers to.
using OnnxBindings = std::unordered_map<std::string_view, const OnnxAttribute*>;

class OnnxOpCall {
 public:
  // Tensors above this many bytes are never looked into.
  static constexpr std::size_t kSmallTensor = 4096;

  // `inputs` holds null where an input is left out. `bindings` is null outside functions.
  OnnxOpCall(const OnnxNode& node, std::int64_t opset, std::vector<OnnxValueFacts*> inputs,
             const OnnxBindings* bindings);

  // The same call taken for one of operator `op` of the default domain.
  OnnxOpCall taken_as(std::string_view op, std::int64_t opset) const;

  const OnnxNode& node() const { return node_; }
  std::string_view op() const { return op_; }
  std::string_view domain() const { return domain_; }  // "" for the default one
  std::int64_t opset() const { return opset_; }        // of the domain

  std::size_t input_count() const { return inputs_.size(); }
  bool has_input(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  // Null where the input is left out or nothing is known of it.
  const OnnxType* input(std::size_t i) const;
  const OnnxType* tensor_input(std::size_t i) const;  // null also where it is no tensor
  const OnnxType* shaped_input(std::size_t i) const;  // null also where the rank is not known
  const OnnxTensor* constant(std::size_t i) const;    // small and dense, in the file
  // Null where nothing is known; some or all may be unknown elements.
  const OnnxElements* elements(std::size_t i) const;
  // The elements of an integer tensor, where all are known.
  std::optional<std::vector<std::int64_t>> integers(std::size_t i) const;

  // The attribute as the node has it or its function's call binds it; null where it is not given.
  const OnnxAttribute* attribute(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  std::string_view text(std::string_view name, std::string_view otherwise) const;
  std::optional<std::vector<std::int64_t>> integer_list(std::string_view name) const;
  std::optional<std::vector<double>> real_list(std::string_view name) const;

  std::vector<OnnxType> outputs;  // one an output of the node, also where it is left out
  // By output, what a body or function that was inferred for the call tells of the elements.
  std::vector<std::optional<OnnxElements>> output_elements = {};

 private:
  const OnnxNode& node_;
  std::string_view op_, domain_;
  std::int64_t opset_;
  std::vector<OnnxValueFacts*> inputs_;
  const OnnxBindings* bindings_;
};

}  // namespace cleave
