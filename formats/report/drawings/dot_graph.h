// DotGraph: a drawing as it grows, and its text in Graphviz's language as Graphviz's own library
// (cgraph) writes it, byte for byte: a test holds one against the other. The library itself takes
// several times as long, and a split may have a drawing for each of 30,000 parts.
//
// Every node and edge stands at the top level with its attributes, and a cluster lists bare ids:
// some readers of the format (Netron) drop what is said inside a subgraph. So clusters come last.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/name_table.h"

namespace cleave {

struct DotAttribute {
  const char* name;   // a literal
  std::string value;  // as Graphviz reads it: text that is not ours must have passed dot_text()
};
using DotAttributes = std::vector<DotAttribute>;

class DotGraph {
 public:
  explicit DotGraph(std::string_view name);

  void set_graph(DotAttributes attributes);
  // What nodes and edges have that do not say otherwise. Before the first of them.
  void set_node_defaults(DotAttributes attributes);
  void set_edge_defaults(DotAttributes attributes);

  // A node is known by its id from here on; giving the same id again changes the same node.
  void add_node(const std::string& id, DotAttributes attributes);
  void add_edge(const std::string& from, const std::string& to, DotAttributes attributes);
  // A box around nodes that are there already; of clusters that share one the first has it.
  void add_cluster(const DotAttributes& attributes, std::vector<std::string> members);

  // Depends on the calls above and their order only. Linear, but for the sorting of a node's edges.
  std::string text() const;

 private:
  static constexpr std::uint32_t kNone = NameTable::kAbsent;
  struct Node {
    std::string id;
    DotAttributes attributes;
    // Edges that go out of it, in order of adding.
    std::uint32_t first_edge = kNone, last_edge = kNone;
    std::uint32_t first_maker = kNone;  // of the nodes with an edge to it, the one added first
  };
  struct Edge {
    std::uint32_t to;
    std::uint32_t next;  // out of the same node
    DotAttributes attributes;
  };
  struct Cluster {
    DotAttributes attributes;
    std::vector<std::string> members;
  };

  std::uint32_t find(const std::string& id) const;
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

// Text for a label or tooltip that is shown as it stands: Graphviz's escapes (\N, \l, ...) and
// character entities in it mean nothing; control characters, direction marks and what is not UTF-8
// come out as \xNN; at most `most` characters, the middle of a longer text becoming "...".
std::string dot_text(std::string_view text, std::size_t most = 400);

}  // namespace cleave
