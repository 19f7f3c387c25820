#include "formats/report/drawings/flow_graph.h"

#include <algorithm>

#include "core/base/number_text.h"
#include "core/cost/cost.h"

namespace cleave {

std::string FlowSum::bytes_words() const {
  if (!is_known && bytes == 0) return "size unknown";
  return (is_known ? "" : "at least ") + bytes_text(bytes);
}

FlowSum sum_of(const Graph& graph, std::span<const Flow> flows) {
  FlowSum sum{.values = flows.size()};
  for (const Flow& flow : flows) {
    const auto bytes = value_bytes(graph, flow.value);
    sum.is_known = sum.is_known && bytes && !__builtin_add_overflow(sum.bytes, *bytes, &sum.bytes);
  }
  return sum;
}

void FlowGraph::arrange() {
  std::sort(flows_.begin(), flows_.end(),
            [](const Flow& a, const Flow& b) { return a.key() < b.key(); });
  flows_.erase(std::unique(flows_.begin(), flows_.end(),
                           [](const Flow& a, const Flow& b) { return a.key() == b.key(); }),
               flows_.end());
}

std::size_t FlowGraph::edge_count() const {
  std::size_t edges = 0;
  each_edge([&](std::span<const Flow>) { ++edges; });
  return edges;
}

}  // namespace cleave
