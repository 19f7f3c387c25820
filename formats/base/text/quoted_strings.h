// Overloads of quoted() for unity builds (scripts/build/unity.cmake). If one of the sources
// includes <filesystem>, and with it <iomanip>, std::quoted matches quoted(std::string) better than
// quoted(std::string_view) does. These overloads match better still.
#pragma once

#include <string>

#include "formats/base/text/diagnostic.h"

namespace cleave {

inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }
inline std::string quoted(const char* text) { return quoted(std::string_view(text)); }
inline std::string quoted(std::string& text) { return quoted(std::string_view(text)); }

}  // namespace cleave
