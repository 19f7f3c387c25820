#include "core/support/rule_check.h"

#include <algorithm>
#include <utility>

namespace cleave {
namespace {

using What = FailedPart::What;

// ---- attributes ----

bool is_list(AttributeType type) {
  return type == AttributeType::integers || type == AttributeType::reals ||
         type == AttributeType::strings;
}

AttributeValue value_of(Literal literal) {
  return std::visit([](auto& value) -> AttributeValue { return std::move(value); }, literal);
}

AttributeValue value_of(const AttributePools& pools, const Attribute& attribute) {
  std::vector<Literal> items;
  items.reserve(attribute.count);
  switch (attribute.type) {
    case AttributeType::integer:
    case AttributeType::boolean:
    case AttributeType::integers:
      for (const std::int64_t item : pools.integers_of(attribute)) items.emplace_back(item);
      break;
    case AttributeType::real:
    case AttributeType::reals:
      for (const double item : pools.reals_of(attribute)) items.emplace_back(item);
      break;
    case AttributeType::string:
    case AttributeType::strings:
      for (const std::string_view item : pools.strings_of(attribute)) {
        items.emplace_back(std::string(item));
      }
      break;
    case AttributeType::opaque:
      break;
  }
  if (is_list(attribute.type)) return items;
  return value_of(std::move(items.front()));
}

// Integers compare with reals as numbers; 2^53 + 1 is not 2^53.
bool equal(const Literal& a, const Literal& b) {
  if (a.index() == b.index()) return a == b;
  const auto* integer = std::get_if<std::int64_t>(&a);
  const auto* real = std::get_if<double>(&b);
  if (!integer || !real) {
    integer = std::get_if<std::int64_t>(&b);
    real = std::get_if<double>(&a);
  }
  if (!integer || !real) return false;
  return *real >= -0x1p63 && *real < 0x1p63 && static_cast<std::int64_t>(*real) == *integer &&
         static_cast<double>(static_cast<std::int64_t>(*real)) == *real;
}

std::optional<Literal> literal_of(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return std::nullopt;
}

bool equal(const AttributeValue& a, const AttributeValue& b) {
  const auto* list_a = std::get_if<std::vector<Literal>>(&a);
  const auto* list_b = std::get_if<std::vector<Literal>>(&b);
  if ((list_a == nullptr) != (list_b == nullptr)) return false;
  if (!list_a) return equal(*literal_of(a), *literal_of(b));
  return std::equal(list_a->begin(), list_a->end(), list_b->begin(), list_b->end(),
                    [](const Literal& x, const Literal& y) { return equal(x, y); });
}

bool in_range(const Literal& literal, const AttributeRule& rule) {
  double number = 0;
  if (const auto* integer = std::get_if<std::int64_t>(&literal)) {
    number = static_cast<double>(*integer);
  } else if (const auto* real = std::get_if<double>(&literal)) {
    number = *real;
  } else {
    return false;
  }
  return (!rule.min || number >= *rule.min) && (!rule.max || number <= *rule.max);
}

// A list of numbers is in range when all of them are.
bool accepts(const AttributeRule& rule, const AttributeValue& value) {
  if (!rule.accepted.empty()) {
    return std::any_of(rule.accepted.begin(), rule.accepted.end(),
                       [&](const AttributeValue& accepted) { return equal(accepted, value); });
  }
  if (const auto* list = std::get_if<std::vector<Literal>>(&value)) {
    return std::all_of(list->begin(), list->end(),
                       [&](const Literal& item) { return in_range(item, rule); });
  }
  return in_range(*literal_of(value), rule);
}

// ---- shapes ----

bool is_multiple(Shape shape, std::pair<std::int64_t, std::int64_t> axis_and_factor) {
  const auto axis = axis_of(axis_and_factor.first, shape.size());
  if (!axis || !shape[*axis].is_fixed() || axis_and_factor.second <= 0) return false;
  return shape[*axis].size() % axis_and_factor.second == 0;
}

void find_failed_clauses(const Graph& graph, ValueId value, const ShapeRule& rule,
                         std::uint32_t item, std::vector<FailedCondition>& failed) {
  const bool ranked = graph.value(value).is_tensor() && graph.has_rank(value);
  const Shape shape = ranked ? graph.shape(value) : Shape{};
  const auto fail = [&](std::uint32_t clause) { failed.push_back({What::shape, item, clause}); };
  const auto all = [&](auto holds) {
    return ranked && std::all_of(shape.begin(), shape.end(), holds);
  };
  if (rule.rank && (!ranked || static_cast<std::int64_t>(shape.size()) != *rule.rank))
    fail(FailedCondition::kRank);
  if (rule.is_static && !all([](Dim dim) { return dim.is_fixed(); }))
    fail(FailedCondition::kStatic);
  if (rule.max_dim &&
      !all([&](Dim dim) { return dim.is_fixed() && dim.size() <= *rule.max_dim; })) {
    fail(FailedCondition::kMaxDim);
  }
  for (std::uint32_t i = 0; i < rule.multiple_of.size(); ++i) {
    if (!ranked || !is_multiple(shape, rule.multiple_of[i]))
      fail(FailedCondition::kFirstMultiple + i);
  }
}

// ---- opsets ----

bool opset_holds(const Graph& graph, NodeId node, const OpsetRule& rule, const OpFacts& facts) {
  const auto opset = imported_opset(graph, graph.domain(node));
  if (!opset) return false;
  if (!rule.same_schema) return *opset >= rule.lowest && *opset <= rule.highest;
  if (*opset == rule.lowest) return true;
  if (!facts.schema_version) return false;
  const auto version = facts.schema_version(graph.domain(node), graph.op(node), *opset);
  return version != 0 &&
         version == facts.schema_version(graph.domain(node), graph.op(node), rule.lowest);
}

}  // namespace

bool names_op(const Rule& rule, std::string_view domain, std::string_view op) {
  if (rule.op.empty()) return true;
  return plain_domain(rule.domain) == plain_domain(domain) &&
         (rule.op == op || (is_glob(rule.op) && glob_match(rule.op, op)));
}

const Operand* find_plain_input(const Graph& graph, NodeId node, std::uint32_t position) {
  const auto operands = graph.operands(node);
  const auto at =
      std::partition_point(operands.begin(), operands.end(), [position](const Operand& operand) {
        return operand.slot.is_positional() && operand.slot.position() < position;
      });
  if (at == operands.end() || at->slot != OperandSlot::positional(position)) return nullptr;
  return &*at;
}

const Operand* find_plain_keyword(const Graph& graph, NodeId node, std::string_view name) {
  for (const Operand& operand : graph.operands(node)) {
    const OperandSlot slot = operand.slot;
    if (slot.is_keyword() && !slot.is_inside_list() && graph.text(slot.name()) == name) {
      return &operand;
    }
  }
  return nullptr;
}

const Attribute* find_attribute(const Graph& graph, NodeId node, std::string_view name) {
  for (const Attribute& attribute : graph.attributes(node)) {
    if (graph.text(attribute.name) == name) return &attribute;
  }
  return nullptr;
}

std::optional<AttributeValue> attribute_value(const Graph& graph, NodeId node,
                                              std::string_view name, const OpFacts& facts) {
  if (const Attribute* attribute = find_attribute(graph, node, name)) {
    if (attribute->type == AttributeType::opaque) return std::nullopt;
    return value_of(graph.attribute_pools(), *attribute);
  }
  if (!facts.default_attribute) return std::nullopt;
  const auto opset = imported_opset(graph, graph.domain(node));
  if (!opset) return std::nullopt;
  return facts.default_attribute(graph.domain(node), graph.op(node), *opset, name);
}

bool TypeSet::accepts(const Value& value) const {
  if (value.is_tensor()) return (dtypes >> static_cast<unsigned>(value.dtype) & 1U) != 0;
  return (unsigned{value_types} >> static_cast<unsigned>(value.type) & 1U) != 0;
}

std::string_view plain_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view{} : domain;
}

