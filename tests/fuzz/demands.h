// Demands of targets: checks with plain sentences that abort when they fail.
#pragma once

#include <string_view>

#include "formats/base/faults.h"

namespace cleave::fuzz {

// Aborts with the sentence when it does not hold.
void demand(bool holds, std::string_view what);

// UTF-8 that may be sent to a terminal: no control character but the line break, no mark that
// changes the direction of text.
void demand_printable(std::string_view text, std::string_view what);

// One JSON document in UTF-8.
void demand_json(std::string_view text, std::string_view what);

// 1 to 20 errors or so, each with a message, all printable.
void demand_good_errors(const Diagnostics& errors);
void demand_good_warnings(const Diagnostics& warnings);

}  // namespace cleave::fuzz
