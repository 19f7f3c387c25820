#include "formats/report/words/cost_words.h"

#include <algorithm>

#include "formats/base/text/capped_list.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/number_text.h"

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

// "batch=1, height=320"
std::string dims_text(const std::vector<InputDim>& dims) {
  std::string text;
  for (const InputDim& dim : dims) {
    text += (text.empty() ? "" : ", ") + escaped(dim.name) + "=" + std::to_string(dim.size);
  }
  return text;
}

}  // namespace

std::string costs_text(const ModelCosts& costs) {
  const CostMatch& match = costs.match;
  std::string text = escaped(costs.path) + " (" + std::string(cost_format_name(costs.format));
  if (match.total_us == 0 && !costs.op_times.empty()) {
    return text + "): calibrated times of " + counted(costs.op_times.size(), "op", "ops");
  }
  if (costs.runs > 1) text += ", median of " + counted(costs.runs, "run", "runs");
  text += "): " + percent_text(match.share()) + " of " + duration_text(match.total_us) +
          " matched" + rules_text(match) + ", " + count_text(match.measured_nodes) + " of " +
          counted(match.us.size(), "node", "nodes");
  if (match.fused_nodes > 0) text += ", " + count_text(match.fused_nodes) + " of them as fused";
  if (costs.used_nodes < match.measured_nodes) {
    text += ", " + (costs.used_nodes == 0 ? std::string("none") : count_text(costs.used_nodes)) +
            " of them used: files before this one have the others";
  }
  if (!costs.shapes.empty()) {
    text += "; " + counted(costs.shapes.size(), "shape", "shapes") + " observed";
  }
  if (!costs.dims.empty()) text += "; inputs had " + dims_text(costs.dims);
  if (costs.contradicted > 0) {
    text += "; shapes of " + counted(costs.contradicted, "kernel", "kernels") +
            " left out, which differ from the model's";
  }
  return text;
}

std::string unmatched_text(const ModelCosts& costs) {
  const auto& largest = costs.match.largest_unmatched;
  CappedList list(largest.size());
  list.leave_out(costs.match.unmatched - largest.size());
  std::string text;
  for (const UnmatchedCost& kernel : largest) {
    text += (text.empty() ? "" : ", ") + escaped_in_quotes(kernel.name) + " " +
            duration_text(kernel.us);
  }
  return text + list.rest(" and # more");
}

void write_costs(JsonText& json, std::string_view target, const ModelCosts& costs) {
  const CostMatch& match = costs.match;
  json.begin_object();
  json.text("target", target);
  json.text("file", costs.path);
  json.text("format", cost_format_name(costs.format));
  json.number("runs", costs.runs);
  json.number("total_us", match.total_us);
  json.number("matched_us", match.matched_us);
  json.begin_object("us_by_rule", JsonText::Layout::one_line);
  for (std::size_t i = 0; i < kMatchRules; ++i) {
    std::string name(match_rule_name(static_cast<MatchRule>(i)));
    std::replace(name.begin(), name.end(), ' ', '_');
    json.number(name, match.us_by_rule[i]);
  }
  json.end_object();
  json.number("measured_nodes", match.measured_nodes);
  json.number("fused_nodes", match.fused_nodes);
  json.number("observed_shapes", costs.shapes.size());
  json.number("contradicted_kernels", costs.contradicted);
  json.begin_list("input_dims");
  for (const InputDim& dim : costs.dims) {
    json.begin_object(JsonText::Layout::one_line);
    json.text("name", dim.name);
    json.number("size", dim.size);
    json.end_object();
  }
  json.end_list();
  json.number("calibrated_ops", costs.op_times.size());
  json.number("unmatched_kernels", match.unmatched);
  json.begin_list("largest_unmatched");
  for (const UnmatchedCost& kernel : match.largest_unmatched) {
    json.begin_object(JsonText::Layout::one_line);
    json.text("name", kernel.name);
    json.text("op", kernel.op);
    json.number("us", kernel.us);
    json.end_object();
  }
  json.end_list();
  json.end_object();
}

}  // namespace cleave
