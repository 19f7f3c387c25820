#include "formats/base/text/markup_text.h"
#include "formats/report/lowering/lowering_report.h"

namespace cleave {
namespace {

constexpr std::size_t kMost = 10;  // GitHub shows this many for one step

std::string annotation(const LoweringReport& report, const LoweredPart& part) {
  constexpr std::string_view kInProperties = "%\r\n:,";
  constexpr std::string_view kInMessages = "%\r\n";
  std::string message = part.name + " is " + verdict_text(part.attempt);
  if (part.finding) {
    message +=
        ": " + culprit_text(report.input.model.graph, report.outcome.findings[*part.finding]);
  }
  if (!part.attempt.message.empty()) message += ": " + first_line(part.attempt.message, 200);
  return "::error file=" + github_text(report.input.model.source.path(), kInProperties) +
         ",title=" +
         github_text("cleave lower: " + backend_name(report, part.backend), kInProperties) +
         "::" + github_text(message, kInMessages) + "\n";
}

}  // namespace

std::string lowering_annotations(const LoweringReport& report) {
  std::string text;
  std::size_t count = 0;
  for (const LoweredPart& part : report.outcome.rounds.back().parts) {
    if (part.is_lowered) continue;
    if (++count < kMost) text += annotation(report, part);
  }
  if (count >= kMost) {
    text += "::error title=cleave lower::and " + std::to_string(count - kMost + 1) +
            " more partitions are not lowered: see the report\n";
  }
  return text;
}

}  // namespace cleave
