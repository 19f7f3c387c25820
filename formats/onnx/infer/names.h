// Names of ONNX: every operator and attribute that any version of the standard had, for telling a
// slip of spelling from an operator that is merely not in the model at hand.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cleave {

struct OnnxOpNames {
  std::int64_t since = 1;  // the first opset that has the operator
  std::size_t inputs = 0;  // the most that any version takes; SIZE_MAX for variadic ones
  std::vector<std::string_view> attributes;  // of all versions, in alphabetical order
};

// Null when no version has the operator. The domain is the default one, ai.onnx.ml or a preview
// domain; what other domains have is not known.
const OnnxOpNames* find_onnx_op(std::string_view domain, std::string_view op);

bool is_onnx_domain(std::string_view domain);

// In alphabetical order; empty for a domain that is not ONNX's.
std::vector<std::string_view> onnx_op_names(std::string_view domain);

}  // namespace cleave
