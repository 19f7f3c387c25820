// The report of `check` for people, as text and as JSON.
#pragma once

#include <string>

#include "formats/report/check/check.h"

namespace cleave {

// The verdict first; then each model and list with its gates, and the nodes that moved since the
// baseline, by the change to blame and the reason. At most 100 columns.
std::string check_text(const Check& check);

// cleave.check version 1. Gates, regressions and improvements of all runs, each with its model and
// list.
std::string check_json(const Check& check);

}  // namespace cleave
