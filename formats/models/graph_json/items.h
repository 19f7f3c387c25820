// The items of a native graph file as text, each on one line: declarations of values, and nodes.
// Items read from JSON are copied; others are made from the graph.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

class GraphJsonItems {
 public:
  explicit GraphJsonItems(const LoadedModel& model);

  std::string node(NodeId id) const;
  // The declaration of a graph input, a node's output, or a parameter that is passed like an input:
  // for use as an input of a graph or an output of a node.
  std::string value(ValueId id) const;
  // The declarations of one file's parameters, in the given order. A parameter that is an alias of
  // one outside the list becomes an alias of the first of its other names in the list.
  std::vector<std::string> parameters(std::span<const ValueId> ids) const;

 private:
  std::string_view source_of(SourceSpan span) const;

  const LoadedModel& model_;
  const Graph& graph_;
};

}  // namespace cleave
