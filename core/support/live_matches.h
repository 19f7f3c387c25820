// LiveMatches: the matches of all lists while support is decided. A match is live until one of its
// nodes turns out to be refused, which gives the others up, too.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/support/pattern_matches.h"

namespace cleave {

class LiveMatches {
 public:
  // Adds a live match. No node of it is in another match of the same list.
  void add(const PatternMatch& match, std::span<const NodeId> nodes);

  const PatternMatches& all() const { return all_; }
  // Those that are live.
  PatternMatches live() const;

  // The list's live match with the node.
  std::optional<std::uint32_t> live_match(std::uint16_t list, NodeId node) const;
  // The list's match with the node, if it was given up, and the node that was refused.
  std::optional<std::pair<PatternMatch, NodeId>> given_up(std::uint16_t list, NodeId node) const;

  // Gives up each live match with a node for which `is_refused(node)` is true, until there is none.
  // Calls it again for the nodes of other matches that share a node. Linear in matches and lists.
  template <class IsRefused>
  void give_up_refused(std::vector<std::uint16_t> lists, const IsRefused& is_refused) {
    std::vector<std::uint32_t> open;
    for (std::uint32_t i = 0; i < all_.count(); ++i) open.push_back(i);
    while (!open.empty()) {
      const std::uint32_t match = open.back();
      open.pop_back();
      if (refused_[match] != kNone<NodeId>) continue;
      for (const NodeId node : all_.nodes_of(match)) {
        if (!is_refused(node)) continue;
        refused_[match] = node;
        break;
      }
      if (refused_[match] != kNone<NodeId>) add_neighbors(match, lists, open);
    }
  }

 private:
  static std::uint64_t key_of(std::uint16_t list, NodeId node) {
    return std::uint64_t{list} << 32U | index(node);
  }
  void add_neighbors(std::uint32_t match, const std::vector<std::uint16_t>& lists,
                     std::vector<std::uint32_t>& open) const;

  PatternMatches all_;
  std::vector<NodeId> refused_;                                // by match; kNone: live
  std::unordered_map<std::uint64_t, std::uint32_t> match_of_;  // by list and node
};

}  // namespace cleave
