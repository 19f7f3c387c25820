// Pattern matches: the places of a graph where patterns of support lists hold.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/base/ids.h"

namespace cleave {

struct PatternMatch {
  std::uint16_t list;
  std::uint32_t pattern;  // of the list
  bool operator==(const PatternMatch&) const = default;
};

// Matches in the order found: by list, by pattern, by anchor.
struct PatternMatches {
  std::vector<PatternMatch> matches;
  std::vector<std::uint32_t> begin = {0};                        // CSR
  std::vector<NodeId> nodes;                                     // of each match, by op
  std::unordered_map<NodeId, std::uint32_t> first_of_node = {};  // the first match with the node

  std::size_t count() const { return matches.size(); }
  std::span<const NodeId> nodes_of(std::size_t i) const {
    return std::span(nodes).subspan(begin[i], begin[i + 1] - begin[i]);
  }
  void add(const PatternMatch& match, std::span<const NodeId> members);
  // The match that contains the node; nullopt when none does.
  std::optional<std::uint32_t> match_of(NodeId node) const;
};

}  // namespace cleave
