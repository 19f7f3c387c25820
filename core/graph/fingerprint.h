// Fingerprint: 64 bits that stand for everything a split of the graph depends on. Two readings of a
// model whose fingerprints are equal are split alike under the same lists and settings.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/graph/graph.h"

namespace cleave {

// Over nodes (constants and bodies too) with their names, ops, attributes and operands, the types
// and shapes of values, opsets, outputs and measured costs. Left out are names of values, where
// things stand in the file, and the contents of weights and of opaque attributes: none of them
// moves a node. The same on any machine. Linear.
std::uint64_t fingerprint(const Graph& graph);

// The same of a text.
std::uint64_t fingerprint(std::string_view text);

}  // namespace cleave
