#include "core/condition/attribute_value.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/condition/implied_attribute.h"
#include "core/graph/domain.h"
#include "core/graph/node_lookup.h"

namespace cleave {
namespace {

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

// ---- keys ----

std::string key_of(std::int64_t value) { return "i" + std::to_string(value); }

// Numbers that equal_values() finds equal have one key: the key of 1.0 is that of 1.
std::string key_of(double value) {
  const bool is_whole = value >= -0x1p63 && value < 0x1p63 && std::trunc(value) == value;
  if (is_whole) return key_of(static_cast<std::int64_t>(value));
  return "d" + std::to_string(std::hash<double>()(value));
}

std::string key_of(const std::string& value) { return "s" + value; }

std::string key_of(const std::vector<Literal>& values) {
  std::string key = "[";
  for (const Literal& value : values) {
    key += std::visit([](const auto& item) { return key_of(item); }, value) + '\0';
  }
  return key;
}

}  // namespace

std::optional<AttributeValue> attribute_value(const Graph& graph, NodeId node,
                                              std::string_view name, const OpFacts& facts) {
  if (const Attribute* attribute = find_attribute(graph, node, name)) {
    if (attribute->type == AttributeType::opaque) return std::nullopt;
    return value_of(graph.attribute_pools(), *attribute);
  }
  if (!facts.default_attribute) return std::nullopt;
  const auto opset = imported_opset(graph, graph.domain(node));  // none in torch's models
  auto value = facts.default_attribute(graph.domain(node), graph.op(node), opset.value_or(0), name);
  return value || !opset ? value : implied_attribute(graph, node, name);
}

bool equal_values(const AttributeValue& a, const AttributeValue& b) {
  const auto* list_a = std::get_if<std::vector<Literal>>(&a);
  const auto* list_b = std::get_if<std::vector<Literal>>(&b);
  if ((list_a == nullptr) != (list_b == nullptr)) return false;
  if (!list_a) return equal(*literal_of(a), *literal_of(b));
  return std::equal(list_a->begin(), list_a->end(), list_b->begin(), list_b->end(),
                    [](const Literal& x, const Literal& y) { return equal(x, y); });
}

std::string value_key(const AttributeValue& value) {
  return std::visit([](const auto& item) { return key_of(item); }, value);
}

}  // namespace cleave
