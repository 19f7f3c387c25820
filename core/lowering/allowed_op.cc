#include "core/lowering/allowed_op.h"

#include <algorithm>

#include "core/graph/op_name.h"

namespace cleave {

void AllowedOp::add(const Graph& graph, NodeId node, const OpFacts& facts) {
  if (const auto opset = opset_of(graph, node, facts)) {
    if (!rule_.opset) rule_.opset = OpsetRule{.lowest = *opset, .highest = *opset};
    rule_.opset->lowest = std::min(rule_.opset->lowest, *opset);
    rule_.opset->highest = std::max(rule_.opset->highest, *opset);
  }
  rule_.domain = plain_domain(graph.domain(node));
  rule_.op = graph.op(node);
  add_dtypes(graph, node);
}

Rule AllowedOp::rule() const {
  Rule rule = rule_;
  rule.inputs.assign(inputs_.begin(), inputs_.end());
  return rule;
}

void AllowedOp::add_dtypes(const Graph& graph, NodeId node) {
  std::vector<TypeSet> types;
  for (const Operand& operand : graph.operands(node)) {
    const Value& value = graph.value(operand.value);
    const bool is_plain = operand.slot.is_positional() && !operand.slot.is_inside_list() &&
                          operand.slot.position() == types.size();
    if (!is_plain || !value.is_tensor() || value.dtype == DType::unknown) break;
    types.emplace_back().add(value.dtype);
  }
  if (is_first_) inputs_ = types;
  is_first_ = false;
  inputs_.resize(std::min(inputs_.size(), types.size()));
  for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].dtypes |= types[i].dtypes;
}

}  // namespace cleave
