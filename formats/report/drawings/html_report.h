// The report as one page for a browser: the text report, the partitions in call order, the graph to
// explore, and tables to sort. It needs no network and no other files.
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

// A large model is drawn as a tree of views (core/study/views.h), laid out by Graphviz; the page
// says what is not drawn. If Graphviz fails on the whole model, its nodes are grouped by partition;
// if it fails again, that drawing is left out. Text from the model is data of the page, never
// markup. Takes as long as Graphviz, within the limits: about 20 ms per view.
HtmlPage html_report(const Report& report, const LayoutLimits& limits = {},
                     const Progress& progress = {});

}  // namespace cleave
