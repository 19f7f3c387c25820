// Faults and warnings as text, for programs that show them to people.
#pragma once

#include <string>
#include <string_view>

#include "formats/base/text/diagnostic.h"
#include "formats/base/text/fault.h"

namespace cleave {

// All diagnostics of a fault, or all warnings, as `cleave` prints them: lines with the file, line and
// column, each ending in '\n'.
std::string fault_text(const Fault& fault);
std::string warning_text(const Diagnostics& warnings);

// The version of the linked library: "0.1.0". That of the headers is in version.h.
std::string_view linked_version();

}  // namespace cleave
