// A hash of what a compiler sees of a piece: equal layers of a model, and the same piece cut from
// another file, have the same hash. It ignores names of nodes and values, documentation, metadata
// and the producer, and covers everything else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cleave {

// SHA-256 of the canonical form of a model: nodes in their order, values numbered in order of first
// use, attributes sorted by name, weights by content. nullopt if the bytes are not a model, or
// weights are in another file. Linear in the bytes, which are not copied.
std::optional<std::string> piece_hash(std::string_view model);

}  // namespace cleave
