#include "core/cost/node_view.h"

#include "core/graph/node_lookup.h"

namespace cleave {

Count operator/(Count a, Count b) {
  if (!a || !b) return std::nullopt;
  return *b == 0 ? 0 : *a / *b;
}

std::optional<ValueId> NodeView::input(std::uint32_t position, std::string_view keyword) const {
  const Operand* operand = find_plain_input(graph_, node_, position);
  if (!operand && !keyword.empty()) operand = find_plain_keyword(graph_, node_, keyword);
  if (!operand || !graph_.value(operand->value).is_tensor()) return std::nullopt;
  return operand->value;
}

std::optional<ValueId> NodeView::output(std::size_t i) const {
  const auto outputs = graph_.outputs(node_);
  if (i >= outputs.size()) return std::nullopt;
  return outputs[i];
}

std::optional<ValueId> NodeView::weight(std::uint32_t position, std::size_t least_rank) const {
  if (const auto operand = input(position, "weight")) return operand;
  for (const ValueId parameter : graph_.module_parameters(node_)) {
    if (rank(parameter) >= least_rank) return parameter;
  }
  return std::nullopt;
}

Count NodeView::elements(std::optional<ValueId> value) const {
  if (!value || !graph_.value(*value).is_tensor() || !graph_.has_rank(*value)) return std::nullopt;
  const auto count = element_count(graph_.shape(*value));
  if (!count) return std::nullopt;
  return static_cast<double>(*count);
}

Count NodeView::dim_from_end(std::optional<ValueId> value, std::size_t back) const {
  if (!value || !graph_.has_rank(*value)) return std::nullopt;
  const Shape shape = graph_.shape(*value);
  if (shape.size() < back) return std::nullopt;
  const std::int64_t size = shape[shape.size() - back].counted_size();
  if (size < 0) return std::nullopt;
  return static_cast<double>(size);
}

std::size_t NodeView::rank(std::optional<ValueId> value) const {
  return value && graph_.has_rank(*value) ? graph_.shape(*value).size() : 0;
}

std::vector<std::int64_t> NodeView::integers(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    const Attribute* attribute = find_attribute(graph_, node_, name);
    if (!attribute) continue;
    if (attribute->type != AttributeType::integer && attribute->type != AttributeType::integers &&
        attribute->type != AttributeType::boolean) {
      continue;
    }
    const auto span = graph_.attribute_pools().integers_of(*attribute);
    return {span.begin(), span.end()};
  }
  return {};
}

bool NodeView::is_set(std::initializer_list<std::string_view> names) const {
  const auto values = integers(names);
  return !values.empty() && values.front() != 0;
}

std::string_view NodeView::text(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    const Attribute* attribute = find_attribute(graph_, node_, name);
    if (!attribute || attribute->type != AttributeType::string) continue;
    return graph_.attribute_pools().strings_of(*attribute).front();
  }
  return {};
}

}  // namespace cleave
