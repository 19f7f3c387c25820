// Names of ONNX: every operator and attribute of any version of the standard. They distinguish a
// misspelling from an operator that the model just does not have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace cleave {

// An input or output as the newest version of an operator declares it.
struct OnnxFormal {
  std::string_view name;
  std::string_view type;  // "T", "tensor(int64)": formals of one type variable have one type
  bool is_variadic = false;
  // The types that it may have, "tensor(float)"; in no order.
  const std::unordered_set<const std::string*>* allowed = nullptr;
};

struct OnnxOpNames {
  std::int64_t since = 1;           // the first opset that has the operator
  std::size_t inputs = 0;           // the maximum over versions; SIZE_MAX for variadic ones
  std::size_t required_inputs = 0;  // those that every version requires
  std::vector<std::string_view> attributes;  // of all versions, in alphabetical order
  // Attributes of the newest version that have a default; in alphabetical order.
  std::vector<std::string_view> with_default;
  std::vector<OnnxFormal> input_formals, output_formals;  // empty for operators after opset 17
};

// Null when no version has the operator. Covers the default domain, ai.onnx.ml and the preview
// domains.
const OnnxOpNames* find_onnx_op(std::string_view domain, std::string_view op);

// The opset that removed or replaced an operator of the default domain; 0 for every other name.
std::int64_t onnx_op_removed_in(std::string_view op);

bool is_onnx_domain(std::string_view domain);

// The operators of the domain in alphabetical order; empty for a domain that is not ONNX's.
std::vector<std::string_view> onnx_op_names(std::string_view domain);

}  // namespace cleave
