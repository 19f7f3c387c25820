#include "core/cost/activation_peak.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/cost/cost.h"

namespace cleave {

std::uint64_t activation_peak(const Graph& graph, std::span<const NodeId> nodes) {
  std::unordered_map<NodeId, std::size_t> place;
  for (std::size_t i = 0; i < nodes.size(); ++i) place.emplace(nodes[i], i);
  std::unordered_set<ValueId> entering;
  std::uint64_t held = 0;                              // all the time
  std::vector<std::uint64_t> begins(nodes.size(), 0);  // by place: bytes from here on
  std::vector<std::uint64_t> ends(nodes.size(), 0);    // up to here
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const Operand& operand : graph.operands(nodes[i])) {
      const ValueId value = operand.value;
      if (graph.is_parameter(value) || place.contains(graph.value(value).producer)) continue;
      if (entering.insert(value).second) held += value_bytes(graph, value).value_or(0);
    }
    for (const ValueId value : graph.outputs(nodes[i])) {
      if (graph.is_parameter(value)) continue;
      const std::uint64_t bytes = value_bytes(graph, value).value_or(0);
      bool leaves = graph.is_graph_output(value);
      std::size_t last = i;
      for (const NodeId reader : graph.users(value)) {
        const auto at = place.find(reader);
        leaves = leaves || at == place.end();
        if (at != place.end()) last = std::max(last, at->second);
      }
      if (leaves) {
        held += bytes;
      } else {
        begins[i] += bytes;
        ends[last] += bytes;
      }
    }
  }
  std::uint64_t now = held;
  std::uint64_t most = held;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    now += begins[i];
    most = std::max(most, now);
    now -= ends[i];
  }
  return most;
}

}  // namespace cleave
