// What there is to say of single nodes, and how they are drawn: one box per node, and the values that
// flow between them. For whole models and for partitions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/report/drawings/dot_graph.h"
#include "formats/report/drawings/dot_style.h"
#include "formats/report/drawings/node_heat.h"
#include "formats/report/words/report.h"

namespace cleave {

// Green, amber or red, depending on the support verdict and the partition of the node.
DotRole node_role(const Report& report, NodeId node);

// What a drawing, a page or a file for another program says of a node.
struct NodeCard {
  std::string_view name, op;  // as in the model
  PartId part;
  std::string_view partition;  // the part's name
  bool is_acc;
  std::string device;          // "accelerator", "CPU", or a target
  std::string_view code = {};  // the code of the reason; "": on the accelerator
  std::string why = {};        // the reason
  // Of several targets: each that has a reason not to run it, and the reason.
  std::vector<std::pair<std::string_view, std::string>> why_not = {};
};
// Linear in the text of the reason.
NodeCard node_card(const Report& report, NodeId node);

// The id of the node in a drawing.
std::string node_id(const Graph& graph, NodeId node);

// Op type, name and first output's type, one per line.
std::string node_label(const Graph& graph, NodeId node);

// Adds the legend of the roles that node_role() returns.
void add_node_legend(DotGraph& drawing, const Report& report);

class NodeDrawing {
 public:
  // Draws nodes of `only` alone, or of every part; coloured by `heat` unless it is null.
  NodeDrawing(DotGraph& drawing, const Report& report, std::optional<PartId> only = std::nullopt,
              const HeatMap* heat = nullptr);

  // A box with op type, name and type, coloured by role; its tooltip says where the node runs, and
  // why not elsewhere.
  void add_node(NodeId node);
  // An ellipse for a value that no drawn node makes; a small box for a parameter.
  void add_source(ValueId value);
  // Edges from the value's source to each drawn node that reads it. Thick if it enters a part; the
  // first one into each part is labelled with the bytes. Call after adding the boxes at both ends.
  void add_edges(ValueId value);
  // An ellipse for a graph output; `number` makes its id unique.
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
  const HeatMap* heat_;
  // The value whose edge into the part was the last to get a label; one entry when drawing one
  // part.
  std::vector<ValueId> labelled_;
};

}  // namespace cleave
