#include "core/graph/graph.h"

#include <algorithm>
#include <array>

namespace cleave {
namespace {

constexpr std::array<std::string_view, 9> kValueTypeNames = {
    "tensor", "tuple", "list", "scalar", "sequence", "map", "optional", "none", "unknown"};

template <class T>
std::span<const T> row(const std::vector<T>& items, const std::vector<std::uint32_t>& begin,
                       NodeId id) {
  if (begin.empty()) return {};
  const std::uint32_t first = begin[index(id)];
  return std::span(items).subspan(first, begin[index(id) + 1] - first);
}

}  // namespace

std::string_view value_type_name(ValueType type) {
  return kValueTypeNames[static_cast<std::size_t>(type)];
}

std::optional<ValueType> parse_value_type(std::string_view name) {
  const auto* const found = std::find(kValueTypeNames.begin(), kValueTypeNames.end(), name);
  if (found == kValueTypeNames.end()) return std::nullopt;
  return static_cast<ValueType>(found - kValueTypeNames.begin());
}

IdRange<NodeId> Graph::body_nodes(NodeId owner) const {
  const auto found =
      std::lower_bound(bodies_.begin(), bodies_.end(), owner,
                       [](const BodyRange& body, NodeId id) { return body.owner < id; });
  if (found == bodies_.end() || found->owner != owner) return {};
  return {found->first, found->last};
}

std::span<const Operand> Graph::operands(NodeId id) const {
  return row(operands_, operand_begin_, id);
}

IdRange<ValueId> Graph::outputs(NodeId id) const {
  return {output_begin_[index(id)], output_end_[index(id)]};
}

std::span<const ValueId> Graph::module_parameters(NodeId id) const {
  return row(module_parameters_, module_parameter_begin_, id);
}

std::span<const Attribute> Graph::attributes(NodeId id) const {
  return row(attributes_, attribute_begin_, id);
}

const MeasuredCost* Graph::measured_cost(NodeId id) const {
  if (measured_.empty() || index(id) >= measured_.size()) return nullptr;
  const MeasuredCost& cost = measured_[index(id)];
  return cost.flops < 0 && cost.time_us < 0 && cost.bytes < 0 ? nullptr : &cost;
}

std::span<const NodeId> Graph::users(ValueId id) const {
  const std::uint32_t first = user_begin_[index(id)];
  return std::span(users_).subspan(first, user_begin_[index(id) + 1] - first);
}

std::span<const NodeId> Graph::readers(NodeId id) const {
  const std::uint32_t first = user_begin_[output_begin_[index(id)]];
  return std::span(users_).subspan(first, user_begin_[output_end_[index(id)]] - first);
}

Shape Graph::shape(ValueId id) const {
  const ShapeId shape = value(id).shape;
  if (shape == kNone<ShapeId>) return {};
  const std::uint32_t first = shape_begin_[index(shape)];
  return std::span(dims_).subspan(first, shape_begin_[index(shape) + 1] - first);
}

ValueId Graph::canonical_parameter(ValueId id) const {
  if (alias_.empty()) return id;
  const auto found = alias_.find(index(id));
  return found == alias_.end() ? id : found->second;
}

SourceSpan Graph::declaration(ValueId id) const {
  return index(id) < declarations_.size() ? declarations_[index(id)] : SourceSpan{};
}

NameId Graph::find_name(std::string_view text) const {
  return NameId{name_table_.find(text, [this](std::uint32_t i) { return names_[i]; })};
}

}  // namespace cleave
