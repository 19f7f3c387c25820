// What a reason code means, at length, and how to remove the reason: `cleave explain --code CODE`.
#pragma once

#include <string>
#include <vector>

#include "core/support/reason.h"

namespace cleave {

// The names of all codes, in the order of the enumerators, without none's.
std::vector<std::string> reason_code_names();

// Heading, meaning, and the ways out as a list. `code` is not none.
std::string reason_page(ReasonCode code);

}  // namespace cleave
