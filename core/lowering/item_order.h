// Item order: the nodes of a partition in the order in which the culprit search cuts them.
//
// An *item* is a node, or a group of nodes that are never parted (fusion and Q/DQ groups). Items
// are in depth-first topological order, so that a branch stays together: any run of neighbours is
// convex, and mostly one connected piece of the model. Sets of items are ascending lists of
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
  Adjacency nodes;  // by item: indices of its nodes, model order
  Adjacency reads;  // by item: the items that it reads, each once, all of them earlier

  std::size_t count() const { return nodes.count(); }
  NodeId first_node(std::uint32_t item) const { return NodeId{nodes.of(item).front()}; }
};

// The items of `partition`, whose nodes are in model order and convex. Groups of `fusions` that have
// members there are items. Linear but for sorting what each item reads.
ItemOrder order_items(const Graph& graph, std::span<const NodeId> partition,
                      const Fusions& fusions);
// The same without groups.
ItemOrder order_items(const Graph& graph, std::span<const NodeId> partition);

// Items 0 to count-1.
ItemSet all_items(const ItemOrder& order);
// Their nodes, in model order. O(n log n).
std::vector<NodeId> nodes_of(const ItemOrder& order, std::span<const std::uint32_t> items);

// True when no path leads from the set out of it and back. Linear in the edges of the items from its
// first to its last.
bool is_convex(const ItemOrder& order, std::span<const std::uint32_t> items);
// Those of `items` from which a path within `items` leads to `last`, itself included. Linear.
ItemSet cone_of(const ItemOrder& order, std::span<const std::uint32_t> items, std::uint32_t last);
// Those of `items` to which a path within `items` leads from `first`, itself left out. Linear.
ItemSet descendants_of(const ItemOrder& order, std::span<const std::uint32_t> items,
                       std::uint32_t first);
// For each of `items`, which is a cone of its last: the edges of the longest path to that. Linear.
std::vector<std::uint32_t> distances_to_last(const ItemOrder& order,
                                             std::span<const std::uint32_t> items);
// `items` without those of `taken`. Linear.
ItemSet without(std::span<const std::uint32_t> items, std::span<const std::uint32_t> taken);

}  // namespace cleave
