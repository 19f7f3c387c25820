// The report as one page for a browser: what the text report says, the partitions in call order,
// the graph to walk through, and tables to sort. No network, no other files.
#pragma once

#include <string>
#include <vector>

#include "formats/report/drawings/layout.h"
#include "formats/report/words/report.h"

namespace cleave {

struct HtmlPage {
  std::string text;                // an HTML document
  std::vector<std::string> notes;  // drawings that Graphviz could not lay out, and why
};

// A large model is drawn as a tree of views (core/study/views.h), laid out by Graphviz; what is not
// drawn is said. Where Graphviz fails on the whole model, its nodes are grouped by partition; where
// it fails again, the page is without that drawing. Text from the model is data of the page, never
// markup. Takes as long as Graphviz takes, within the limits: some 20 ms a view.
HtmlPage html_report(const Report& report, const LayoutLimits& limits = {},
                     const Progress& progress = {});

}  // namespace cleave
