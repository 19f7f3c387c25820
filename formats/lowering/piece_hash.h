// What a piece is to a compiler, as a hash: equal layers of a model, and the same piece cut from
// another file, are one piece. Names of nodes and values, documentation, metadata and the producer
// do not count; everything else does.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cleave {

// SHA-256 of the canonical form of a model: nodes in their order, values by number in order of first
// use, attributes by name, weights by content. Nothing where the bytes are no model, or where weights
// are in another file. Linear in the bytes, which are not copied.
std::optional<std::string> piece_hash(std::string_view model);

}  // namespace cleave
