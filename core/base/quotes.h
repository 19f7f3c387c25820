// Names and what a user wrote, put in quotes for a message. Nothing is escaped: what is printed goes
// through formats/text/diagnostic.h.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

inline std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

}  // namespace cleave
