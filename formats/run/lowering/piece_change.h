// Changes to a piece other than to its nodes: boundary shapes pinned to those of a run, inputs
// frozen to constants, inputs that are equal to others left out. Weights are copied from file to file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/base/text/fault.h"
#include "formats/run/backend/tensor.h"

namespace cleave {

struct PieceChange {
  std::unordered_map<std::string, std::vector<std::int64_t>> shapes;  // of inputs and outputs
  std::unordered_map<std::string, Tensor> frozen;                     // inputs
  // Inputs that become copies of others: (input, the other).
  std::vector<std::pair<std::string, std::string>> copies = {};

  bool empty() const { return shapes.empty() && frozen.empty() && copies.empty(); }
};

// Writes the model at `from` to `to` with the changes. Omits types stated for inner nodes where boundary shapes
// change, since they may have open shapes. Linear in the bytes.
Status<Fault> write_changed_piece(const std::string& from, const std::string& to,
                                  const PieceChange& change);

// The TypeProto with these dims, when it is that of a tensor; else as it is.
std::string type_with_shape(std::string_view type, const std::vector<std::int64_t>& dims);

}  // namespace cleave
