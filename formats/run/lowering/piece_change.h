// Changes to a piece other than to its nodes: boundary shapes pinned to those of a run, inputs
// frozen to constants. Weights are copied from file to file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/base/io/write_fault.h"
#include "formats/run/backend/tensor.h"

namespace cleave {

struct PieceChange {
  std::unordered_map<std::string, std::vector<std::int64_t>> shapes;  // of inputs and outputs
  std::unordered_map<std::string, Tensor> frozen;                     // inputs

  bool empty() const { return shapes.empty() && frozen.empty(); }
};

// Writes the model at `from` to `to` with the changes. Omits types stated for inner nodes, since
// they may have open shapes. Linear in the bytes.
Status<WriteFault> write_changed_piece(const std::string& from, const std::string& to,
                                       const PieceChange& change);

// A hash of what a compiler sees of a piece: equal layers of a model, and the same piece cut from
// another file, have the same hash. It ignores names of nodes and values, documentation, metadata
// and the producer, and covers everything else.

// SHA-256 of the canonical form of a model: nodes in their order, values numbered in order of first
// use, attributes sorted by name, weights by content. nullopt if the bytes are not a model, or
// weights are in another file. Linear in the bytes, which are not copied.
std::optional<std::string> piece_hash(std::string_view model);

}  // namespace cleave
