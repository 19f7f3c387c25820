// The script scripts/backends/repeat_finding.py, which is part of the program: each finding's folder
// gets a copy.
#pragma once

#include <string_view>

namespace cleave {

extern const std::string_view kRepeatScript;

}  // namespace cleave
