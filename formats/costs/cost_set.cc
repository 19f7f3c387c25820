#include "formats/costs/cost_set.h"
#include "formats/io/side_file.h"

#include <utility>

namespace cleave {
CostSource cost_source_of(std::string_view text) {
  if (text.starts_with("cpu=")) return {CostTarget::cpu, std::string(text.substr(4))};
  if (text.starts_with("acc=")) return {CostTarget::acc, std::string(text.substr(4))};
  return {CostTarget::cpu, std::string(text)};
}

Loaded<CostSet> read_cost_set(std::span<const CostSource> sources, const Graph& graph) {
  CostSet set;
  for (const CostSource& from : sources) {
    const auto source = open_side_file(from.path);
    if (!source) return source.error();
    auto costs = read_model_costs(*source, graph);
    if (!costs) return std::move(costs).error();
    set.warnings.insert(set.warnings.end(), costs->warnings.begin(), costs->warnings.end());
    (from.target == CostTarget::cpu ? set.cpu : set.acc).push_back(*std::move(costs));
  }
  set.cpu_us = merged_times(set.cpu);
  set.acc_us = merged_times(set.acc);
  return set;
}

}  // namespace cleave