std::optional<std::int64_t> imported_opset(const Graph& graph, std::string_view domain) {
  for (const OpsetImport& import : graph.opsets()) {
    if (plain_domain(import.domain) == plain_domain(domain)) return import.version;
  }
  return std::nullopt;
}

void find_failed_conditions(const Graph& graph, NodeId node, const Rule& rule, const OpFacts& facts,
                            std::vector<FailedCondition>& failed) {
  for (std::uint32_t i = 0; i < rule.inputs.size(); ++i) {
    if (!rule.inputs[i]) continue;
    const Operand* input = find_plain_input(graph, node, i);
    if (input && !rule.inputs[i]->accepts(graph.value(input->value))) {
      failed.push_back({What::input, i});
    }
  }
  for (const ValueId output : graph.outputs(node)) {
    const std::uint32_t slot = graph.value(output).slot;
    if (slot >= rule.outputs.size() || !rule.outputs[slot]) continue;
    if (!rule.outputs[slot]->accepts(graph.value(output))) failed.push_back({What::output, slot});
  }
  for (std::uint32_t i = 0; i < rule.kwargs.size(); ++i) {
    const Operand* kwarg = find_plain_keyword(graph, node, rule.kwargs[i].first);
    if (kwarg && !rule.kwargs[i].second.accepts(graph.value(kwarg->value))) {
      failed.push_back({What::kwarg, i});
    }
  }
  for (std::uint32_t i = 0; i < rule.attributes.size(); ++i) {
    const AttributeRule& attribute = rule.attributes[i];
    const auto value = attribute_value(graph, node, attribute.name, facts);
    if (!value || !accepts(attribute, *value)) failed.push_back({What::attribute, i});
  }
  for (std::uint32_t i = 0; i < rule.shapes.size(); ++i) {
    const Operand* input = find_plain_input(graph, node, rule.shapes[i].input);
    if (input) find_failed_clauses(graph, input->value, rule.shapes[i], i, failed);
  }
  if (rule.opset && !opset_holds(graph, node, *rule.opset, facts)) failed.push_back({What::opset});
}

bool has_input_of(const Graph& graph, NodeId node, const TypeSet& types) {
  const auto operands = graph.operands(node);
  return std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
    return !graph.is_parameter(operand.value) && types.accepts(graph.value(operand.value));
  });
}

}  // namespace cleave
