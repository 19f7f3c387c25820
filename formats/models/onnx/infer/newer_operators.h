// The versions of ONNX's operators after those that the ONNX library has: after opset 17 and ai.onnx.ml
// 3. scripts/dev/newer_operators.py makes the table from the newest release.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cleave {

struct NewerOperator {
  std::string_view domain, op;
  std::int64_t version = 0;  // the first opset with it
  std::size_t least_inputs = 0, most_inputs = 0;
  std::string_view attributes;  // names in alphabetical order, separated by spaces
  std::string_view defaults;    // "epsilon=f1e-05 mode=slinear axis=i0": reals, texts, integers
};

// By domain, operator and version.
std::span<const NewerOperator> newer_operators();

}  // namespace cleave
