#include "formats/support/rule_json.h"

#include <cassert>
#include <string>
#include <variant>

namespace cleave {
namespace {

void write_types(JsonText& json, const TypeSet& types) {
  json.begin_list();
  for (unsigned i = 1; i < unsigned{kDTypeCount}; ++i) {
    if ((types.dtypes >> i & 1U) != 0) json.text(dtype_name(static_cast<DType>(i)));
  }
  for (unsigned i = 0; i <= static_cast<unsigned>(ValueType::unknown); ++i) {
    if ((unsigned{types.value_types} >> i & 1U) != 0) {
      json.text(value_type_name(static_cast<ValueType>(i)));
    }
  }
  json.end_list();
}

void write_positions(JsonText& json, std::string_view key, const std::vector<MaybeTypes>& types) {
  if (types.empty()) return;
  json.begin_list(key);
  for (const MaybeTypes& at : types) at ? write_types(json, *at) : json.null();
  json.end_list();
}

void write_keywords(JsonText& json, const Rule& rule) {
  if (rule.kwargs.empty()) return;
  json.begin_object("kwargs");
  for (const auto& [name, types] : rule.kwargs) {
    json.text_key(name);
    write_types(json, types);
  }
  json.end_object();
}

void write_value(JsonText& json, std::int64_t value) { json.number(value); }
void write_value(JsonText& json, double value) { json.number(value); }
void write_value(JsonText& json, const std::string& value) { json.text(value); }
void write_value(JsonText& json, const std::vector<Literal>& list) {
  json.begin_list();
  for (const Literal& item : list) {
    std::visit([&](const auto& value) { write_value(json, value); }, item);
  }
  json.end_list();
}

void write_attributes(JsonText& json, const Rule& rule) {
  if (rule.attributes.empty()) return;
  json.begin_object("attributes");
  for (const AttributeRule& attribute : rule.attributes) {
    json.text_key(attribute.name);
    if (attribute.accepted.empty()) {
      json.begin_object();
      if (attribute.min) json.number("min", *attribute.min);
      if (attribute.max) json.number("max", *attribute.max);
      json.end_object();
      continue;
    }
    json.begin_list();
    for (const AttributeValue& accepted : attribute.accepted) {
      std::visit([&](const auto& value) { write_value(json, value); }, accepted);
    }
    json.end_list();
  }
  json.end_object();
}

void write_shapes(JsonText& json, const Rule& rule) {
  if (rule.shapes.empty()) return;
  json.begin_object("shapes");
  for (const ShapeRule& shape : rule.shapes) {
    json.text_key(std::to_string(shape.input));
    json.begin_object();
    if (shape.rank) json.number("rank", *shape.rank);
    if (shape.is_static) json.flag("static", true);
    if (shape.max_dim) json.number("max_dim", *shape.max_dim);
    if (!shape.multiple_of.empty()) {
      json.begin_object("multiple_of");
      for (const auto& [axis, factor] : shape.multiple_of) {
        json.text_key(std::to_string(axis));
        json.number(factor);
      }
      json.end_object();
    }
    json.end_object();
  }
  json.end_object();
}

void write_conditions(JsonText& json, const Rule& rule) {
  assert(!rule.opset || !rule.opset->same_schema);
  if (!rule.op.empty()) json.text("op", rule.op);
  if (!rule.domain.empty()) json.text("domain", rule.domain);
  if (rule.opset) {
    json.begin_list("opset");
    json.number(rule.opset->lowest);
    json.number(rule.opset->highest);
    json.end_list();
  }
  write_positions(json, "inputs", rule.inputs);
  write_positions(json, "outputs", rule.outputs);
  write_keywords(json, rule);
  write_attributes(json, rule);
  write_shapes(json, rule);
}

}  // namespace

void write_allow_rule(JsonText& json, const Rule& rule) {
  json.begin_object(JsonText::Layout::one_line);
  write_conditions(json, rule);
  json.end_object();
}

void write_deny_rule(JsonText& json, const Rule& rule) {
  json.begin_object(JsonText::Layout::one_line);
  write_conditions(json, rule);
  if (!rule.node_name.empty()) json.text("name", rule.node_name);
  if (rule.input_dtype) {
    json.key("input_dtype");
    write_types(json, *rule.input_dtype);
  }
  if (!rule.why.empty()) json.text("why", rule.why);
  json.end_object();
}

}  // namespace cleave
