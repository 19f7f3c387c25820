#include <algorithm>

#include "formats/base/text/markup_text.h"
#include "formats/base/text/number_text.h"
#include "formats/report/lowering/lowering_report.h"

namespace cleave {
namespace {

enum class CaseResult : std::uint8_t { passed, failure, error };

CaseResult result_of(const LoweredPart& part) {
  if (part.is_lowered) return CaseResult::passed;
  switch (part.attempt.verdict) {
    case LowerVerdict::refused:
    case LowerVerdict::no_output:
    case LowerVerdict::too_large:
    case LowerVerdict::wrong_values:
    case LowerVerdict::lower_precision:
      return CaseResult::failure;
    default:
      return CaseResult::error;
  }
}

struct Counts {
  std::size_t tests = 0, failures = 0, errors = 0;

  void add(CaseResult result) {
    ++tests;
    failures += result == CaseResult::failure ? 1U : 0U;
    errors += result == CaseResult::error ? 1U : 0U;
  }
  std::string text() const {
    return xml_attribute("tests", std::to_string(tests)) +
           xml_attribute("failures", std::to_string(failures)) +
           xml_attribute("errors", std::to_string(errors));
  }
};

std::string case_text(const LoweringReport& report, const LoweredPart& part) {
  const Attempt& attempt = part.attempt;
  std::string text = "    <testcase" + xml_attribute("name", part.name) +
                     xml_attribute("classname", backend_name(report, part.backend)) +
                     xml_attribute("time", std::to_string(attempt.seconds));
  const CaseResult result = result_of(part);
  if (result == CaseResult::passed) return text + "/>\n";
  const std::string element = result == CaseResult::failure ? "failure" : "error";
  std::string message = verdict_text(attempt);
  if (!attempt.message.empty()) message += ": " + first_line(attempt.message, 200);
  std::string details = attempt.message + "\n";
  if (part.finding) {
    const LowerFinding& finding = report.outcome.findings[*part.finding];
    details += "culprit: " + culprit_text(report.input.model.graph, finding) + "\n";
    if (!finding.rule.empty()) details += "rule: " + finding.rule + "\n";
    if (!report.folder.empty()) details += "see " + finding_path(report, *part.finding) + "\n";
  }
  return text + ">\n      <" + element + xml_attribute("message", message) +
         xml_attribute("type", verdict_name(attempt.verdict)) + ">" + xml_lines(details) + "</" +
         element + ">\n    </testcase>\n";
}

}  // namespace

std::string lowering_junit(const LoweringReport& report) {
  const std::vector<LoweredPart>& parts = report.outcome.rounds.back().parts;
  Counts all;
  for (const LoweredPart& part : parts) all.add(result_of(part));
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
                     xml_attribute("name", "cleave lower") + all.text() + ">\n";
  for (std::size_t i = 0; i < report.input.backends.size(); ++i) {
    Counts counts;
    std::string cases;
    for (const LoweredPart& part : parts) {
      if (part.backend != i) continue;
      counts.add(result_of(part));
      cases += case_text(report, part);
    }
    const std::string name = report.input.model.source.path() + " with " + backend_name(report, i);
    text += "  <testsuite" + xml_attribute("name", name) + counts.text() +
            xml_attribute("skipped", "0") + ">\n" + cases + "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace cleave
