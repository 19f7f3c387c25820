// Pages for a browser: two splits side by side, and a check of many models.
#pragma once

#include <string>

#include "formats/report/check/check.h"
#include "formats/report/check/diff.h"
#include "formats/report/drawings/html_report.h"

namespace cleave {

// The reports are those that the diff was made of. Each gets half of the time to lay drawings out.
HtmlPage diff_page(const Diff& diff, const Report& before, const Report& after,
                   const LayoutLimits& limits);

// A table of models by lists, then the gates, the nodes that moved, and why nodes are on the CPU in all
// models together.
std::string check_page(const Check& check);

}  // namespace cleave
