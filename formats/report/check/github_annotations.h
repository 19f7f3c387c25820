// Workflow commands of GitHub Actions: annotations at the lines of the support list.
#pragma once

#include <string>

#include "formats/report/check/check.h"

namespace cleave {

// `::error file=npu.json,line=7,title=...::message`, one per line: gates that fail, then causes
// that moved nodes to the CPU. GitHub shows ten per step, so at most ten are written; the last one
// says how many more there are.
std::string check_annotations(const Check& check);

}  // namespace cleave
