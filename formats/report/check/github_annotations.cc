#include "formats/report/check/github_annotations.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "formats/base/text/diagnostic.h"
#include "formats/base/text/markup_text.h"
#include "formats/base/text/number_text.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/check/check_words.h"
#include "formats/report/check/move_text.h"

namespace cleave {
namespace {

constexpr std::size_t kMost = 10;

std::string annotation(const RulePlace& place, std::string_view title, std::string_view message) {
  constexpr std::string_view kInProperties = "%\r\n:,";
  constexpr std::string_view kInMessages = "%\r\n";
  std::string text = "::error file=" + github_text(place.file, kInProperties);
  text += ",line=" + std::to_string(std::max(place.line, 1U));
  if (place.column > 0) text += ",col=" + std::to_string(place.column);
  text += ",title=" + github_text(title, kInProperties);
  return text + "::" + github_text(message, kInMessages) + "\n";
}

std::string names_of(const MoveGroup& group) {
  std::vector<std::string> names;
  for (const CheckedMove* const move : group.moves) {
    if (names.size() == 20) break;
    names.push_back(fitted(move->node.name, 60));
  }
  return some_of(names, 200);
}

}  // namespace

std::string check_annotations(const Check& check) {
  std::vector<std::string> all;
  for (const CheckRun& run : check.runs) {
    for (const CheckedGate& checked : run.gates) {
      if (checked.gate.passed()) continue;
      all.push_back(annotation(run.list_place, "cleave check: " + gate_title(checked.gate),
                               run_title(run) + ": " + gate_sentence(run, checked)));
    }
  }
  for (const CheckRun& run : check.runs) {
    if (run.passed()) continue;
    for (const MoveGroup& group : group_moves(run.regressions)) {
      const CheckedNode& first = group.moves.front()->node;
      const std::string why = group.moves.size() == 1 ? first.detail : group.cause;
      all.push_back(annotation(
          first.place,
          "cleave check: " + counted(group.moves.size(), "node", "nodes") + " newly on the CPU",
          run_title(run) + ": " + names_of(group) + ": " + change_text(group.change, run.settings) +
              "; " + why));
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), kMost); ++i) {
    const bool is_last_of_many = i + 1 == kMost && all.size() > kMost;
    text += is_last_of_many ? "::error title=cleave check::and " + std::to_string(all.size() - i) +
                                  " more: see the report\n"
                            : all[i];
  }
  return text;
}

}  // namespace cleave
