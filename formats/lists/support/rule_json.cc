#include "formats/lists/support/rule_json.h"

#include <cassert>
#include <string>
#include <variant>
#include <vector>

#include "formats/lists/support/condition_json.h"

namespace cleave {
namespace {

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

void write_attributes(JsonText& json, const Rule& rule) {
  std::vector<const std::string*> absent;
  for (const Condition& condition : rule.conditions) {
    const auto* const one = std::get_if<AbsentAttributeCondition>(&condition);
    if (one != nullptr) absent.push_back(&one->name);
  }
  if (rule.attributes.empty() && absent.empty()) return;
  json.begin_object("attributes");
  for (const std::string* const name : absent) {
    json.text_key(*name);
    json.begin_object();
    json.flag("absent", true);
    json.end_object();
  }
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
      write_attribute_value(json, accepted);
    }
    json.end_list();
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
  write_every_input(json, rule);
  write_positions(json, "outputs", rule.outputs);
  write_keywords(json, rule);
  write_attributes(json, rule);
  write_shapes(json, rule);
  write_condition_fields(json, rule);
  if (!rule.node_name.empty()) json.text("name", rule.node_name);
}

void write_edge(JsonText& json, const PatternEdge& edge) {
  json.begin_object(JsonText::Layout::one_line);
  json.number("from", edge.from);
  json.number("to", edge.to);
  if (edge.output) json.number("output", *edge.output);
  if (edge.input) json.number("input", *edge.input);
  json.end_object();
}

}  // namespace

void write_allow_rule(JsonText& json, const Rule& rule) {
  json.begin_object(JsonText::Layout::one_line);
  write_conditions(json, rule);
  if (!rule.why.empty()) json.text("why", rule.why);
  if (!rule.unchecked.empty()) json.text("unchecked", rule.unchecked);
  json.end_object();
}

void write_pattern(JsonText& json, const Pattern& pattern) {
  json.begin_object();
  json.text("name", pattern.name);
  json.begin_list("ops");
  for (const Rule& op : pattern.ops) write_allow_rule(json, op);
  json.end_list();
  json.begin_list("edges");
  for (const PatternEdge& edge : pattern.graph.edges) write_edge(json, edge);
  json.end_list();
  if (!pattern.where.empty()) {
    json.begin_list("where");
    for (const Relation& relation : pattern.where) json.text(relation.text);
    json.end_list();
  }
  if (!pattern.why.empty()) json.text("why", pattern.why);
  if (!pattern.unchecked.empty()) json.text("unchecked", pattern.unchecked);
  json.end_object();
}

void write_deny_rule(JsonText& json, const Rule& rule) {
  json.begin_object(JsonText::Layout::one_line);
  write_conditions(json, rule);
  if (rule.input_dtype) {
    json.key("input_dtype");
    write_types(json, *rule.input_dtype);
  }
  if (!rule.why.empty()) json.text("why", rule.why);
  json.end_object();
}

}  // namespace cleave
