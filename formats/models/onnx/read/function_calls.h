// A model's own functions: which of them a set of nodes calls, directly or through others.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/models/onnx/index/model.h"

namespace cleave {

// Functions that call each other in a cycle, by index: each calls the next, and the last the first.
// Empty when there is no cycle. Linear.
std::vector<std::uint32_t> cycle_of_functions(const OnnxModel& model);

class OnnxFunctionCalls {
 public:
  // `model` must outlive this.
  explicit OnnxFunctionCalls(const OnnxModel& model);

  // Indices of the functions that the nodes (indices into the main graph's) need, in file order.
  // Linear in the nodes, their bodies, and the functions found.
  std::vector<std::uint32_t> needed_by(const std::vector<std::uint32_t>& nodes) const;

 private:
  void add_calls(const OnnxNode& node, std::vector<std::uint32_t>& found) const;

  const OnnxModel& model_;
  // By domain and name; overloads of one name count as one.
  std::unordered_map<std::string, std::vector<std::uint32_t>> functions_;
};

}  // namespace cleave
