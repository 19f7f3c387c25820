// Where in the text of a native graph things stand that the graph remembers only roughly.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/graph/graph_builder.h"

namespace cleave {

// The offset of the name at fault inside the node or declaration `where`; its begin when the name
// is not found there. For `where`, give fault.where, or fault.first to see where the name was
// first. `text` is the whole source.
std::uint64_t place_of_fault(std::string_view text, const GraphFault& fault, SourceSpan where);

// The offset of the string `wanted` in the field of the object `where`; its begin when it is not
// found there.
std::uint64_t place_in_field(std::string_view text, SourceSpan where, std::string_view field,
                             std::string_view wanted);

// Where the node declares its output number `slot`; nowhere when it has none.
SourceSpan span_of_output(std::string_view text, SourceSpan node, std::uint32_t slot);

}  // namespace cleave
