// DotGraph: a drawing as it grows, kept and written by Graphviz's cgraph library.
//
// Every node and edge stands at the top level with its attributes, and a cluster lists bare ids:
// some readers of the format (Netron) drop what is said inside a subgraph. cgraph writes a node
// where it meets it first, which is inside; so clusters are kept here and written after it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

struct DotAttribute {
  const char* name;
  std::string value;  // as Graphviz reads it: text that is not ours must have passed dot_text()
};
using DotAttributes = std::vector<DotAttribute>;

class DotGraph {
 public:
  explicit DotGraph(std::string_view name);

  void set_graph(const DotAttributes& attributes);
  // What nodes and edges have that do not say otherwise. Before the first of them.
  void set_node_defaults(const DotAttributes& attributes);
  void set_edge_defaults(const DotAttributes& attributes);

  // A node is known by its id from here on; giving the same id again changes the same node.
  void add_node(const std::string& id, const DotAttributes& attributes);
  void add_edge(const std::string& from, const std::string& to, const DotAttributes& attributes);
  // A box around nodes that are there already; of clusters that share one the first has it.
  void add_cluster(const DotAttributes& attributes, std::vector<std::string> members);

  // Depends on the calls above and their order only.
  std::string text() const;

 private:
  struct Close {
    void operator()(void* graph) const;
  };
  struct Cluster {
    DotAttributes attributes;
    std::vector<std::string> members;
  };
  std::unique_ptr<void, Close> graph_;  // an Agraph_t, whose header stays out of this one
  std::vector<Cluster> clusters_;
};

// Text for a label or tooltip that is shown as it stands: Graphviz's escapes (\N, \l, ...) and
// character entities in it mean nothing; control characters, direction marks and what is not UTF-8
// come out as \xNN; at most `most` characters, the middle of a longer text becoming "...".
std::string dot_text(std::string_view text, std::size_t most = 400);

}  // namespace cleave
