// The report as one page for a browser: what the text report says, the partitions in call order,
// the graph to walk through, and tables to sort. No network, no other files.
#pragma once

#include <string>

#include "formats/report/words/report.h"

namespace cleave {

// An HTML document. A large model is drawn as a tree of views (core/study/views.h), laid out by Graphviz;
// what is not drawn is said. Text from the model is data of the page, never markup. Takes as long
// as Graphviz takes: some 20 ms a view. Refused where Graphviz's layout library is not there.
Loaded<std::string> html_report(const Report& report, const Progress& progress = {});

}  // namespace cleave
