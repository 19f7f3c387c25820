// Views: a large graph as a tree of drawings that are small enough to look at.
//
// A view is one drawing of boxes; a box is a node, or a group of nodes that is a view itself. The
// first view is the whole model. Nodes are grouped by part, then by scope, a component at a time,
// and where neither tells them apart by runs of the model order.
//
//   model                      5,000 nodes in 3 parts: a box each
//   `- _run_on_acc_1           4,990 nodes: boxes layer1, layer2, ..., and nodes of no scope
//      `- layer1               64 nodes: a box each
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/partition.h"

namespace cleave {

enum class ViewId : std::uint32_t {};

// One of the two is none.
struct ViewBox {
  NodeId node = kNone<NodeId>;
  ViewId view = kNone<ViewId>;
};

struct View {
  std::string title;  // a part's name, a scope, "a to b", "nodes 1 to 80"; of the first the model's
  ViewId parent = kNone<ViewId>;
  std::uint32_t first = 0;  // its nodes: [first, last) of Views::order
  std::uint32_t last = 0;
  std::vector<ViewBox> boxes;  // none: more views than asked for, this one is not to be opened

  std::size_t node_count() const { return last - first; }
};

struct Views {
  std::vector<View> views;    // parents before children
  std::vector<NodeId> order;  // the nodes of a view stand together; those of a box in model order
  PerNode<ViewId> view_of;    // the view that holds the node as a box, or as one that is not opened

  const View& operator[](ViewId view) const { return views[index(view)]; }
  std::span<const NodeId> nodes(ViewId view) const {
    const View& of = views[index(view)];
    return std::span(order).subspan(of.first, of.last - of.first);
  }
};

struct ViewOptions {
  std::size_t most_boxes = 80;   // in a view; at least 2
  std::size_t most_views = 400;  // that are opened
};

// O(nodes x depth of the tree); the depth is bounded by that of the scopes, of which the first 64
// components count, plus the logarithm of the nodes to base `most_boxes`.
Views make_views(const Graph& graph, const Partition& partition, const ViewOptions& options);

}  // namespace cleave
