#include "tests/formats/report/report_case.h"

#include "formats/lists/support_file.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

ReportCase make_report_case(Graph graph, std::string_view list_text, const SplitOptions& options) {
  LoadedModel model{
      SourceFile::from_text("m.json", ""), GraphJsonOrigin{}, std::move(graph), {}, {}};
  auto list = parse_support("npu.txt", list_text);
  if (!list) FAIL(format_diagnostic(list.error().front()));
  std::vector<SupportList> lists = {std::move(list->list)};
  auto split = split_graph({model.graph, lists, {}}, options);
  if (!split) FAIL(split.error().message);
  Preview preview = preview_split(model.graph, split->partition, split->boundaries, default_link());
  return {std::move(model),  std::move(lists),   {},        options,
          *std::move(split), std::move(preview), {"a note"}};
}

ReportCase make_report_case(std::string_view graph_text, std::string_view list_text,
                            const SplitOptions& options) {
  return make_report_case(graph_from_text(graph_text), list_text, options);
}

}  // namespace cleave
