// Baselines: a baseline that is read can be compared with, and every report of the check has its
// names.
#include <string>

#include "core/split/split.h"
#include "formats/base/text.h"
#include "formats/lists/support_file.h"
#include "formats/report/check/check.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/fixture.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {
namespace {

void demand_utf8(std::string_view text, std::string_view what) {
  demand(first_invalid_utf8(text) == text.npos, std::string(what) + " is UTF-8");
}

Check check_against(const Baseline& baseline) {
  const LoadedModel& model = fixture();
  const auto list = parse_support("npu.txt", "Conv\nRelu\nmean\n");
  demand(list.has_value(), "the list is one");
  const std::vector<SupportList> lists = {list->list};
  const SplitOptions options;
  const OpFacts facts;
  const auto split = split_graph({model.graph, lists, facts}, options);
  demand(split.has_value(), "the fixture is split");
  const Preview preview =
      preview_split(model.graph, split->partition, split->boundaries, default_link());
  const Report report{model, model.graph, lists, facts, options, *split, preview, {}};
  CheckRequest request;
  request.limits.new_cpu_nodes = 0;
  request.limits.regression = 0.01;
  Check check;
  for (const auto& [names, result] : baseline.results) {
    CheckRun run = check_report(report, request, &result);
    run.model = names.first;
    run.list = names.second;
    check.runs.push_back(std::move(run));
  }
  return check;
}

}  // namespace

void read_baselines(std::string_view bytes) {
  const auto baseline = parse_baseline("main.json", bytes);
  if (!baseline) return demand_good_errors(baseline.error());
  const Check check = check_against(*baseline);
  demand_printable(check_text(check), "the check as text");
  demand_json(check_json(check), "the check");
  demand_json(ci_sarif(ci_report(check)), "SARIF");
  demand_utf8(ci_junit(ci_report(check)), "JUnit");
  demand_utf8(ci_markdown(ci_report(check)), "Markdown");
  demand_printable(ci_annotations(ci_report(check)), "annotations");
}

}  // namespace cleave::fuzz
