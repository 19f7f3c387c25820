// The findings in the form of compiler messages: one per line, which editors can jump to.
#include "formats/base/text/number_text.h"
#include "formats/report/check/lint.h"

namespace cleave {

std::string lint_text(const Lint& lint) {
  std::string text;
  for (const LintFinding& finding : lint.findings) {
    text += escaped(lint.list);
    if (finding.line > 0) {
      text += ":" + std::to_string(finding.line) + ":" + std::to_string(finding.column);
    }
    text += ": " + std::string(severity_name(finding.severity)) + ": " + finding.message + " [" +
            std::string(lint_kind_name(finding.kind)) + "]\n";
    if (!finding.note.empty()) text += "    " + finding.note + "\n";
  }
  const std::size_t errors = lint.count(Severity::error);
  const std::size_t warnings = lint.count(Severity::warning);
  text += escaped(lint.list) + ": " + counted(errors, "error", "errors") + ", " +
          counted(warnings, "warning", "warnings") + ", " +
          counted(lint.count(Severity::note), "note", "notes");
  if (!lint.is_onnx) text += "; the ops are not ONNX's: their names were not looked up";
  return text + "\n";
}

}  // namespace cleave
