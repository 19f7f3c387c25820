// GitHub Markdown for a step summary or a pull request.
#pragma once

#include <string>

#include "formats/report/check/check.h"

namespace cleave {

// The verdict, a table of gates for each model and list, and the nodes that moved, by the change to
// blame. Names are shown literally, whatever characters they contain.
std::string check_markdown(const Check& check);

}  // namespace cleave
