#include "formats/base/json/text.h"
#include "formats/report/lint/lint.h"

namespace cleave {
namespace {

void write_finding(JsonText& json, const LintFinding& finding) {
  json.begin_object();
  json.text("kind", lint_kind_name(finding.kind));
  json.text("severity", severity_name(finding.severity));
  json.key("line");
  finding.line == 0 ? json.null() : json.number(finding.line);
  json.key("column");
  finding.line == 0 ? json.null() : json.number(finding.column);
  json.text("message", finding.message);
  json.text("note", finding.note);
  json.end_object();
}

}  // namespace

std::string lint_json(const Lint& lint) {
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.lint");
  json.number("version", 1);
  json.text("list", lint.list);
  json.begin_list("models", JsonText::Layout::one_line);
  for (const std::string& model : lint.models) json.text(model);
  json.end_list();
  json.flag("onnx", lint.is_onnx);
  json.number("errors", lint.count(Severity::error));
  json.number("warnings", lint.count(Severity::warning));
  json.begin_list("findings");
  for (const LintFinding& finding : lint.findings) write_finding(json, finding);
  json.end_list();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace cleave
