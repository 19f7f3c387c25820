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
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/pattern/pattern_search.h"
#include "core/support/rule_check.h"
#include "core/support/rules_by_op.h"
#include "core/support/support_list.h"

namespace cleave {

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
  // then. For each pattern at most PatternSearch::kMostSteps around each node of its rarest op.
  void find(const IsDenied& is_denied, NodeSet& taken,
            const std::function<void(std::uint32_t pattern, std::span<const NodeId>)>& found);

  // The pattern with the most ops placed around the node, of equals the first. nullopt when no
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

  // Candidates that were looked at so far.
  std::uint64_t steps() const { return steps_; }

 private:
  struct Role {
    std::uint32_t pattern, op;
  };
  using Mask = std::uint16_t;  // a bit for each op of a pattern
  NodeFit fit(Role role, NodeId node, const IsDenied& is_denied, const NodeSet& taken);
  bool whole_fits(const Pattern& pattern, std::span<const NodeId> nodes) const;
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

}  // namespace cleave
