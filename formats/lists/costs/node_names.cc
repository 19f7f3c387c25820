#include "formats/lists/costs/node_names.h"

namespace cleave {

NodeNames::NodeNames(const Graph& graph)
    : graph_(graph),
      first_body_(static_cast<std::uint32_t>(graph.node_count() + graph.constants().size())) {
  for (const NodeId node : graph.nodes()) {
    add_node(node);
    add_outputs(node);
  }
  for (const NodeId constant : graph.constants()) {
    add_node(constant);
    add_outputs(constant);
  }
  for (const NodeId owner : graph.nodes()) {
    for (const NodeId inner : graph.body_nodes(owner)) {
      add_node(inner);
      const std::size_t place = index(inner) - first_body_;
      if (place >= owners_.size()) owners_.resize(place + 1, kNone<NodeId>);
      owners_[place] = owner;
    }
  }
}

void NodeNames::add_node(NodeId id) {
  nodes_.find_or_insert(node_name(index(id)), index(id),
                        [&](std::uint32_t i) { return node_name(i); });
}

void NodeNames::add_outputs(NodeId id) {
  for (const ValueId output : graph_.outputs(id)) {
    values_.find_or_insert(value_name(index(output)), index(output),
                           [&](std::uint32_t i) { return value_name(i); });
  }
}

std::optional<NodeId> NodeNames::find(std::string_view name) const {
  const auto found = nodes_.find(name, [&](std::uint32_t i) { return node_name(i); });
  return found == NameTable::kAbsent ? std::nullopt : std::optional(NodeId{found});
}

std::optional<NodeId> NodeNames::find_maker(std::string_view value) const {
  const auto found = values_.find(value, [&](std::uint32_t i) { return value_name(i); });
  if (found == NameTable::kAbsent) return std::nullopt;
  return graph_.value(ValueId{found}).producer;
}

NodeId NodeNames::owner(NodeId id) const {
  if (index(id) < graph_.node_count()) return id;
  if (index(id) < first_body_) return kNone<NodeId>;
  const std::size_t place = index(id) - first_body_;
  return place < owners_.size() ? owners_[place] : kNone<NodeId>;
}

}  // namespace cleave
