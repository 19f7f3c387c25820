// Puts names and user input in quotes for a message. Does not escape: formats/base/text/diagnostic.h does
// that when the message is printed.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

inline std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

}  // namespace cleave
