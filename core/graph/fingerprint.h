// Fingerprint: 64 bits computed from everything that a split of the graph depends on. Two readings
// of a model with equal fingerprints are split alike under the same lists and settings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/graph/graph.h"

namespace cleave {

// Covers nodes (constants and bodies too) with their names, ops, attributes and operands, the types
// and shapes of values, opsets, outputs and measured costs. Leaves out the names of values,
// positions in the file, and the contents of weights and of opaque attributes: none of them moves a
// node. The result is the same on any machine. Linear.
std::uint64_t fingerprint(const Graph& graph);

// The fingerprint of a text.
std::uint64_t fingerprint(std::string_view text);

// 16 hexadecimal digits.
std::string fingerprint_text(std::uint64_t fingerprint);

}  // namespace cleave
