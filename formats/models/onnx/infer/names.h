// Names of ONNX: every operator and attribute of any version of the standard. They distinguish a
// misspelling from an operator that the model just does not have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

struct OnnxOpNames {
  std::int64_t since = 1;           // the first opset that has the operator
  std::size_t inputs = 0;           // the maximum over versions; SIZE_MAX for variadic ones
  std::size_t required_inputs = 0;  // those that every version requires
  std::vector<std::string_view> attributes;  // of all versions, in alphabetical order
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
