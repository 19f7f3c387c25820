#include <algorithm>

#include "formats/base/text/capped_list.h"
#include "formats/base/text/number_text.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/lowering/lowering_report.h"
#include "formats/run/lowering/open_shapes.h"

namespace cleave {
namespace {

constexpr std::size_t kNameColumns = 40;

std::string percent_text(std::size_t part, std::size_t all) {
  char buffer[16];
  // Rounded down, so that only all nodes are 100%.
  const double share = all == 0 ? 0 : static_cast<double>(1000 * part / all) / 10;
  std::snprintf(buffer, sizeof buffer, "%.1f%%", share);
  return buffer;
}

// The names of the first nodes.
std::string names_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  return capped_list(nodes, 3, [&](NodeId node) { return escaped(graph.node(node).name); });
}

std::string how_found(FoundBy by) {
  switch (by) {
    case FoundBy::hypothesis:
      return "by trying";
    case FoundBy::known:
      return "known before";
    case FoundBy::hint:
      return "named by the backend";
    case FoundBy::prefix:
      return "found by bisection";
    case FoundBy::reduction:
      return "found by reduction";
  }
  return {};
}

std::string remedies_text(const Remedies& remedies) {
  std::string text;
  const auto add = [&text](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
  if (remedies.pin_shapes) add("their open shapes pinned");
  if (remedies.freeze_values) add("shape values frozen");
  if (remedies.opset) add("opset " + std::to_string(*remedies.opset));
  return text;
}

std::string values_text(const Graph& graph, const LowerFinding& finding) {
  switch (*finding.values) {
    case ValueVerdict::culprit:
      return names_of(graph, finding.finding.nodes) + " (wrong on right inputs)";
    case ValueVerdict::lower_precision:
      return "computes in lower precision";
    case ValueVerdict::tie_order:
      return names_of(graph, finding.finding.nodes) + " (equal values in another order)";
    case ValueVerdict::rounding_decides:
      return "rounding decides an order at " + names_of(graph, finding.deciders);
    case ValueVerdict::errors_add_up:
      return "errors add up: no node is wrong by itself";
    case ValueVerdict::together:
      return names_of(graph, finding.finding.nodes) + " (together)";
    case ValueVerdict::unresolved:
      return "not found";
  }
  return {};
}

class TextWriter {
 public:
  explicit TextWriter(const LoweringReport& report)
      : report_(report), graph_(report.input.model.graph), outcome_(report.outcome) {}

  std::string write() {
    for (std::size_t i = 0; i < outcome_.rounds.size(); ++i) write_round(i);
    write_remarks();
    text_ += wrapped(conclusion_text(report_), 0, 2);
    return std::move(text_);
  }

 private:
  void write_round(std::size_t index) {
    const LowerRound& round = outcome_.rounds[index];
    const auto failing = std::count_if(round.parts.begin(), round.parts.end(),
                                       [](const LoweredPart& part) { return !part.is_lowered; });
    text_ += "round " + std::to_string(index + 1) + ": " +
             counted(round.acc_parts, "accelerator partition", "accelerator partitions") + ", " +
             counted(round.acc_nodes, "node", "nodes") + ", ";
    text_ += failing == 0 ? "all lowered\n"
                          : count_text(static_cast<std::uint64_t>(failing)) + " not lowered\n";
    write_table(round);
    for (std::size_t i = 0; i < outcome_.findings.size(); ++i) {
      if (outcome_.findings[i].round == index + 1) write_finding(i);
    }
    text_ += "\n";
  }

  // Prints the partitions of interest: those that fail, and those that need a remedy.
  void write_table(const LowerRound& round) {
    const bool is_one = report_.input.backends.size() == 1;
    TextTable table({"partition", "nodes", is_one ? "verdict" : "backend, verdict", "time", ""},
                    {Align::left, Align::right, Align::left, Align::right, Align::left});
    bool is_empty = true;
    for (const LoweredPart& part : round.parts) {
      const std::string remedy = remedy_text(part);
      const bool is_plain = part.attempt.verdict == LowerVerdict::lowered && remedy.empty();
      if (is_plain) continue;
      std::string verdict = is_one ? "" : report_.input.backends[part.backend].name + ": ";
      verdict += verdict_text(part.attempt);
      const std::string time =
          part.attempt.is_cached ? "cached" : duration_text(part.attempt.seconds * 1e6);
      table.add_row({fitted(part.name, kNameColumns), count_text(part.nodes.size()), verdict, time,
                     remedy.empty() ? "" : (part.needs_sizes ? "lowers with " : "with ") + remedy});
      is_empty = false;
    }
    if (is_empty) return;
    text_ += table.text();
    for (const LoweredPart& part : round.parts) {
      if (part.is_lowered || part.attempt.message.empty()) continue;
      text_ += wrapped(part.name + ": " + first_line(part.attempt.message, 300), 2, 4);
    }
  }

  void write_finding(std::size_t index) {
    const LowerFinding& finding = outcome_.findings[index];
    std::string line = "-> " + finding.part + ": " + culprit_text(graph_, finding);
    if (!finding.rule.empty()) line += "; " + escaped(finding.rule);
    const std::string path = finding_path(report_, index);
    if (!path.empty()) line += "; see " + escaped(path);
    text_ += wrapped(line, 2, 5);
  }

  void write_remarks() {
    const LowerOutcome& outcome = outcome_;
    if (outcome.is_eroding) {
      text_ += wrapped(
          "stopped: in three rounds running the readers of the last culprit fail in the same way, "
          "which is a fault of where the model is cut. Try --pin-shapes boundary with --reference, "
          "or --freeze-shape-values",
          0, 2);
    }
    write_precision();
    write_data_shapes();
    if (!report_.options.pool.compares) {
      text_ += "values are not compared (--compare does, with a reference)\n";
    }
    if (outcome.rounds.back().acc_nodes == 0) text_ += "no node is left on the accelerator\n";
    for (const std::string& text : advice_texts(report_)) text_ += wrapped(text, 0, 2);
  }

  // Where values differ and the backend may have computed in less than float32, says so.
  void write_precision() {
    for (const LoweredPart& part : outcome_.rounds.back().parts) {
      const LowerVerdict verdict = part.attempt.verdict;
      const std::string& exact = report_.input.backends[part.backend].float32_backend;
      const bool is_lower = verdict == LowerVerdict::lower_precision;
      if (!is_lower && (verdict != LowerVerdict::wrong_values || exact.empty())) continue;
      std::string text = backend_name(report_, part.backend);
      text += is_lower ? " computes in lower precision: right at bfloat16's tolerance (rtol = atol "
                         "= 0.02), not at float32's"
                       : " may compute in less than float32";
      text += exact.empty() ? ". Switch it to float32 to compare, or state \"compute\": "
                              "\"bfloat16\" in its file; if it does compute in float32, its "
                              "errors add up to this"
                            : ". To compare in float32: --backend " + exact;
      text_ += wrapped(text, 0, 2);
      return;
    }
  }

  // Warns about pinned shapes that depend on data: they hold for this sample only.
  void write_data_shapes() {
    std::size_t count = 0;
    for (const LoweredPart& part : outcome_.rounds.back().parts) {
      for (const PinnedShape& pinned : part.pinned) count += pinned.is_of_data ? 1U : 0U;
    }
    if (count == 0) return;
    text_ += wrapped(counted(count, "pinned shape depends", "pinned shapes depend") +
                         " on data: other inputs may have others, for which these partitions are "
                         "not right",
                     0, 2);
  }

  const LoweringReport& report_;
  const Graph& graph_;
  const LowerOutcome& outcome_;
  std::string text_;
};

}  // namespace

std::string backend_name(const LoweringReport& report, std::size_t backend) {
  return report.input.backends[backend].title(report.outcome.identities[backend]);
}

std::string verdict_text(const Attempt& attempt) {
  const bool is_refused = attempt.verdict == LowerVerdict::refused;
  return verdict_words(attempt) + (is_refused && attempt.stage == LowerStage::run ? " at run" : "");
}

std::string finding_path(const LoweringReport& report, std::size_t finding) {
  if (report.folder.empty()) return {};
  return report.folder + "/findings/" + std::to_string(finding + 1);
}

std::string conclusion_text(const LoweringReport& report) {
  const LowerOutcome& outcome = report.outcome;
  std::string line = outcome.is_clean ? "lowered " : "NOT clean: lowered ";
  line += count_text(outcome.nodes_lowered) + " of " + counted(outcome.nodes, "node", "nodes") +
          " (" + percent_text(outcome.nodes_lowered, outcome.nodes) + ") by ";
  for (std::size_t i = 0; i < report.input.backends.size(); ++i) {
    line += (i == 0 ? "" : " and ") + backend_name(report, i);
  }
  line += " in " + counted(outcome.rounds.size(), "round", "rounds") + ", " +
          counted(outcome.compiler_runs, "compiler run", "compiler runs") + ", " +
          duration_text(outcome.seconds * 1e6);
  if (report.options.pool.jobs > 1) {
    line += " (" + std::to_string(report.options.pool.jobs) + " at once)";
  }
  if (outcome.cache_hits > 0) {
    line += ", " + counted(outcome.cache_hits, "verdict", "verdicts") + " known";
  }
  line += "; " + counted(outcome.learned.size(), "rule", "rules");
  if (!report.learned_path.empty()) line += " in " + report.learned_path;
  std::size_t more = 0;
  for (const LoweredPart& part : outcome.rounds.back().parts) {
    more += part.needs_sizes ? part.nodes.size() : 0;
  }
  if (more > 0) {
    line += "; " + counted(more, "more node", "more nodes") + " with " +
            words_text(size_options(outcome.sizes));
  }
  return line;
}

std::string remedy_text(const LoweredPart& part) {
  std::vector<std::string> texts;
  if (!part.pinned.empty()) {
    texts.push_back("the shapes of " + counted(part.pinned.size(), "input", "inputs") +
                    (part.needs_sizes ? " known" : " pinned"));
  }
  if (part.frozen > 0) {
    texts.push_back(counted(part.frozen, "shape value", "shape values") + " frozen");
  }
  if (part.remedies.opset) texts.push_back("opset " + std::to_string(*part.remedies.opset));
  std::string text;
  for (const std::string& one : texts) text += (text.empty() ? "" : ", ") + one;
  return text;
}

std::string culprit_text(const Graph& graph, const LowerFinding& found) {
  if (found.values) return values_text(graph, found);
  const Finding& finding = found.finding;
  const std::string names = names_of(graph, finding.nodes);
  switch (finding.kind) {
    case FindingKind::culprit:
      return names + " (" + how_found(finding.by) + ", fails alone)";
    case FindingKind::together:
      return names + " (" + how_found(finding.by) +
             ", fails together with others: " + counted(finding.within.size(), "node", "nodes") +
             ")";
    case FindingKind::remedy:
      return counted(finding.nodes.size(), "node", "nodes") + " compile with " +
             remedies_text(finding.remedies) + "; no op is to blame";
    case FindingKind::flaky:
      return "flaky: it failed and then did not";
    case FindingKind::unexplained:
      return "no part of it was found to blame";
  }
  return {};
}

std::string lowering_text(const LoweringReport& report) { return TextWriter(report).write(); }

}  // namespace cleave
