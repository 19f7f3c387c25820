// DotGraph: builds a drawing and writes it in Graphviz's language, byte for byte as Graphviz's own
// library (cgraph) would; a test compares the two. The library takes several times as long, and a
// split may have a drawing for each of 30,000 partitions.
//
// Every node and edge is at the top level with its attributes, and a cluster only lists ids: some
// readers of the format (Netron) drop statements inside a subgraph. So clusters come last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/name_table.h"

namespace cleave {

struct DotAttribute {
  const char* name;   // a literal
  std::string value;  // as Graphviz reads it: foreign text must have passed dot_text()
};
using DotAttributes = std::vector<DotAttribute>;

class DotGraph {
 public:
  explicit DotGraph(std::string_view name);

  void set_graph(DotAttributes attributes);
  // Default attributes of nodes and edges. Call before adding the first one.
  void set_node_defaults(DotAttributes attributes);
  void set_edge_defaults(DotAttributes attributes);

  // Adds the node with this id; the same id again changes the same node.
  void add_node(const std::string& id, DotAttributes attributes);
  void add_edge(const std::string& from, const std::string& to, DotAttributes attributes);
  // A box around existing nodes; a node belongs to the first of its clusters.
  void add_cluster(const DotAttributes& attributes, std::vector<std::string> members);

  // What leave_out_long_edges() may leave for a layout that takes a second or two.
  static constexpr std::size_t kMostRanksSpanned = 4000;

  // Leaves out the edges that span the most ranks, so that all others together span at most `most`; the
  // shortest edge out of each node stays. Returns how many are left out. A layout takes more than linear
  // time in the ranks that edges span, and a drawing of dense edges shows nothing. Linear.
  std::size_t leave_out_long_edges(std::size_t most);

  // Depends only on the calls above and their order. Linear, plus sorting each node's edges.
  std::string text() const;

 private:
  static constexpr std::uint32_t kNone = NameTable::kAbsent;
  struct Node {
    std::string id;
    DotAttributes attributes;
    // Its outgoing edges, in the order of adding.
    std::uint32_t first_edge = kNone, last_edge = kNone;
    std::uint32_t first_maker = kNone;  // of the nodes with an edge to it, the first added
  };
  struct Edge {
    std::uint32_t to;
    std::uint32_t next;  // the next edge out of the same node
    DotAttributes attributes;
    bool is_left_out = false;
  };
  struct Cluster {
    DotAttributes attributes;
    std::vector<std::string> members;
  };

  std::uint32_t find(const std::string& id) const;
  std::vector<std::uint32_t> ranks() const;
  void append_node(std::uint32_t node, std::string& out) const;
  void list_edges(std::uint32_t node, std::vector<std::uint32_t>& edges) const;
  void append_from(std::uint32_t node, std::vector<std::uint32_t>& edges, std::string& out) const;
  void append_clusters(std::string& out) const;

  std::string name_;
  DotAttributes graph_, node_defaults_, edge_defaults_;  // sorted
  std::vector<Node> nodes_;
  NameTable node_table_;
  std::vector<Edge> edges_;
  std::vector<Cluster> clusters_;
};

// Text for a label or tooltip that is shown literally: Graphviz's escapes (\N, \l, ...) and
// character entities are neutralised; control characters, direction marks and bytes that are not
// UTF-8 become \xNN; of a longer text than `most` characters the middle becomes "...".
std::string dot_text(std::string_view text, std::size_t most = 400);

}  // namespace cleave
