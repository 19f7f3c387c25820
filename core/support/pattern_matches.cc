#include "core/support/pattern_matches.h"

namespace cleave {

void PatternMatches::add(const PatternMatch& match, std::span<const NodeId> members) {
  for (const NodeId node : members) {
    first_of_node.try_emplace(node, static_cast<std::uint32_t>(matches.size()));
  }
  matches.push_back(match);
  nodes.insert(nodes.end(), members.begin(), members.end());
  begin.push_back(static_cast<std::uint32_t>(nodes.size()));
}

std::optional<std::uint32_t> PatternMatches::match_of(NodeId node) const {
  const auto found = first_of_node.find(node);
  if (found == first_of_node.end()) return std::nullopt;
  return found->second;
}

}  // namespace cleave
