#include "formats/report/words/cost_words.h"

#include <algorithm>

#include "formats/text/diagnostic.h"
#include "formats/text/number_text.h"

namespace cleave {
namespace {

std::string rules_text(const CostMatch& match) {
  std::string text;
  for (std::size_t i = 0; i < kMatchRules; ++i) {
    if (match.us_by_rule[i] <= 0) continue;
    text += (text.empty() ? "" : ", ") + percent_text(match.us_by_rule[i] / match.total_us) +
            " by " + std::string(match_rule_name(static_cast<MatchRule>(i)));
  }
  return text.empty() ? text : " (" + text + ")";
}

}  // namespace

std::string costs_text(const ModelCosts& costs) {
  const CostMatch& match = costs.match;
  std::string text = escaped(costs.path) + " (" + std::string(cost_format_name(costs.format));
  if (costs.runs > 1) text += ", median of " + counted(costs.runs, "run", "runs");
  text += "): " + percent_text(match.share()) + " of " + duration_text(match.total_us) +
          " matched" + rules_text(match) + ", " + count_text(match.measured_nodes) + " of " +
          counted(match.us.size(), "node", "nodes");
  if (match.fused_nodes > 0) text += ", " + count_text(match.fused_nodes) + " of them as fused";
  return text;
}

std::string unmatched_text(const ModelCosts& costs) {
  std::string text;
  const auto& largest = costs.match.largest_unmatched;
  for (const UnmatchedCost& kernel : largest) {
    text += (text.empty() ? "" : ", ") + quoted(kernel.name) + " " + duration_text(kernel.us);
  }
  if (costs.match.unmatched > largest.size()) {
    text += " and " + count_text(costs.match.unmatched - largest.size()) + " more";
  }
  return text;
}

}  // namespace cleave
