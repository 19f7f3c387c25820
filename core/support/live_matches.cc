#include "core/support/live_matches.h"

namespace cleave {

void LiveMatches::add(const PatternMatch& match, std::span<const NodeId> nodes) {
  for (const NodeId node : nodes) {
    match_of_.emplace(key_of(match.list, node), static_cast<std::uint32_t>(all_.count()));
  }
  all_.add(match, nodes);
  refused_.push_back(kNone<NodeId>);
}

PatternMatches LiveMatches::live() const {
  PatternMatches live;
  for (std::uint32_t i = 0; i < all_.count(); ++i) {
    if (refused_[i] == kNone<NodeId>) live.add(all_.matches[i], all_.nodes_of(i));
  }
  return live;
}

std::optional<std::uint32_t> LiveMatches::live_match(std::uint16_t list, NodeId node) const {
  if (match_of_.empty()) return std::nullopt;
  const auto found = match_of_.find(key_of(list, node));
  if (found == match_of_.end() || refused_[found->second] != kNone<NodeId>) return std::nullopt;
  return found->second;
}

std::optional<std::pair<PatternMatch, NodeId>> LiveMatches::given_up(std::uint16_t list,
                                                                     NodeId node) const {
  const auto found = match_of_.find(key_of(list, node));
  if (found == match_of_.end() || refused_[found->second] == kNone<NodeId>) return std::nullopt;
  return std::pair(all_.matches[found->second], refused_[found->second]);
}

void LiveMatches::add_neighbors(std::uint32_t match, const std::vector<std::uint16_t>& lists,
                                std::vector<std::uint32_t>& open) const {
  for (const NodeId node : all_.nodes_of(match)) {
    for (const std::uint16_t list : lists) {
      if (const auto other = live_match(list, node)) open.push_back(*other);
    }
  }
}

}  // namespace cleave
