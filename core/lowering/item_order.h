// Item order: the nodes of a partition in the order in which the culprit search cuts them.
//
// An *item* is a node, or a group of nodes that must stay together (fusion and Q/DQ groups). Items
// are in depth-first topological order, so that a branch stays together: any run of neighbours is
// convex, and usually a connected piece of the model. Sets of items are ascending lists of
// positions in this order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/adjacency.h"
#include "core/graph/graph.h"
#include "core/split/fusion.h"

namespace cleave {

using ItemSet = std::vector<std::uint32_t>;

struct ItemOrder {
  Adjacency nodes;  // by item: its nodes, in model order
  Adjacency reads;  // by item: the items that it reads, each once, all earlier

  std::size_t count() const { return nodes.count(); }
  NodeId first_node(std::uint32_t item) const { return NodeId{nodes.of(item).front()}; }
};

// The items of `partition`, whose nodes are in model order and convex. Groups of `fusions` with
// members in the partition become items. Linear, plus sorting what each item reads.
ItemOrder order_items(const Graph& graph, std::span<const NodeId> partition,
                      const Fusions& fusions);
// As above, without groups.
ItemOrder order_items(const Graph& graph, std::span<const NodeId> partition);

// The items 0 to count-1.
ItemSet all_items(const ItemOrder& order);
// The nodes of the items, in model order. O(n log n).
std::vector<NodeId> nodes_of(const ItemOrder& order, std::span<const std::uint32_t> items);

// True when no path leaves the set and comes back. Linear in the edges of the items from its first
// to its last.
bool is_convex(const ItemOrder& order, std::span<const std::uint32_t> items);
// The members of `items` from which a path within `items` leads to `last`, including `last`.
// Linear.
ItemSet cone_of(const ItemOrder& order, std::span<const std::uint32_t> items, std::uint32_t last);
// The members of `items` to which a path within `items` leads from `first`, without `first`.
// Linear.
ItemSet descendants_of(const ItemOrder& order, std::span<const std::uint32_t> items,
                       std::uint32_t first);
// `items` is a cone of its last item. For each item: the edges of the longest path to the last.
// Linear.
std::vector<std::uint32_t> distances_to_last(const ItemOrder& order,
                                             std::span<const std::uint32_t> items);
// The members of `items` that are not in `taken`. Linear.
ItemSet without(std::span<const std::uint32_t> items, std::span<const std::uint32_t> taken);

}  // namespace cleave
