// For compilations that read several sources (scripts/build/unity.cmake): where one of them includes
// <filesystem>, and with it <iomanip>, std::quoted is a candidate for quoted(std::string), too, and
// the better one than quoted(std::string_view). These are better still.
#pragma once

#include <string>

#include "formats/text/diagnostic.h"

namespace cleave {

inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }
inline std::string quoted(const char* text) { return quoted(std::string_view(text)); }
inline std::string quoted(std::string& text) { return quoted(std::string_view(text)); }

}  // namespace cleave
