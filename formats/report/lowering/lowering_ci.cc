// What a lowering tells a CI server: a test and, if it fails, an alert for each partition of the last
// round, a finding for each finding.
#include <algorithm>
#include <array>

#include "core/base/capped_list.h"
#include "core/base/number_text.h"
#include "formats/base/text/markup_text.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/lowering/lowering_report.h"

namespace cleave {
namespace {

constexpr std::size_t kMostRows = 50;

// By kind of finding.
constexpr std::array<CiRule, 7> kRules = {{
    {"culprit", "Culprit", "The compiler refuses the node alone, or computes it wrong.",
     "Deny the node in the support list, or fix the compiler."},
    {"together", "Together", "The compiler fails on the node together with others.",
     "Deny the node by its name, or fix the compiler."},
    {"remedy", "Remedy", "The compiler takes the partition once something around it is changed.",
     "Pin shapes, freeze shape values or raise the opset, as the message says."},
    {"flaky", "Flaky", "The compiler failed, and did not fail when it was asked again.",
     "Run again; fix the compiler."},
    {"unexplained", "Unexplained", "The compiler fails on the partition; no node is to blame.",
     "Look at the compiler's own words."},
    {"left-out", "LeftOut", "The compiler leaves the node out and compiles the others.",
     "Deny the node in the support list."},
    {"size", "Size",
     "The compiler fails on partitions of more than so many nodes, whichever they are.",
     "Limit the partition in the support list: max_nodes."},
}};

FilePlace place_of(const LoweringReport& report) {
  return {.file = report.model.source.path(), .has_lines = false};
}

const std::vector<LoweredPart>& parts_of(const LoweringReport& report) {
  return report.outcome.rounds.back().parts;
}

// ---- tests: a suite for each backend ----

// A refusal or wrong values are a failure. A crash, a timeout and faults that are not the partition's
// are an error.
CiCase::Outcome outcome_of(const LoweredPart& part) {
  if (part.is_lowered) return CiCase::Outcome::passed;
  switch (part.attempt.verdict) {
    case LowerVerdict::partly:
    case LowerVerdict::refused:
    case LowerVerdict::no_output:
    case LowerVerdict::too_large:
    case LowerVerdict::wrong_values:
    case LowerVerdict::lower_precision:
      return CiCase::Outcome::failure;
    default:
      return CiCase::Outcome::error;
  }
}

std::string details_of(const LoweringReport& report, const LoweredPart& part) {
  std::string details = part.attempt.message + "\n";
  if (!part.finding) return details;
  const LowerFinding& finding = report.outcome.findings[*part.finding];
  details += "culprit: " + culprit_text(report.model.graph, finding) + "\n";
  if (!finding.rule.empty()) details += "rule: " + rule_text(report, finding) + "\n";
  if (!report.folder.empty()) details += "see " + finding_path(report, *part.finding) + "\n";
  return details;
}

CiCase case_of(const LoweringReport& report, const LoweredPart& part) {
  const Attempt& attempt = part.attempt;
  CiCase test{.name = part.name,
              .class_name = backend_name(report, part.backend),
              .outcome = outcome_of(part),
              .type = std::string(verdict_name(attempt.verdict)),
              .message = verdict_text(attempt),
              .details = details_of(report, part),
              .seconds = attempt.seconds};
  if (!attempt.message.empty()) test.message += ": " + first_line(attempt.message, 200);
  return test;
}

CiSuite suite_of(const LoweringReport& report, std::size_t backend) {
  CiSuite suite{.name = report.model.source.path() + " with " + backend_name(report, backend)};
  for (const LoweredPart& part : parts_of(report)) {
    if (part.backend == backend) suite.cases.push_back(case_of(report, part));
  }
  if (report.outcome.takes_nothing) {
    suite.cases.push_back({.name = "accelerator partitions",
                           .class_name = backend_name(report, backend),
                           .outcome = CiCase::Outcome::failure,
                           .type = "nothing to lower",
                           .message = conclusion_text(report)});
  }
  return suite;
}

// ---- alerts and findings ----

CiAlert alert_of(const LoweringReport& report, const LoweredPart& part) {
  std::string message = part.name + ": " + verdict_text(part.attempt);
  if (part.finding) {
    message += ": " + culprit_text(report.model.graph, report.outcome.findings[*part.finding]);
  }
  if (!part.attempt.message.empty()) message += ": " + first_line(part.attempt.message, 200);
  return {place_of(report), "cleave lower: " + backend_name(report, part.backend), message};
}

CiFinding finding_of(const LoweringReport& report, const LowerFinding& found) {
  const Graph& graph = report.model.graph;
  const FindingKind kind = found.finding.kind;
  const bool is_fault = kind == FindingKind::culprit || kind == FindingKind::together;
  CiFinding finding{.rule = static_cast<std::size_t>(kind),
                    .level = is_fault ? "error" : "warning",
                    .message = backend_name(report, found.backend) + ", partition " + found.part +
                               ": " + culprit_text(graph, found) + ": " +
                               first_line(found.finding.message, 300),
                    .place = place_of(report),
                    .model = report.model.source.path()};
  for (const NodeId node : found.finding.nodes) finding.nodes.emplace_back(graph.node(node).name);
  return finding;
}

// ---- Markdown ----

std::string row_of(const LoweringReport& report, const LoweredPart& part,
                   const std::string& remedy) {
  const std::string says = remedy.empty() ? first_line(part.attempt.message, 120)
                                          : (part.needs_sizes ? "lowers with " : "with ") + remedy;
  return markdown_row({markdown_mark(part.is_lowered), markdown_code(part.name),
                       count_text(part.nodes.size()),
                       markdown_text(backend_name(report, part.backend)),
                       markdown_text(verdict_text(part.attempt)), markdown_text(says)});
}

// The partitions of the last round that are not lowered, or only with a remedy.
std::string parts_text(const LoweringReport& report) {
  std::string rows;
  CappedList list(kMostRows);
  for (const LoweredPart& part : parts_of(report)) {
    const std::string remedy = remedy_text(part);
    if (part.attempt.verdict == LowerVerdict::lowered && remedy.empty()) continue;
    if (list.shows_next()) rows += row_of(report, part, remedy);
  }
  if (rows.empty()) return {};
  return "\n| | partition | nodes | backend | verdict | |\n"
         "| --- | --- | ---: | --- | --- | --- |\n" +
         rows + list.rest("\nand # more\n");
}

std::string findings_text(const LoweringReport& report) {
  const auto& findings = report.outcome.findings;
  CappedList list(kMostRows);
  std::string text;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (!list.shows_next()) continue;
    const LowerFinding& finding = findings[i];
    text += std::to_string(i + 1) + ". " + markdown_code(finding.part) + ": " +
            markdown_text(culprit_text(report.model.graph, finding));
    if (!finding.rule.empty()) text += "; " + markdown_text(rule_text(report, finding));
    const std::string path = finding_path(report, i), doubt = doubt_text(report, i);
    if (!doubt.empty()) text += " (" + markdown_text(doubt) + ")";
    if (!path.empty() && doubt.empty()) text += "; see " + markdown_code(path);
    text += "\n";
  }
  return text.empty() ? "" : "\n**Findings**\n\n" + text + list.rest("\nand # more\n");
}

// A command at the end of the advice is code, to be copied.
std::string advice_text(std::string_view advice, std::string_view command) {
  const std::size_t at = command.empty() ? advice.npos : advice.rfind(command);
  if (at == advice.npos) return markdown_text(advice);
  return markdown_text(advice.substr(0, at)) + markdown_code(command);
}

}  // namespace

CiReport ci_report(const LoweringReport& report) {
  CiReport ci{.program = "cleave lower",
              .is_passed = report.outcome.is_clean && !report.outcome.takes_nothing,
              .more_alerts = "and # more partitions are not lowered: see the report",
              .rules = kRules,
              .title = markdown_text(report.model.source.path())};
  for (std::size_t i = 0; i < report.backends.size(); ++i) {
    ci.suites.push_back(suite_of(report, i));
  }
  for (const LoweredPart& part : parts_of(report)) {
    if (!part.is_lowered) ci.alerts.push_back(alert_of(report, part));
  }
  for (const LowerFinding& finding : report.outcome.findings) {
    ci.findings.push_back(finding_of(report, finding));
  }
  ci.body = "\n" + markdown_text(conclusion_text(report)) + "\n";
  for (const std::string& advice : advice_texts(report)) {
    ci.body += "\n" + advice_text(advice, split_command(report)) + "\n";
  }
  ci.body += parts_text(report) + findings_text(report);
  return ci;
}

}  // namespace cleave
