// The rules of native support lists. The fields of a rule are a table: name, reader.
#include "formats/support/support_rule.h"
#include "formats/support/support_reader.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/graph/domain.h"

namespace cleave {
namespace {

// ---- conditions: each function reads one field of a rule ----

void read_name(JsonWalk& json, const std::string& what, std::string& name) {
  const std::size_t at = json.offset();
  const auto text = json.take_text(what);
  if (!text) return;
  if (text->empty()) json.faults().error(at, what + " is empty");
  name = *text;
}

void read_op(JsonWalk& json, Rule& rule) { read_name(json, "\"op\"", rule.op); }

void read_node_name(JsonWalk& json, Rule& rule) { read_name(json, "\"name\"", rule.node_name); }

void read_domain(JsonWalk& json, Rule& rule) {
  if (const auto domain = json.take_text("\"domain\"")) rule.domain = plain_domain(*domain);
}

void read_why(JsonWalk& json, Rule& rule) {
  if (const auto why = json.take_text("\"why\"")) rule.why = *why;
}

void read_opset(JsonWalk& json, Rule& rule) {
  constexpr std::string_view kWanted = "[lowest, highest]";
  const std::size_t at = json.offset();
  const std::size_t errors_before = json.faults().errors().size();
  std::vector<std::int64_t> bounds;
  json.each_item("\"opset\"", kWanted, [&] {
    if (const auto bound = json.take_integer("an opset", 1)) bounds.push_back(*bound);
  });
  if (json.is_over() || json.faults().errors().size() > errors_before) return;
  if (bounds.size() != 2 || bounds[0] > bounds[1]) {
    json.faults().error(at, "\"opset\" must be [lowest, highest]");
    return;
  }
  rule.opset = OpsetRule{.lowest = bounds[0], .highest = bounds[1]};
}

void read_type(JsonWalk& json, TypeSet& types) {
  const std::size_t at = json.offset();
  const auto name = json.take_text("a dtype");
  if (!name) return;
  if (const auto added = add_type(types, *name); !added) json.faults().error(at, added.error());
}

// null, or a list of dtypes.
MaybeTypes read_types(JsonWalk& json, const std::string& what) {
  if (json.type() == JsonType::null) {
    json.skip();
    return std::nullopt;
  }
  TypeSet types;
  json.each_item(what, "a list of dtypes or null", [&] { read_type(json, types); });
  return types;
}

void read_positions(JsonWalk& json, const std::string& what, std::vector<MaybeTypes>& positions) {
  json.each_item(what, "a list that has a list of dtypes, or null, for each position", [&] {
    positions.push_back(read_types(json, what + " at " + std::to_string(positions.size())));
  });
}

void read_inputs(JsonWalk& json, Rule& rule) { read_positions(json, "\"inputs\"", rule.inputs); }

void read_outputs(JsonWalk& json, Rule& rule) { read_positions(json, "\"outputs\"", rule.outputs); }

void read_kwargs(JsonWalk& json, Rule& rule) {
  json.each_field("\"kwargs\"", "an object", [&](const std::string& name, std::size_t) {
    if (const auto types = read_types(json, quoted(name))) rule.kwargs.emplace_back(name, *types);
  });
}

void read_input_dtype(JsonWalk& json, Rule& rule) {
  TypeSet& types = rule.input_dtype.emplace();
  if (json.type() == JsonType::string) return read_type(json, types);
  json.each_item("\"input_dtype\"", "a dtype or a list of them", [&] { read_type(json, types); });
}

// ---- attributes ----

std::optional<Literal> take_literal(JsonWalk& json, const std::string& what) {
  switch (json.type()) {
    case JsonType::string:
      if (auto text = json.take_text(what)) return Literal(std::move(*text));
      return std::nullopt;
    case JsonType::boolean:
      return Literal(std::int64_t{*json.take_flag(what) ? 1 : 0});
    case JsonType::number: {
      const JsonNumber number = json.take_number();
      if (const auto integer = number.integer()) return Literal(*integer);
      return Literal(number.real());
    }
    default:
      json.refuse(what, "a number, a string, true or false, or a list of values");
      return std::nullopt;
  }
}

AttributeValue as_value(const Literal& literal) {
  return std::visit([](const auto& value) { return AttributeValue(value); }, literal);
}

// A literal, or a list of literals.
void read_accepted(JsonWalk& json, const std::string& what, AttributeRule& rule) {
  if (json.type() != JsonType::list) {
    if (const auto literal = take_literal(json, what)) rule.accepted.push_back(as_value(*literal));
    return;
  }
  std::vector<Literal> list;
  json.each_item(what, "a list", [&] {
    if (auto literal = take_literal(json, what)) list.push_back(std::move(*literal));
  });
  rule.accepted.emplace_back(std::move(list));
}

void read_range(JsonWalk& json, const std::string& what, AttributeRule& rule) {
  json.each_field(what, "an object", [&](const std::string& key, std::size_t at) {
    if (key == "min") {
      rule.min = json.take_real("\"min\"");
    } else if (key == "max") {
      rule.max = json.take_real("\"max\"");
    } else {
      json.pass_unknown(at, key, "a range", {"min", "max"});
    }
  });
}

void read_attribute(JsonWalk& json, std::size_t at, AttributeRule& rule) {
  const std::string what = "attribute " + quoted(rule.name);
  TextFaults& faults = json.faults();
  const std::size_t errors_before = faults.errors().size();
  if (json.type() == JsonType::object) {
    read_range(json, what, rule);
  } else if (json.type() == JsonType::list) {
    json.each_item(what, "a list", [&] { read_accepted(json, what, rule); });
  } else {
    read_accepted(json, what, rule);
  }
  if (json.is_over() || faults.errors().size() > errors_before) return;
  if (rule.accepted.empty() && !rule.min && !rule.max) {
    faults.error(
        at,
        what +
            " accepts no value: give a value, a list of values, or {\"min\": ..., \"max\": ...}");
  }
  if (rule.min && rule.max && *rule.min > *rule.max) {
    faults.error(at, what + " accepts no value: \"min\" is above \"max\"");
  }
}

void read_attributes(JsonWalk& json, Rule& rule) {
  json.each_field("\"attributes\"", "an object", [&](const std::string& key, std::size_t at) {
    AttributeRule& attribute = rule.attributes.emplace_back();
    attribute.name = key;
    read_attribute(json, at, attribute);
  });
}

// ---- shapes ----

// A key that is a number: "0", "-1".
std::optional<std::int64_t> number_of(std::string_view key, std::int64_t least) {
  std::int64_t number = 0;
  const char* const end = key.data() + key.size();
  const auto parsed = std::from_chars(key.data(), end, number);
  constexpr std::int64_t kMost = OperandSlot::kMaxPosition;
  if (parsed.ec != std::errc{} || parsed.ptr != end || number < least || number > kMost) {
    return std::nullopt;
  }
  return number;
}

void read_multiples(JsonWalk& json, ShapeRule& rule) {
  constexpr std::int64_t kLeastAxis = -1'000'000;
  constexpr std::string_view kWanted = "an object like {\"1\": 16}";
  json.each_field("\"multiple_of\"", kWanted, [&](const std::string& key, std::size_t at) {
    const auto axis = number_of(key, kLeastAxis);
    const auto factor = json.take_integer("a factor", 1);
    if (!axis) {
      json.faults().error(at, quoted(key) + " is not an axis: \"multiple_of\" goes by number");
    }
    if (axis && factor) rule.multiple_of.emplace_back(*axis, *factor);
  });
}

void read_shape(JsonWalk& json, ShapeRule& rule) {
  json.each_field("a shape rule", "an object", [&](const std::string& key, std::size_t at) {
    if (key == "rank") {
      rule.rank = json.take_integer("\"rank\"", 0);
    } else if (key == "max_dim") {
      rule.max_dim = json.take_integer("\"max_dim\"", 0);
    } else if (key == "static") {
      rule.is_static = json.take_flag("\"static\"").value_or(false);
    } else if (key == "multiple_of") {
      read_multiples(json, rule);
    } else {
      json.pass_unknown(at, key, "a shape rule", {"rank", "static", "max_dim", "multiple_of"});
    }
  });
}

void read_shapes(JsonWalk& json, Rule& rule) {
  json.each_field("\"shapes\"", "an object", [&](const std::string& key, std::size_t at) {
    const auto input = number_of(key, 0);
    if (!input) {
      json.faults().error(
          at, quoted(key) + " is not an input: \"shapes\" goes by number, {\"0\": ...}");
      json.skip();
      return;
    }
    ShapeRule& shape = rule.shapes.emplace_back();
    shape.input = static_cast<std::uint32_t>(*input);
    read_shape(json, shape);
  });
}

// ---- rules ----

struct RuleField {
  std::string_view name;
  void (*read)(JsonWalk&, Rule&);
  bool is_condition = true;
  bool is_deny_only = false;
};

constexpr std::array<RuleField, 11> kRuleFields = {{
    {"op", read_op},
    {"domain", read_domain, false},
    {"opset", read_opset},
    {"inputs", read_inputs},
    {"outputs", read_outputs},
    {"kwargs", read_kwargs},
    {"attributes", read_attributes},
    {"shapes", read_shapes},
    {"name", read_node_name, true, true},
    {"input_dtype", read_input_dtype, true, true},
    {"why", read_why, false},
}};

std::vector<std::string_view> rule_field_names() {
  std::vector<std::string_view> names;
  names.reserve(kRuleFields.size());
  for (const RuleField& field : kRuleFields) names.push_back(field.name);
  return names;
}

void read_rule_object(JsonWalk& json, Verdict verdict, Rule& rule) {
  const std::size_t begin = json.offset();
  bool has_condition = false;
  bool has_op = false;
  json.each_field("a rule", "the name of an op or an object",
                  [&](const std::string& key, std::size_t at) {
                    const auto* const field =
                        std::find_if(kRuleFields.begin(), kRuleFields.end(),
                                     [&](const RuleField& known) { return known.name == key; });
                    if (field == kRuleFields.end()) {
                      return json.pass_unknown(at, key, "a rule", rule_field_names());
                    }
                    if (field->is_deny_only && verdict == Verdict::allow) {
                      json.faults().error(at, quoted(key) + " is for deny rules only");
                    }
                    has_condition = has_condition || field->is_condition;
                    has_op = has_op || key == "op";
                    field->read(json, rule);
                  });
  if (json.is_over()) return;
  if (verdict == Verdict::allow && !has_op)
    json.faults().error(begin, "an allow rule needs \"op\"");
  if (verdict == Verdict::deny && !has_condition) {
    json.faults().error(begin,
                        "a deny rule needs \"op\", \"name\", \"input_dtype\" or a condition");
  }
}

}  // namespace

void read_rule(JsonWalk& json, Verdict verdict, Rule& rule) {
  if (json.type() == JsonType::string) return read_op(json, rule);
  if (json.type() == JsonType::object) return read_rule_object(json, verdict, rule);
  json.refuse("a rule", "the name of an op or an object");
}

}  // namespace cleave
