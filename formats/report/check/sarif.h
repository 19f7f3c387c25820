// SARIF 2.1.0, as code scanning reads it: a result for each node on the CPU, at the line of the
// rule that keeps it there, and for each gate that fails. One rule id a reason code.
#pragma once

#include <string>

#include "formats/report/check/check.h"

namespace cleave {

// Level error: gates that fail and nodes that break one; note: the other nodes. At most 5,000
// results, those of level error first, which is what GitHub keeps of a run; a notification says how
// many are left out.
std::string check_sarif(const Check& check);

}  // namespace cleave
