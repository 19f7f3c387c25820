#include "formats/report/lowering/backend_text.h"

#include <algorithm>

#include "formats/base/text/number_text.h"
#include "formats/base/text/text_layout.h"

namespace cleave {
namespace {

std::string_view outcome_text(SelfTestStep::Outcome outcome) {
  switch (outcome) {
    case SelfTestStep::Outcome::passed:
      return "ok";
    case SelfTestStep::Outcome::failed:
      return "FAILED";
    case SelfTestStep::Outcome::skipped:
      return "skipped";
  }
  return {};
}

std::string stages_of(const Backend& backend) {
  std::string text;
  for (const LowerStage stage : {LowerStage::check, LowerStage::compile, LowerStage::run}) {
    if (!backend.has(stage)) continue;
    text += (text.empty() ? "" : ", ") + std::string(lower_stage_name(stage));
  }
  if (backend.serve && backend.serve->does("capture")) text += ", reference";
  return text;
}

}  // namespace

std::string self_test_text(const Backend& backend, const SelfTest& test) {
  const auto failed = std::count_if(test.steps.begin(), test.steps.end(), [](const auto& step) {
    return step.outcome == SelfTestStep::Outcome::failed;
  });
  std::string text = backend.name;
  if (!test.identity.empty()) text += " " + test.identity;
  text += failed == 0 ? ": works\n\n"
                      : ": does not work: " + count_text(static_cast<std::uint64_t>(failed)) +
                            " of " + count_text(test.steps.size()) + " steps fail\n\n";
  TextTable table({"step", "result", "time"}, {Align::left, Align::left, Align::right});
  std::string details;
  for (const SelfTestStep& step : test.steps) {
    table.add_row({step.name, std::string(outcome_text(step.outcome)),
                   step.seconds > 0 ? duration_text(step.seconds * 1e6) : ""});
    if (step.detail.empty()) continue;
    details += wrapped(step.name + ": " + escaped(step.detail), 2, 4);
  }
  text += table.text();
  if (!details.empty()) text += "\n" + details;
  return text;
}

std::string backend_list_text(const std::vector<Backend>& backends) {
  TextTable table({"name", "stages", "file"}, {Align::left, Align::left, Align::left});
  for (const Backend& backend : backends) {
    table.add_row({backend.name, stages_of(backend), backend.path});
  }
  return table.text();
}

}  // namespace cleave
