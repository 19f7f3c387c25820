#include "formats/report/check/move_text.h"

#include "formats/base/text/capped_list.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/number_text.h"
#include "formats/base/text/text_layout.h"

namespace cleave {
namespace {

constexpr std::size_t kMostGroups = 20;

std::string names_of(const MoveGroup& group, std::size_t columns) {
  return some_of(group.moves, columns, [](const CheckedMove* move) {
    return escaped(move->node.name) + (move->from == Place::absent ? " (new)" : "");
  });
}

// The nodes of one cause, and why they are, or were, on the CPU.
std::string group_text(const MoveGroup& group) {
  constexpr std::size_t kIndent = 6;
  const std::string names = names_of(group, kTextColumns - kIndent);
  if (group.cause.empty()) return wrapped(names, kIndent, kIndent + 2);
  const std::string was = group.moves.front()->to == Place::acc ? "it was on the CPU: " : "";
  if (group.moves.size() == 1) {
    return wrapped(names + ": " + was + group.moves.front()->node.detail, kIndent, kIndent + 2);
  }
  return wrapped(names, kIndent, kIndent + 2) +
         wrapped((was.empty() ? "" : "they were on the CPU: ") + group.cause, kIndent + 2,
                 kIndent + 2);
}

}  // namespace

std::string change_text(Change change, const std::vector<std::string>& settings) {
  switch (change) {
    case Change::model:
      return "the model changed";
    case Change::list:
      return "the support list changed";
    case Change::settings: {
      std::string text = "the settings changed";
      for (std::size_t i = 0; i < settings.size(); ++i) {
        text += (i == 0 ? ": " : "; ") + settings[i];
      }
      return text;
    }
    case Change::model_or_list:
      return "the model or the support list changed";
    case Change::program:
      return "another version of cleave made the baseline";
  }
  return {};
}

std::string moves_text(const std::vector<CheckedMove>& moves, std::string_view what,
                       const std::vector<std::string>& settings) {
  if (moves.empty()) return {};
  std::string text =
      "\n  " + counted(moves.size(), "node", "nodes") + " " + std::string(what) + "\n";
  const std::vector<MoveGroup> groups = group_moves(moves);
  CappedList list(kMostGroups);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!list.shows_next()) continue;
    if (i == 0 || groups[i - 1].change != groups[i].change) {
      text += wrapped(change_text(groups[i].change, settings), 4, 6);
    }
    text += group_text(groups[i]);
  }
  return text + list.rest("    ... and # more cause (see --json)\n",
                          "    ... and # more causes (see --json)\n");
}

}  // namespace cleave
