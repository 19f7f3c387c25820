// Drawing nodes singly: a box a node, and what flows between them. For whole models and for parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/report/drawings/dot_graph.h"
#include "formats/report/drawings/dot_style.h"
#include "formats/report/words/report.h"

namespace cleave {

// Green, amber or red, by what support matching and the partition say of the node.
DotRole node_role(const Report& report, NodeId node);

// Under which the node is known in a drawing.
std::string node_id(const Graph& graph, NodeId node);

// Op type, name and first output's type, a line each.
std::string node_label(const Graph& graph, NodeId node);

// The legend of the roles that node_role() gives.
void add_node_legend(DotGraph& drawing);

class NodeDrawing {
 public:
  // Draws nodes of `only` alone, or of every part.
  NodeDrawing(DotGraph& drawing, const Report& report, std::optional<PartId> only = std::nullopt);

  // A box with op type, name and type, coloured by role; its tooltip tells where the node runs, and
  // why not elsewhere.
  void add_node(NodeId node);
  // An ellipse for a value that no drawn node makes; a small box when it is a parameter.
  void add_source(ValueId value);
  // Edges from where the value comes from to each drawn node that reads it. Thick where it enters a
  // part; the first of those into each part tells the bytes. After the boxes at its ends.
  void add_edges(ValueId value);
  // An ellipse that the value flows into; `number` tells it from the others.
  void add_output(ValueId value, std::size_t number);

 private:
  bool is_drawn(NodeId node) const;
  std::string source_id(ValueId value) const;
  void add_edge(ValueId value, NodeId user);
  std::string node_tooltip(NodeId node) const;

  DotGraph& drawing_;
  const Report& report_;
  const Graph& graph_;
  std::optional<PartId> only_;
  // The value whose edge into the part was the last to get a label; one entry when drawing one
  // part.
  std::vector<ValueId> labelled_;
};

}  // namespace cleave
