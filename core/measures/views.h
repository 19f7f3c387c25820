// Views: a large graph as a tree of drawings that are small enough to look at.
//
// A view is one drawing of boxes; a box is a node, or a group of nodes that is a view itself. The
// first view is the whole model. Nodes are grouped by part, then by scope, one component at a time,
// and by runs of the model order when neither separates them. Where there are more parts than boxes
// in a view, and most nodes have a scope, they are grouped by scope first.
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

// One of the two is kNone.
struct ViewBox {
  NodeId node = kNone<NodeId>;
  ViewId view = kNone<ViewId>;
};

struct View {
  // a part's name, a scope, "a to b", "nodes 1 to 80"; the model's name for the first view
  std::string title;
  ViewId parent = kNone<ViewId>;
  std::uint32_t first = 0;  // its nodes: [first, last) of Views::order
  std::uint32_t last = 0;
  std::vector<ViewBox> boxes;  // empty: beyond the number of views asked for, and not opened

  std::size_t node_count() const { return last - first; }
};

struct Views {
  std::vector<View> views;  // parents before children
  // the nodes of a view are consecutive; those of a box are in model order
  std::vector<NodeId> order;
  // the view that has the node as a box, or the unopened view that contains it
  PerNode<ViewId> view_of;

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

// O(nodes x depth of the tree). The depth is bounded by that of the scopes, of which the first 64
// components count, plus the logarithm of the nodes to base `most_boxes`.
Views make_views(const Graph& graph, const Partition& partition, const ViewOptions& options);

}  // namespace cleave
