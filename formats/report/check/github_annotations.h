// Workflow commands of GitHub Actions: annotations at the lines of the support list.
#pragma once

#include <string>

#include "formats/report/check/check.h"

namespace cleave {

// `::error file=npu.json,line=7,title=...::message`, a line each: gates that fail, then causes that
// moved nodes to the CPU. GitHub shows ten a step: at most so many are given, and the last says how
// many more there are.
std::string check_annotations(const Check& check);

}  // namespace cleave
