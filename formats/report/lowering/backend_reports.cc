#include "formats/report/lowering/backend_reports.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/number_text.h"
#include "core/graph/op_name.h"
#include "formats/base/json/text.h"
#include "formats/base/text/text_layout.h"
#include "formats/lists/support/rule_json.h"
#include "formats/report/lowering/lowering_report.h"

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
    const std::size_t end = step.detail.find_last_not_of(" \n\t\r");  // of programs' last lines
    details += wrapped(step.name + ": " + escaped(step.detail.substr(0, end + 1)), 2, 4);
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

namespace {

struct OpCounts {
  std::size_t nodes = 0, cases = 0, taken = 0, refused = 0;
  const ProbedCase* first_refused = nullptr;
};

std::string op_name(const ProbeReport& report, const ProbedCase& probed) {
  const Graph& graph = report.input.models[probed.model].graph;
  return op_text(graph.domain(probed.node), graph.op(probed.node));
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

// With which sizes cases were asked that are refused with open shapes; a line for each model.
std::string known_sizes_text(const ProbeReport& report) {
  const ProbeOutcome& outcome = report.outcome;
  std::string text;
  for (std::size_t model = 0; model < outcome.sizes.size(); ++model) {
    std::size_t taken = 0;
    for (const ProbedCase& one : outcome.cases) {
      taken += one.model == model && one.is_pinned && one.is_taken() ? 1U : 0U;
    }
    if (taken == 0) continue;
    text += wrapped(counted(taken, "case of ", "cases of ") +
                        escaped(report.input.models[model].source.path()) +
                        (taken == 1 ? " is" : " are") +
                        " taken with known sizes only: give them to the split, too, as in " +
                        words_text(size_options(outcome.sizes[model])),
                    0, 2);
  }
  return text;
}

// What was found out about cases that are refused alone, or of which nothing was left.
std::string help_text(const ProbeReport& report) {
  std::size_t known = 0, folded = 0;
  for (const ProbedCase& one : report.outcome.cases) {
    known += one.help == CaseHelp::known ? 1U : 0U;
    folded += one.is_folded() ? 1U : 0U;
  }
  std::string text;
  for (const Pattern& pattern : report.outcome.patterns) {
    std::string ops;
    for (const Rule& op : pattern.ops) ops += (ops.empty() ? "" : ", ") + op.op;
    text +=
        wrapped("pattern \"" + escaped(pattern.name) + "\": taken together: " + escaped(ops), 0, 2);
  }
  if (known > 0) {
    text += wrapped(counted(known, "refused case is", "refused cases are") +
                        " known before the model runs: pass --fold write to the split, too",
                    0, 2);
  }
  if (folded > 0) {
    text += wrapped(counted(folded, "case was", "cases were") +
                        " folded away by the compiler, which takes nothing of them",
                    0, 2);
  }
  return text;
}

}  // namespace

std::string probe_text(const ProbeReport& report) {
  const ProbeOutcome& outcome = report.outcome;
  const std::size_t taken = count_taken(outcome);
  std::string text =
      backend_text(report) + " takes " + count_text(taken) + " of " +
      counted(outcome.cases.size(), "case") + " of " + counted(outcome.nodes, "node") + "; " +
      counted(outcome.compiler_runs, "compiler run") + ", " + duration_text(outcome.seconds * 1e6);
  if (!report.list_path.empty()) text += "; see " + escaped(report.list_path);
  text = wrapped(text, 0, 2);
  TextTable table(
      {"op", "nodes", "cases", "taken", "refused", "first refusal"},
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
  text += help_text(report);
  text += known_sizes_text(report);
  if (!report.input.backends.front().has(LowerStage::run)) {
    text += "values are not compared: " + escaped(report.input.backends.front().name) +
            " compiles, and does not run what it made\n";
  } else if (!outcome.is_compared) {
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
  if (!report.outcome.patterns.empty()) {
    json.begin_list("patterns");
    for (const Pattern& pattern : report.outcome.patterns) write_pattern(json, pattern);
    json.end_list();
  }
  json.end_object();
  return std::move(json).finish();
}

std::string probe_evidence(const ProbeReport& report) {
  using Json = nlohmann::ordered_json;
  std::string text;
  for (const ProbedCase& probed : report.outcome.cases) {
    const LoadedModel& model = report.input.models[probed.model];
    Json together = Json::array();
    for (const NodeId node : probed.together) together.push_back(model.graph.node(node).name);
    const Json line = {{"case", probed.text},
                       {"verdict", verdict_name(probed.attempt.verdict)},
                       {"stage", lower_stage_name(probed.attempt.stage)},
                       {"message", probed.attempt.message},
                       {"seconds", probed.attempt.seconds},
                       {"model", model.source.path()},
                       {"node", model.graph.node(probed.node).name},
                       {"nodes", probed.nodes},
                       {"pinned", probed.is_pinned},
                       {"known", probed.help == CaseHelp::known},
                       {"together", std::move(together)}};
    text += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }
  return text;
}

namespace {

std::string backend_text(const ReduceReport& report) {
  return report.input.backends.front().title(report.outcome.identity);
}

}  // namespace

std::string reduce_text(const ReduceReport& report) {
  const ReduceOutcome& outcome = report.outcome;
  const LoweredPart& part = outcome.part;
  const std::string nodes = counted(part.nodes.size(), "node");
  const std::string cost =
      counted(outcome.compiler_runs, "compiler run") + ", " + duration_text(outcome.seconds * 1e6);
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
  text = wrapped(backend_text(report) + " fails on " + counted(least, "node") + " of " +
                     count_text(part.nodes.size()) +
                     " as on all: " + culprit_text(report.input.model.graph, *outcome.finding),
                 0, 2);
  text += wrapped(verdict_text(part.attempt) + ": " + first_line(finding.message, 300), 2, 4);
  if (finding.kind == FindingKind::together && !finding.is_minimal) {
    const SearchSettings& search = report.options.search;
    const bool is_used_up = finding.runs >= search.most_runs ||
                            (search.most_seconds > 0 && outcome.seconds >= search.most_seconds);
    text += is_used_up ? "not minimal: --search-runs or --search-time was used up\n"
                       : "perhaps not minimal: not every smaller piece was tried\n";
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
