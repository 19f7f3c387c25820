// Markdown of GitHub's flavour: what a step summary or a pull request shows.
#pragma once

#include <string>

#include "formats/report/check/check.h"

namespace cleave {

// The verdict, a table of gates for each model and list, and the nodes that moved, by the change to
// blame. Names are shown as they are, whatever characters they hold.
std::string check_markdown(const Check& check);

}  // namespace cleave
