// The items of a native graph file as text, each on one line: declarations of values, nodes. What
// was read from JSON is copied from there; what was read from elsewhere is made from the graph.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "formats/model/loaded_model.h"

namespace cleave {

class GraphJsonItems {
 public:
  explicit GraphJsonItems(const LoadedModel& model);

  std::string node(NodeId id) const;
  // What is a graph's input, or made by a node, or a parameter that is handed over like one: to be
  // an input of a graph or an output of a node.
  std::string value(ValueId id) const;
  // The parameters of one file, in the order given. One that is another name of a parameter which
  // is not among them becomes another name of the first of its names that is.
  std::vector<std::string> parameters(std::span<const ValueId> ids) const;

 private:
  std::string_view source_of(SourceSpan span) const;

  const LoadedModel& model_;
  const Graph& graph_;
};

}  // namespace cleave
