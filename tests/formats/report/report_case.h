// A model, split, and all data that a report on it refers to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/report/words/report.h"

namespace cleave {

struct ReportCase {
  LoadedModel model;
  std::vector<SupportList> lists;
  OpFacts facts;
  SplitOptions options;
  Split split;
  Preview preview;
  std::vector<std::string> notes;

  Report report() const {
    return {model, model.graph, lists, facts, options, split, preview, notes};
  }
};

// The graph as the model "m.json", split by the support list "npu.txt" of that text; with one note,
// "a note". Fails the test when the list or the split is refused.
ReportCase make_report_case(Graph graph, std::string_view list_text,
                            const SplitOptions& options = {});
// The same from a graph as text (tests/core/graph/graph_text.h).
ReportCase make_report_case(std::string_view graph_text, std::string_view list_text,
                            const SplitOptions& options = {});

}  // namespace cleave
