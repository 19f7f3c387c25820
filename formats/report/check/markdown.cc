#include "formats/report/check/markdown.h"

#include <algorithm>
#include <string_view>

#include "formats/base/text/diagnostic.h"
#include "formats/base/text/markup_text.h"
#include "formats/base/text/number_text.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/check/check_words.h"
#include "formats/report/check/move_text.h"

namespace cleave {
namespace {

constexpr std::size_t kMostGroups = 20;
constexpr std::size_t kMostNames = 10;

std::string names_of(const MoveGroup& group) {
  std::string text;
  for (std::size_t i = 0; i < std::min(group.moves.size(), kMostNames); ++i) {
    const CheckedMove& move = *group.moves[i];
    text += (i > 0 ? ", " : "") + markdown_code(move.node.name);
    if (move.from == Place::absent) text += " (new)";
  }
  if (group.moves.size() > kMostNames) {
    text += " and " + count_text(group.moves.size() - kMostNames) + " more";
  }
  return text;
}

std::string moves_text(const CheckRun& run, const std::vector<CheckedMove>& moves,
                       std::string_view where) {
  if (moves.empty()) return {};
  std::string text = "\n**" + counted(moves.size(), "node", "nodes") + " newly on the " +
                     std::string(where) + "**\n";
  const std::vector<MoveGroup> groups = group_moves(moves);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const MoveGroup& group = groups[i];
    if (i == kMostGroups) {
      return text + "- ... and " + count_text(groups.size() - i) + " more causes\n";
    }
    if (i == 0 || groups[i - 1].change != group.change) {
      text +=
          (i == 0 ? "\n- " : "- ") + markdown_text(change_text(group.change, run.settings)) + "\n";
    }
    const bool is_one = group.moves.size() == 1;
    const std::string& why = is_one ? group.moves.front()->node.detail : group.cause;
    text += "  - " + names_of(group) + (why.empty() ? "" : ": " + markdown_text(why)) + "\n";
  }
  return text;
}

std::string gates_text(const CheckRun& run) {
  std::string text = "\n| | gate | is | must be |\n| --- | --- | --- | --- |\n";
  for (const CheckedGate& checked : run.gates) {
    const Gate& gate = checked.gate;
    text += std::string("| ") + (gate.passed() ? "ok" : "**FAIL**") + " | " +
            markdown_text(gate_title(gate)) + " | " + markdown_text(gate_actual(run, gate)) +
            " | " + markdown_text(gate_limit(gate)) + " |\n";
  }
  for (const CheckedGate& checked : run.gates) {
    if (checked.detail.empty() || checked.gate.kind == GateKind::max_new_cpu_nodes) continue;
    text += "\n" + markdown_text(gate_title(checked.gate)) + ": " + markdown_text(checked.detail) +
            "\n";
  }
  return text;
}

// An overview of several runs.
std::string overview_text(const Check& check) {
  std::string text =
      "\n| | model | list | node coverage | accelerator subgraphs | CPU nodes |\n"
      "| --- | --- | --- | ---: | ---: | ---: |\n";
  for (const CheckRun& run : check.runs) {
    text += std::string("| ") + (run.passed() ? "ok" : "**FAIL**") + " | " +
            markdown_code(run.model) + " | " + markdown_code(run.list) + " | " +
            percent_text(run.now.nodes.ratio()) + " | " + count_text(run.now.acc_subgraphs) +
            " | " + count_text(run.now.cpu_nodes) + " |\n";
  }
  return text;
}

std::string run_text(const CheckRun& run) {
  std::string text =
      "\n### " + markdown_code(run.model) + " with " + markdown_code(run.list) + "\n";
  if (!run.gates.empty()) text += gates_text(run);
  text += moves_text(run, run.regressions, "CPU");
  return text + moves_text(run, run.improvements, "accelerator");
}

}  // namespace

std::string check_markdown(const Check& check) {
  std::string text = check.passed() ? "## cleave check passed: " : "## cleave check FAILED: ";
  text += verdict_text(check) + "\n";
  if (check.runs.size() > 1) text += overview_text(check);
  for (const CheckRun& run : check.runs) text += run_text(run);
  return text;
}

}  // namespace cleave
