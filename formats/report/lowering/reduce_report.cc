#include "formats/report/lowering/reduce_report.h"

#include "formats/base/json/text.h"
#include "formats/base/text/number_text.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/lowering/lowering_report.h"

namespace cleave {
namespace {

std::string backend_text(const ReduceReport& report) {
  return report.input.backends.front().title(report.outcome.identity);
}

}  // namespace

std::string reduce_text(const ReduceReport& report) {
  const ReduceOutcome& outcome = report.outcome;
  const LoweredPart& part = outcome.part;
  const std::string nodes = counted(part.nodes.size(), "node", "nodes");
  const std::string cost = counted(outcome.compiler_runs, "compiler run", "compiler runs") + ", " +
                           duration_text(outcome.seconds * 1e6);
  if (part.is_lowered) return backend_text(report) + " lowers the " + nodes + "; " + cost + "\n";
  std::string text;
  if (!outcome.finding) {
    text = wrapped(backend_text(report) + " does not lower the " + nodes + " (" +
                       verdict_text(part.attempt) + "): " + first_line(part.attempt.message, 300),
                   0, 2);
    return text + "nothing smaller was found; " + cost + "\n";
  }
  const Finding& finding = outcome.finding->finding;
  const std::size_t least = finding.within.empty() ? finding.nodes.size() : finding.within.size();
  text = wrapped(backend_text(report) + " fails on " + counted(least, "node", "nodes") + " of " +
                     count_text(part.nodes.size()) +
                     " as on all: " + culprit_text(report.input.model.graph, *outcome.finding),
                 0, 2);
  text += wrapped(verdict_text(part.attempt) + ": " + first_line(finding.message, 300), 2, 4);
  if (finding.kind == FindingKind::together && !finding.is_minimal) {
    text += "not minimal: --search-runs or --search-time was used up\n";
  }
  text += cost;
  if (!report.folder.empty()) text += "; see " + escaped(report.folder) + "/README.md";
  return text + "\n";
}

std::string reduce_json(const ReduceReport& report) {
  const ReduceOutcome& outcome = report.outcome;
  const Graph& graph = report.input.model.graph;
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.reduction");
  json.number("version", 1);
  json.text("model", report.input.model.source.path());
  json.text("backend", report.input.backends.front().name);
  json.text("identity", outcome.identity);
  json.number("nodes", outcome.part.nodes.size());
  json.flag("lowered", outcome.part.is_lowered);
  json.text("verdict", verdict_name(outcome.part.attempt.verdict));
  json.text("message", outcome.part.attempt.message);
  json.begin_list("culprits", JsonText::Layout::one_line);
  if (outcome.finding) {
    for (const NodeId node : outcome.finding->finding.nodes) json.text(graph.node(node).name);
  }
  json.end_list();
  json.begin_list("piece");
  if (outcome.finding) {
    for (const NodeId node : outcome.finding->finding.within) json.text(graph.node(node).name);
  }
  json.end_list();
  json.flag("minimal", outcome.finding && outcome.finding->finding.is_minimal);
  json.number("compiler_runs", outcome.compiler_runs);
  json.number("seconds", outcome.seconds);
  json.end_object();
  return std::move(json).finish();
}

}  // namespace cleave
