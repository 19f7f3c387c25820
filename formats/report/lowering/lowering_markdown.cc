#include <algorithm>

#include "formats/base/text/markup_text.h"
#include "formats/base/text/number_text.h"
#include "formats/report/lowering/lowering_report.h"

namespace cleave {
namespace {

constexpr std::size_t kMostRows = 50;

// The partitions of the last round that are not lowered, or only with a remedy.
std::string parts_text(const LoweringReport& report) {
  std::string rows;
  std::size_t left_out = 0, written = 0;
  for (const LoweredPart& part : report.outcome.rounds.back().parts) {
    const std::string remedy = remedy_text(part);
    if (part.attempt.verdict == LowerVerdict::lowered && remedy.empty()) continue;
    if (written++ >= kMostRows) {
      ++left_out;
      continue;
    }
    const std::string says = remedy.empty()
                                 ? first_line(part.attempt.message, 120)
                                 : (part.needs_sizes ? "lowers with " : "with ") + remedy;
    rows += std::string("| ") + (part.is_lowered ? "ok" : "**FAIL**") + " | " +
            markdown_code(part.name) + " | " + count_text(part.nodes.size()) + " | " +
            markdown_text(backend_name(report, part.backend)) + " | " +
            markdown_text(verdict_text(part.attempt)) + " | " + markdown_text(says) + " |\n";
  }
  if (rows.empty()) return {};
  rows.insert(0,
              "\n| | partition | nodes | backend | verdict | |\n"
              "| --- | --- | ---: | --- | --- | --- |\n");
  if (left_out > 0) rows += "\nand " + count_text(left_out) + " more\n";
  return rows;
}

std::string findings_text(const LoweringReport& report) {
  const auto& findings = report.outcome.findings;
  std::string text;
  for (std::size_t i = 0; i < std::min(findings.size(), kMostRows); ++i) {
    const LowerFinding& finding = findings[i];
    text += std::to_string(i + 1) + ". " + markdown_code(finding.part) + ": " +
            markdown_text(culprit_text(report.input.model.graph, finding));
    if (!finding.rule.empty()) text += "; " + markdown_text(finding.rule);
    const std::string path = finding_path(report, i);
    if (!path.empty()) text += "; see " + markdown_code(path);
    text += "\n";
  }
  if (findings.size() > kMostRows) {
    text += "\nand " + count_text(findings.size() - kMostRows) + " more\n";
  }
  return text.empty() ? "" : "\n**Findings**\n\n" + text;
}

// A command at the end of the advice is code, to be copied.
std::string advice_text(std::string_view advice, std::string_view command) {
  const std::size_t at = command.empty() ? advice.npos : advice.rfind(command);
  if (at == advice.npos) return markdown_text(advice);
  return markdown_text(advice.substr(0, at)) + markdown_code(command);
}

}  // namespace

std::string lowering_markdown(const LoweringReport& report) {
  std::string text =
      report.outcome.is_clean ? "## cleave lower passed: " : "## cleave lower FAILED: ";
  text += markdown_text(report.input.model.source.path()) + "\n\n";
  text += markdown_text(conclusion_text(report)) + "\n";
  for (const std::string& advice : advice_texts(report)) {
    text += "\n" + advice_text(advice, split_command(report)) + "\n";
  }
  return text + parts_text(report) + findings_text(report);
}

}  // namespace cleave
