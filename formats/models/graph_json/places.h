// Finds exact offsets in the text of a native graph; the graph itself stores only rough ones.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/graph/graph_builder.h"

namespace cleave {

// The offset of the name at fault inside the node or declaration `where`; the start of `where` when
// the name is not found. Pass fault.where, or fault.first for the first use of the name. `text` is
// the whole source.
std::uint64_t place_of_fault(std::string_view text, const GraphFault& fault, SourceSpan where);

// The offset of the string `wanted` in the field of the object `where`; the start of `where` when
// it is not found.
std::uint64_t place_in_field(std::string_view text, SourceSpan where, std::string_view field,
                             std::string_view wanted);

// The declaration of the node's output number `slot`; an empty span when it has none.
SourceSpan span_of_output(std::string_view text, SourceSpan node, std::uint32_t slot);

}  // namespace cleave
