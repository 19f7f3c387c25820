// ListPatterns: finds the places of a graph where the patterns of a support list hold, and says why
// none holds around a node.
//
// The patterns of a list are tried in order, each around the nodes of its rarest op, in model
// order. The first match around a node counts, and its nodes are then taken: a node is in one match
// of a list, and in one of all lists together unless every list must accept it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/pattern/pattern_search.h"
#include "core/support/rule_check.h"
#include "core/support/rule_index.h"
#include "core/support/support_list.h"

namespace cleave {

// Pattern matches: the places of a graph where patterns of support lists hold.
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

// The distinct ops of a graph, and the nodes of each in model order.
struct NodesByOp {
  explicit NodesByOp(const Graph& graph);
  std::vector<std::vector<NodeId>> nodes;  // by op number
  PerNode<std::uint32_t> op_of;
};

// The patterns of one list, held against one graph. Bodies are not searched.
class ListPatterns {
 public:
  using IsDenied = std::function<bool(NodeId)>;
  // All of it must outlive this.
  ListPatterns(const Graph& graph, const NodesByOp& ops, const SupportList& list,
               const OpFacts& facts);

  // Adds the matches of the list, without nodes that are denied or taken; their nodes are taken
  // then. For each pattern at most PatternSearch::kMostSteps around each node of its rarest op. Ends
  // early, with steps() above `most_steps`, when that many steps are not enough.
  void find(const IsDenied& is_denied, NodeSet& taken, std::uint64_t most_steps,
            const std::function<void(std::uint32_t pattern, std::span<const NodeId>)>& found);

  // The pattern with the most ops placed around the node; the first if several are equal. nullopt when no
  // pattern names the node's op, or only a glob does and no second node fits.
  struct Nearest {
    std::uint32_t pattern;
    PatternMiss miss;
  };
  std::optional<Nearest> nearest(NodeId node, const IsDenied& is_denied, const NodeSet& taken);

  // Whether an op of a pattern names the node's op; false for nodes in bodies.
  bool names(NodeId node) const {
    return index(node) < ops_.op_of.size() && !roles_[ops_.op_of[node]].empty();
  }

  // Candidates that were looked at so far, and terms of `where` that were computed.
  std::uint64_t steps() const { return steps_; }

 private:
  struct Role {
    std::uint32_t pattern, op;
  };
  using Mask = std::uint16_t;  // a bit for each op of a pattern
  NodeFit fit(Role role, NodeId node, const IsDenied& is_denied, const NodeSet& taken);
  bool whole_fits(const Pattern& pattern, std::span<const NodeId> nodes);
  PatternQuery query(std::uint32_t pattern, const IsDenied& is_denied, const NodeSet& taken);
  struct Anchors {
    std::uint32_t op;
    std::vector<NodeId> nodes;  // in model order
  };
  Anchors rarest_op(std::uint32_t pattern) const;

  const Graph& graph_;
  const NodesByOp& ops_;
  const SupportList& list_;
  const OpFacts& facts_;
  std::vector<std::vector<Role>> roles_;                        // by op number
  std::vector<std::unordered_map<std::uint32_t, Mask>> masks_;  // by pattern, by op number
  std::vector<FailedCondition> failed_;
  std::uint64_t steps_ = 0;
};

// LiveMatches: the matches of all lists while support is decided. A match is live until one of its
// nodes turns out to be refused, which gives the others up, too.
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

  // Drops live matches with a node for which `is_refused(node)` is true, until none is left.
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
