#include "formats/report/lowering/probe_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "formats/base/json/text.h"
#include "formats/base/text/number_text.h"
#include "formats/base/text/text_layout.h"
#include "formats/lists/support/rule_json.h"
#include "formats/report/lowering/lowering_report.h"

namespace cleave {
namespace {

struct OpCounts {
  std::size_t nodes = 0, cases = 0, taken = 0, refused = 0;
  const ProbedCase* first_refused = nullptr;
};

std::string op_name(const ProbeReport& report, const ProbedCase& probed) {
  const Graph& graph = report.input.models[probed.model].graph;
  const std::string_view domain = graph.domain(probed.node);
  return (domain.empty() ? "" : std::string(domain) + "::") + std::string(graph.op(probed.node));
}

std::map<std::string, OpCounts> count_ops(const ProbeReport& report) {
  std::map<std::string, OpCounts> ops;
  for (const ProbedCase& probed : report.outcome.cases) {
    OpCounts& counts = ops[op_name(report, probed)];
    ++counts.cases;
    counts.nodes += probed.nodes;
    counts.taken += probed.is_taken() ? 1U : 0U;
    counts.refused += probed.is_refused() ? 1U : 0U;
    if (probed.is_refused() && counts.first_refused == nullptr) counts.first_refused = &probed;
  }
  return ops;
}

std::string backend_text(const ProbeReport& report) {
  return report.input.backends.front().title(report.outcome.identity);
}

std::size_t count_taken(const ProbeOutcome& outcome) {
  return static_cast<std::size_t>(std::count_if(outcome.cases.begin(), outcome.cases.end(),
                                                [](const auto& one) { return one.is_taken(); }));
}

}  // namespace

std::string probe_text(const ProbeReport& report) {
  const ProbeOutcome& outcome = report.outcome;
  const std::size_t taken = count_taken(outcome);
  std::string text = backend_text(report) + " takes " + count_text(taken) + " of " +
                     counted(outcome.cases.size(), "case", "cases") + " of " +
                     counted(outcome.nodes, "node", "nodes") + "; " +
                     counted(outcome.compiler_runs, "compiler run", "compiler runs") + ", " +
                     duration_text(outcome.seconds * 1e6);
  if (!report.list_path.empty()) text += "; see " + escaped(report.list_path);
  text = wrapped(text, 0, 2);
  TextTable table(
      {"op", "nodes", "cases", "taken", "refused", "of the first that is"},
      {Align::left, Align::right, Align::right, Align::right, Align::right, Align::left});
  bool is_empty = true;
  for (const auto& [op, counts] : count_ops(report)) {
    if (counts.first_refused == nullptr) continue;
    table.add_row({escaped(op), count_text(counts.nodes), count_text(counts.cases),
                   count_text(counts.taken), count_text(counts.refused),
                   first_line(counts.first_refused->attempt.message, 50)});
    is_empty = false;
  }
  if (!is_empty) text += "\n" + table.text();
  if (const std::size_t silent = outcome.count_unanswered(); silent > 0) {
    text += counted(silent, "case was", "cases were") +
            " not answered by the compiler, and the list leaves them out: see the evidence\n";
  }
  if (outcome.reference.empty()) {
    text += "values are not compared (--compare does, with a reference)\n";
  }
  return text;
}

std::string probed_list_json(const ProbeReport& report) {
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.support");
  json.number("version", 1);
  json.text("name", backend_text(report) + " (probed)");
  json.begin_list("allow");
  for (const Rule& rule : report.outcome.allow) write_allow_rule(json, rule);
  json.end_list();
  json.begin_list("deny");
  for (const Rule& rule : report.outcome.deny) write_deny_rule(json, rule);
  json.end_list();
  json.end_object();
  return std::move(json).finish();
}

std::string probe_evidence(const ProbeReport& report) {
  using Json = nlohmann::ordered_json;
  std::string text;
  for (const ProbedCase& probed : report.outcome.cases) {
    const LoadedModel& model = report.input.models[probed.model];
    const Json line = {{"case", probed.text},
                       {"verdict", verdict_name(probed.attempt.verdict)},
                       {"stage", lower_stage_name(probed.attempt.stage)},
                       {"message", probed.attempt.message},
                       {"seconds", probed.attempt.seconds},
                       {"model", model.source.path()},
                       {"node", model.graph.node(probed.node).name},
                       {"nodes", probed.nodes}};
    text += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return text;
}

}  // namespace cleave
