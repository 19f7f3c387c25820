#include "formats/lists/support_file.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <variant>
#include <vector>

namespace cleave {

namespace {

std::string key_of(const InputPlace& input) {
  return std::to_string(input.position) + (input.if_given ? "?" : "");
}

std::string key_of(const QuantizedCondition& condition) {
  using Of = QuantizedCondition::Of;
  if (condition.of == Of::activations) return "activations";
  if (condition.of == Of::every) return "all";
  return (condition.of == Of::output ? "out" : "") + key_of(condition.place);
}

// The conditions of one kind, in the order of the rule.
template <class Kind>
std::vector<const Kind*> conditions_of(const Rule& rule) {
  std::vector<const Kind*> found;
  for (const Condition& condition : rule.conditions) {
    if (const auto* const one = std::get_if<Kind>(&condition)) found.push_back(one);
  }
  return found;
}

void write_literal(JsonText& json, const Literal& literal) {
  if (const auto* const text = std::get_if<std::string>(&literal)) return json.text(*text);
  if (const auto* const real = std::get_if<double>(&literal)) return json.number(*real);
  json.number(std::get<std::int64_t>(literal));
}

void write_literals(JsonText& json, std::string_view key, const std::vector<Literal>& list) {
  json.begin_list(key);
  for (const Literal& literal : list) write_literal(json, literal);
  json.end_list();
}

void write_integers(JsonText& json, std::string_view key, const std::vector<std::int64_t>& list) {
  json.begin_list(key);
  for (const std::int64_t number : list) json.number(number);
  json.end_list();
}

void write_integer_rule(JsonText& json, const IntegerRule& rule) {
  if (!rule.one_of.empty()) write_integers(json, "equals", rule.one_of);
  if (rule.min) json.number("min", *rule.min);
  if (rule.max) json.number("max", *rule.max);
  if (rule.multiple_of) json.number("multiple_of", *rule.multiple_of);
}

// ---- shapes ----

std::vector<InputPlace> places_of_shapes(const Rule& rule) {
  std::vector<InputPlace> places;
  const auto add = [&](const InputPlace& place) {
    if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  };
  for (const ShapeRule& shape : rule.shapes) add({shape.input, shape.if_given});
  for (const auto* const rank : conditions_of<RankCondition>(rule)) add(rank->input);
  for (const auto* const dim : conditions_of<DimCondition>(rule)) add(dim->input);
  return places;
}

void write_shape_rule(JsonText& json, const ShapeRule& shape) {
  if (shape.rank) json.number("rank", *shape.rank);
  if (shape.is_static) json.flag("static", true);
  if (shape.max_dim) json.number("max_dim", *shape.max_dim);
  if (shape.multiple_of.empty()) return;
  json.begin_object("multiple_of");
  for (const auto& [axis, factor] : shape.multiple_of) {
    json.text_key(std::to_string(axis));
    json.number(factor);
  }
  json.end_object();
}

void write_dims(JsonText& json, const InputPlace& place, const Rule& rule) {
  std::vector<const DimCondition*> dims = conditions_of<DimCondition>(rule);
  std::erase_if(dims, [&](const DimCondition* dim) { return !(dim->input == place); });
  if (dims.empty()) return;
  json.begin_object("dims");
  for (const DimCondition* const dim : dims) {
    json.text_key(std::to_string(dim->axis));
    json.begin_object();
    if (dim->size == IntegerRule{}) json.flag("static", true);
    write_integer_rule(json, dim->size);
    json.end_object();
  }
  json.end_object();
}

void write_shapes_of(JsonText& json, const InputPlace& place, const Rule& rule) {
  for (const ShapeRule& shape : rule.shapes) {
    if (InputPlace{shape.input, shape.if_given} == place) write_shape_rule(json, shape);
  }
  for (const auto* const rank : conditions_of<RankCondition>(rule)) {
    if (!(rank->input == place)) continue;
    const IntegerRule& wanted = rank->rank;
    if (!wanted.min && !wanted.max && !wanted.multiple_of) {
      write_integers(json, "rank", wanted.one_of);
      continue;
    }
    json.begin_object("rank");
    write_integer_rule(json, wanted);
    json.end_object();
  }
  write_dims(json, place, rule);
}

// ---- values ----

void write_values(JsonText& json, const ValuesCondition& wanted) {
  json.begin_object();
  if (wanted.list) write_literals(json, "list", *wanted.list);
  const bool has_each =
      !wanted.one_of.empty() || wanted.min || wanted.max || wanted.power_of_two || wanted.finite;
  if (has_each) {
    json.begin_object("each");
    if (!wanted.one_of.empty()) write_literals(json, "one_of", wanted.one_of);
    if (wanted.min) json.number("min", *wanted.min);
    if (wanted.max) json.number("max", *wanted.max);
    if (wanted.power_of_two) json.flag("power_of_two", true);
    if (wanted.finite) json.flag("finite", true);
    json.end_object();
  }
  json.end_object();
}

void write_type_names(JsonText& json, const TypeSet& types) {
  for (unsigned i = 1; i < unsigned{kDTypeCount}; ++i) {
    if ((types.dtypes >> i & 1U) != 0) json.text(dtype_name(static_cast<DType>(i)));
  }
  for (unsigned i = 0; i <= static_cast<unsigned>(ValueType::unknown); ++i) {
    if ((unsigned{types.value_types} >> i & 1U) != 0) {
      json.text(value_type_name(static_cast<ValueType>(i)));
    }
  }
}

}  // namespace

void write_types(JsonText& json, const TypeSet& types) {
  json.begin_list();
  write_type_names(json, types);
  json.end_list();
}

void write_attribute_value(JsonText& json, const AttributeValue& value) {
  if (const auto* const list = std::get_if<std::vector<Literal>>(&value)) {
    json.begin_list();
    for (const Literal& literal : *list) write_literal(json, literal);
    json.end_list();
  } else if (const auto* const text = std::get_if<std::string>(&value)) {
    json.text(*text);
  } else if (const auto* const real = std::get_if<double>(&value)) {
    json.number(*real);
  } else {
    json.number(std::get<std::int64_t>(value));
  }
}

void write_shapes(JsonText& json, const Rule& rule) {
  const std::vector<InputPlace> places = places_of_shapes(rule);
  if (places.empty()) return;
  json.begin_object("shapes");
  for (const InputPlace& place : places) {
    json.text_key(key_of(place));
    json.begin_object();
    write_shapes_of(json, place, rule);
    json.end_object();
  }
  json.end_object();
}

void write_every_input(JsonText& json, const Rule& rule) {
  const auto types = conditions_of<EveryInputCondition>(rule);
  const bool is_same = !conditions_of<SameInputsCondition>(rule).empty();
  if (types.empty() && !is_same) return;
  json.begin_object("inputs");
  if (!types.empty()) {
    json.key("all");
    write_types(json, types.front()->types);
  }
  if (is_same) json.flag("same", true);
  json.end_object();
}

void write_condition_fields(JsonText& json, const Rule& rule) {
  if (const auto all = conditions_of<ConstantCondition>(rule); !all.empty()) {
    json.begin_object("constant");
    for (const auto* const one : all) {
      json.text_key(key_of(one->input));
      json.flag(one->wanted);
    }
    json.end_object();
  }
  if (const auto all = conditions_of<ValuesCondition>(rule); !all.empty()) {
    json.begin_object("values");
    for (const auto* const one : all) {
      json.text_key(key_of(one->input));
      write_values(json, *one);
    }
    json.end_object();
  }
  if (const auto all = conditions_of<LayoutCondition>(rule); !all.empty()) {
    json.begin_object("layout");
    for (const auto* const one : all) {
      json.begin_list(key_of(one->input));
      for (std::size_t i = 0; i < kLayoutNames.size(); ++i) {
        if (one->one_of.contains(static_cast<LayoutName>(i))) json.text(kLayoutNames[i]);
      }
      json.end_list();
    }
    json.end_object();
  }
  if (const auto all = conditions_of<QuantizedCondition>(rule); !all.empty()) {
    json.begin_object("quantized");
    for (const auto* const one : all) {
      json.begin_list(key_of(*one));
      for (std::size_t i = 0; i < kQuantizationWays.size(); ++i) {
        if (one->wanted.has(static_cast<QuantizationSet::Way>(i))) json.text(kQuantizationWays[i]);
      }
      write_type_names(json, one->wanted.types);
      if (one->wanted.as_input_0) json.text("same");
      json.end_list();
    }
    json.end_object();
  }
  if (const auto all = conditions_of<GivenCondition>(rule); !all.empty()) {
    json.begin_object("given");
    for (const auto* const one : all) {
      json.text_key(std::to_string(one->input));
      json.flag(one->wanted);
    }
    json.end_object();
  }
  for (const auto* const used : conditions_of<OutputsUsedCondition>(rule)) {
    json.begin_list("outputs_used");
    for (const std::uint32_t output : used->outputs) json.number(output);
    json.end_list();
  }
  for (const auto* const shape : conditions_of<InputShapeCondition>(rule)) {
    constexpr std::array<std::string_view, 3> kNames = {"static", "batched", "open"};
    json.text("input_shape", kNames[static_cast<std::size_t>(shape->shape)]);
  }
  for (const auto* const rank : conditions_of<MaxRankCondition>(rule)) {
    json.number("max_rank", rank->most);
  }
  if (const auto all = conditions_of<RelationCondition>(rule); !all.empty()) {
    json.begin_list("where");
    for (const auto* const one : all) {
      if (one->why.empty()) {
        json.text(one->relation.text);
        continue;
      }
      json.begin_object(JsonText::Layout::one_line);
      json.text("relation", one->relation.text);
      json.text("why", one->why);
      json.end_object();
    }
    json.end_list();
  }
}

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
  std::vector<const AbsentAttributeCondition*> absent;
  for (const Condition& condition : rule.conditions) {
    const auto* const one = std::get_if<AbsentAttributeCondition>(&condition);
    if (one != nullptr) absent.push_back(one);
  }
  if (rule.attributes.empty() && absent.empty()) return;
  json.begin_object("attributes");
  for (const AbsentAttributeCondition* const one : absent) {
    json.text_key(one->name);
    json.begin_object();
    json.flag(one->wanted ? "absent" : "stated", true);
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
