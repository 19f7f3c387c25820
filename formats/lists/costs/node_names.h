// NodeNames: finds the nodes of a graph by name, and by the names of their outputs. Includes
// constants and nodes of bodies, since runtimes name them too.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/base/name_table.h"
#include "core/graph/graph.h"

namespace cleave {

class NodeNames {
 public:
  // Linear. The graph must live as long as this.
  explicit NodeNames(const Graph& graph);

  // The node, constant or body node with that name.
  std::optional<NodeId> find(std::string_view name) const;
  // The node or constant that makes the value with that name.
  std::optional<NodeId> find_maker(std::string_view value) const;
  // The node whose time includes that of `id`: itself, or the one around it; kNone for a constant.
  NodeId owner(NodeId id) const;

 private:
  std::string_view node_name(std::uint32_t id) const { return graph_.node(NodeId{id}).name; }
  std::string_view value_name(std::uint32_t id) const { return graph_.value(ValueId{id}).name; }
  void add_node(NodeId id);
  void add_outputs(NodeId id);

  const Graph& graph_;
  NameTable nodes_, values_;
  std::vector<NodeId> owners_;  // of body nodes, from first_body_ on
  std::uint32_t first_body_ = 0;
};

}  // namespace cleave
