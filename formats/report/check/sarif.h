// SARIF 2.1.0 for code scanning: a result for each node on the CPU, at the line of the rule that
// keeps it there, and for each gate that fails. There is one rule id per reason code.
#pragma once

#include <string>

#include "formats/report/check/check.h"

namespace cleave {

// Level error: gates that fail and nodes that break one; note: the other nodes. At most 5,000
// results, level error first, since GitHub keeps that many per run; a notification says how many
// are left out.
std::string check_sarif(const Check& check);

}  // namespace cleave
