#include "core/graph/graph.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "core/graph/graph_records.h"

namespace cleave {
namespace {

constexpr std::array<std::string_view, 9> kValueTypeNames = {
    "tensor", "tuple", "list", "scalar", "sequence", "map", "optional", "none", "unknown"};

}  // namespace

std::string_view value_type_name(ValueType type) {
  return kValueTypeNames[static_cast<std::size_t>(type)];
}

std::optional<ValueType> parse_value_type(std::string_view name) {
  const auto* const found = std::find(kValueTypeNames.begin(), kValueTypeNames.end(), name);
  if (found == kValueTypeNames.end()) return std::nullopt;
  return static_cast<ValueType>(found - kValueTypeNames.begin());
}

Graph::Graph(GraphRecords&& records)
    : records_(std::make_shared<const GraphRecords>(std::move(records))),
      node_count_(records_->node_count),
      constant_count_(records_->constant_count),
      input_count_(records_->input_count),
      first_node_output_(records_->first_node_output),
      nodes_(records_->nodes),
      values_(records_->values),
      operand_begin_(records_->operand_begin),
      operands_(records_->operands),
      output_begin_(records_->output_begin),
      output_end_(records_->output_end),
      attribute_begin_(records_->attribute_begin),
      attributes_(records_->attributes),
      attribute_pools_(&records_->attribute_pools),
      user_begin_(records_->user_begin),
      users_(records_->users),
      is_output_(records_->is_output),
      shape_begin_(records_->shape_begin),
      dims_(records_->dims),
      names_(records_->names) {}

std::string_view Graph::name() const { return records_->name; }

IdRange<NodeId> Graph::body_nodes(NodeId owner) const {
  const auto& bodies = records_->bodies;
  const auto found = std::lower_bound(
      bodies.begin(), bodies.end(), owner,
      [](const GraphRecords::BodyRange& body, NodeId id) { return body.owner < id; });
  if (found == bodies.end() || found->owner != owner) return {};
  return {found->first, found->last};
}

std::span<const ValueId> Graph::outputs() const { return records_->outputs; }

std::span<const Operand> Graph::operands(NodeId id) const {
  return csr_row(operands_, operand_begin_, index(id));
}

IdRange<ValueId> Graph::outputs(NodeId id) const {
  return {output_begin_[index(id)], output_end_[index(id)]};
}

std::span<const ValueId> Graph::module_parameters(NodeId id) const {
  return records_->module_parameters_of(index(id));
}

std::span<const Attribute> Graph::attributes(NodeId id) const {
  return csr_row(attributes_, attribute_begin_, index(id));
}

const MeasuredCost* Graph::measured_cost(NodeId id) const {
  const auto& measured = records_->measured;
  if (measured.empty() || index(id) >= measured.size()) return nullptr;
  const MeasuredCost& cost = measured[index(id)];
  return cost.flops < 0 && cost.time_us < 0 && cost.bytes < 0 ? nullptr : &cost;
}

std::span<const NodeId> Graph::users(ValueId id) const {
  return csr_row(users_, user_begin_, index(id));
}

std::span<const NodeId> Graph::readers(NodeId id) const {
  const std::uint32_t first = user_begin_[output_begin_[index(id)]];
  return users_.subspan(first, user_begin_[output_end_[index(id)]] - first);
}

std::span<const NodeId> Graph::followers(NodeId id) const {
  if (order_ == nullptr) return {};
  return csr_row<NodeId>(order_->followers, order_->follower_begin, index(id));
}

std::span<const NodeId> Graph::leaders(NodeId id) const {
  if (order_ == nullptr) return {};
  return csr_row<NodeId>(order_->leaders, order_->leader_begin, index(id));
}

Shape Graph::shape(ValueId id) const {
  const ShapeId shape = value(id).shape;
  if (shape == kNone<ShapeId>) return {};
  return csr_row(dims_, shape_begin_, index(shape));
}

Graph Graph::with_shapes(const ShapeOverlay& shapes) const {
  Graph seen = *this;
  if (shapes.empty()) return seen;
  OtherShapes other{{values_.begin(), values_.end()},
                    {shape_begin_.begin(), shape_begin_.end()},
                    {dims_.begin(), dims_.end()}};
  ValueSet known(values_.size());
  for (const ShapeOverlay::OfValue& of : shapes.of_values()) {
    if (!known.insert(of.value)) continue;
    const Shape dims = shapes.shape(of);
    other.values[index(of.value)].shape = id_at<ShapeId>(other.shape_begin.size() - 1);
    other.dims.insert(other.dims.end(), dims.begin(), dims.end());
    other.shape_begin.push_back(static_cast<std::uint32_t>(other.dims.size()));
  }
  seen.other_shapes_ = std::make_shared<const OtherShapes>(std::move(other));
  seen.values_ = seen.other_shapes_->values;
  seen.shape_begin_ = seen.other_shapes_->shape_begin;
  seen.dims_ = seen.other_shapes_->dims;
  return seen;
}

Graph Graph::with_order(std::span<const RunOrder> order) const {
  Graph ordered = *this;
  ordered.order_ = nullptr;
  if (order.empty()) return ordered;
  OrderEdges edges;
  edges.follower_begin.assign(node_count_ + 1, 0);
  edges.leader_begin.assign(node_count_ + 1, 0);
  for (const RunOrder& pair : order) {
    assert(pair.before < pair.after && index(pair.after) < node_count_);
    ++edges.follower_begin[index(pair.before) + 1];
    ++edges.leader_begin[index(pair.after) + 1];
  }
  for (std::size_t i = 0; i < node_count_; ++i) {
    edges.follower_begin[i + 1] += edges.follower_begin[i];
    edges.leader_begin[i + 1] += edges.leader_begin[i];
  }
  edges.followers.resize(order.size());
  edges.leaders.resize(order.size());
  std::vector<std::uint32_t> next_follower(edges.follower_begin), next_leader(edges.leader_begin);
  for (const RunOrder& pair : order) {
    edges.followers[next_follower[index(pair.before)]++] = pair.after;
    edges.leaders[next_leader[index(pair.after)]++] = pair.before;
  }
  ordered.order_ = std::make_shared<const OrderEdges>(std::move(edges));
  return ordered;
}

ValueId Graph::canonical_parameter(ValueId id) const {
  const auto& alias = records_->alias;
  if (alias.empty()) return id;
  const auto found = alias.find(index(id));
  return found == alias.end() ? id : found->second;
}

SourceSpan Graph::declaration(ValueId id) const {
  const auto& declarations = records_->declarations;
  return index(id) < declarations.size() ? declarations[index(id)] : SourceSpan{};
}

NameId Graph::find_name(std::string_view text) const { return records_->find_name(text); }

std::span<const OpsetImport> Graph::opsets() const { return records_->opsets; }

}  // namespace cleave
