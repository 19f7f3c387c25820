#include "tests/formats/check_case.h"

#include "formats/support_file.h"
#include "tests/catch2.h"
#include "tests/core/graph_text.h"

namespace cleave {

CheckCase result_of(std::string_view graph, std::string_view list, const SplitOptions& options) {
  LoadedModel model{SourceFile::from_text("m.json", ""),
                    ModelFormat::graph_json,
                    graph_from_text(graph),
                    nullptr,
                    {},
                    {}};
  auto parsed = parse_support("npu.json", list);
  if (!parsed) FAIL(format_diagnostic(parsed.error().front()));
  std::vector<SupportList> lists = {std::move(parsed->list)};
  auto split = split_graph(model.graph, lists, {}, options);
  if (!split) FAIL(split.error().message);
  Preview preview = preview_split(model.graph, split->partition, split->boundaries, default_link());
  return {std::move(model), std::move(lists), {}, options, *std::move(split), std::move(preview)};
}

EarlierResult earlier(const CheckCase& result) {
  auto baseline = parse_baseline(
      "main.json", baseline_json({{"m.json", "npu.json", report_json(result.report())}}));
  if (!baseline) FAIL(format_diagnostic(baseline.error().front()));
  const EarlierResult* const found = baseline->find("m.json", "npu.json");
  REQUIRE(found != nullptr);
  return *found;
}

}  // namespace cleave
