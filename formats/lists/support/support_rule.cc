#include "formats/lists/support/support_rule.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/condition/relation.h"
#include "formats/lists/support/condition_fields.h"
#include "formats/lists/support/support_reader.h"

namespace cleave {

// The rules of native support lists. The fields of a rule are a table: name, reader.

namespace {

// ---- conditions: each function reads one field of a rule ----

void read_name(JsonWalk& json, const std::string& what, std::string& name) {
  const std::size_t at = json.offset();
  const auto text = json.take_text(what);
  if (!text) return;
  if (text->empty()) json.faults().error(at, what + " is empty");
  name = *text;
}

void read_op(JsonWalk& json, Rule& rule) {
  const std::size_t at = json.offset();
  std::string name;
  read_name(json, "\"op\"", name);
  if (!name.empty()) set_op(name, at, json.faults(), rule);
}

void read_node_name(JsonWalk& json, Rule& rule) { read_name(json, "\"name\"", rule.node_name); }

void read_domain(JsonWalk& json, Rule& rule) {
  const std::size_t at = json.offset();
  if (const auto domain = json.take_text("\"domain\"")) {
    set_domain(*domain, at, json.faults(), rule);
  }
}

void read_unchecked(JsonWalk& json, Rule& rule) {
  if (const auto text = json.take_text("\"unchecked\"")) rule.unchecked = *text;
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

void read_inputs(JsonWalk& json, Rule& rule) {
  if (json.type() != JsonType::list) return read_every_input(json, rule);
  read_positions(json, "\"inputs\"", rule.inputs);
}

void read_outputs(JsonWalk& json, Rule& rule) { read_positions(json, "\"outputs\"", rule.outputs); }

void read_kwargs(JsonWalk& json, Rule& rule) {
  json.each_field("\"kwargs\"", "an object", [&](const std::string& name, std::size_t) {
    if (const auto types = read_types(json, escaped_in_quotes(name)))
      rule.kwargs.emplace_back(name, *types);
  });
}

void read_input_dtype(JsonWalk& json, Rule& rule) {
  TypeSet& types = rule.input_dtype.emplace();
  if (json.type() == JsonType::string) return read_type(json, types);
  json.each_item("\"input_dtype\"", "a dtype or a list of them", [&] { read_type(json, types); });
}

// ---- attributes ----

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

// `is_absent`: whether the node must not state the attribute, or must; nullopt: neither is asked.
void read_range(JsonWalk& json, const std::string& what, AttributeRule& rule,
                std::optional<bool>& is_absent) {
  json.each_field(what, "an object", [&](const std::string& key, std::size_t at) {
    if (key == "absent" || key == "stated") {
      if (json.take_flag(escaped_in_quotes(key)).value_or(false)) is_absent = key == "absent";
    } else if (key == "min") {
      rule.min = json.take_real("\"min\"");
    } else if (key == "max") {
      rule.max = json.take_real("\"max\"");
    } else {
      json.pass_unknown(at, key, "a range", {"min", "max", "absent", "stated"});
    }
  });
}

// Reads which values of the attribute the rule accepts; returns whether the node must not state it, or
// must; nullopt when the rule asks for a value.
std::optional<bool> read_attribute(JsonWalk& json, std::size_t at, AttributeRule& rule) {
  std::optional<bool> is_absent;
  const std::string what = "attribute " + escaped_in_quotes(rule.name);
  TextFaults& faults = json.faults();
  const std::size_t errors_before = faults.errors().size();
  if (json.type() == JsonType::object) {
    read_range(json, what, rule, is_absent);
  } else if (json.type() == JsonType::list) {
    json.each_item(what, "a list", [&] { read_accepted(json, what, rule); });
  } else {
    read_accepted(json, what, rule);
  }
  if (json.is_over() || faults.errors().size() > errors_before) return is_absent;
  const bool accepts_any = rule.accepted.empty() && !rule.min && !rule.max;
  if (is_absent && !accepts_any) {
    faults.error(at, what + (*is_absent ? " cannot be absent and have a value"
                                        : " is stated where it has a value: leave out \"stated\""));
  }
  if (!is_absent && accepts_any) {
    faults.error(
        at,
        what +
            " accepts no value: give a value, a list of values, or {\"min\": ..., \"max\": ...}");
  }
  if (rule.min && rule.max && *rule.min > *rule.max) {
    faults.error(at, what + " accepts no value: \"min\" is above \"max\"");
  }
  return is_absent;
}

void read_attributes(JsonWalk& json, Rule& rule) {
  json.each_field("\"attributes\"", "an object", [&](const std::string& key, std::size_t at) {
    AttributeRule attribute;
    attribute.name = key;
    if (const auto is_absent = read_attribute(json, at, attribute)) {
      rule.conditions.emplace_back(AbsentAttributeCondition{key, *is_absent});
    } else {
      rule.attributes.push_back(std::move(attribute));
    }
  });
}

// ---- shapes ----

void read_multiples(JsonWalk& json, ShapeRule& rule) {
  constexpr std::int64_t kLeastAxis = -1'000'000;
  constexpr std::string_view kWanted = "an object like {\"1\": 16}";
  json.each_field("\"multiple_of\"", kWanted, [&](const std::string& key, std::size_t at) {
    const auto axis = number_of_key(key, kLeastAxis);
    const auto factor = json.take_integer("a factor", 1);
    if (!axis) {
      json.faults().error(
          at, escaped_in_quotes(key) + " is not an axis: \"multiple_of\" goes by number");
    }
    if (axis && factor) rule.multiple_of.emplace_back(*axis, *factor);
  });
}

void read_shape(JsonWalk& json, const InputPlace& input, ShapeRule& shape, Rule& rule) {
  json.each_field("a shape rule", "an object", [&](const std::string& key, std::size_t at) {
    if (key == "rank") {
      read_rank(json, input, shape, rule);
    } else if (key == "max_dim") {
      shape.max_dim = json.take_integer("\"max_dim\"", 0);
    } else if (key == "static") {
      shape.is_static = json.take_flag("\"static\"").value_or(false);
    } else if (key == "multiple_of") {
      read_multiples(json, shape);
    } else if (key == "dims") {
      read_dims(json, input, rule);
    } else {
      json.pass_unknown(at, key, "a shape rule",
                        {"rank", "static", "max_dim", "multiple_of", "dims"});
    }
  });
}

void read_shapes(JsonWalk& json, Rule& rule) {
  json.each_field("\"shapes\"", "an object", [&](const std::string& key, std::size_t at) {
    const auto input = input_of_key(key);
    if (!input) {
      json.faults().error(
          at, escaped_in_quotes(key) + " is not an input: \"shapes\" goes by number, {\"0\": ...}");
      json.skip();
      return;
    }
    ShapeRule shape;
    shape.input = input->position;
    shape.if_given = input->if_given;
    const std::size_t conditions = rule.conditions.size();
    read_shape(json, *input, shape, rule);
    const bool asks = shape.rank || shape.is_static || shape.max_dim || !shape.multiple_of.empty();
    if (asks || rule.conditions.size() == conditions) rule.shapes.push_back(std::move(shape));
  });
}

// ---- rules ----

enum class RuleKind : std::uint8_t { any, allow, deny };

struct RuleField {
  std::string_view name;
  void (*read)(JsonWalk&, Rule&);
  bool is_condition = true;
  RuleKind kind = RuleKind::any;
};

constexpr std::array<RuleField, 12> kRuleFields = {{
    {"op", read_op},
    {"domain", read_domain, false},
    {"opset", read_opset},
    {"inputs", read_inputs},
    {"outputs", read_outputs},
    {"kwargs", read_kwargs},
    {"attributes", read_attributes},
    {"shapes", read_shapes},
    {"name", read_node_name},
    {"input_dtype", read_input_dtype, true, RuleKind::deny},
    {"why", read_why, false},
    {"unchecked", read_unchecked, false, RuleKind::allow},
}};

// Fields that a list may give for all of its allow rules.
constexpr std::array<std::string_view, 4> kDefaultFields = {"opset", "inputs", "input_shape",
                                                            "max_rank"};

std::uint32_t default_field_bit(std::string_view name) {
  const auto* const found = std::find(kDefaultFields.begin(), kDefaultFields.end(), name);
  return found == kDefaultFields.end() ? 0 : 1U << (found - kDefaultFields.begin());
}

std::optional<RuleField> find_field(std::string_view name) {
  for (const RuleField& field : kRuleFields) {
    if (field.name == name) return field;
  }
  for (const ConditionField& field : condition_fields()) {
    if (field.name == name) return RuleField{field.name, field.read};
  }
  return std::nullopt;
}

std::vector<std::string_view> rule_field_names() {
  std::vector<std::string_view> names;
  for (const RuleField& field : kRuleFields) names.push_back(field.name);
  for (const ConditionField& field : condition_fields()) names.push_back(field.name);
  return names;
}

// Reads one rule as an object.
class RuleReader {
 public:
  RuleReader(JsonWalk& json, Verdict verdict, Rule& rule)
      : json_(json), verdict_(verdict), rule_(rule) {}

  StatedFields read() {
    const std::size_t begin = json_.offset();
    json_.each_field("a rule", "the name of an op or an object",
                     [&](const std::string& key, std::size_t at) { read_field(key, at); });
    if (json_.is_over()) return stated_;
    if (verdict_ == Verdict::allow && !has_op_) {
      json_.faults().error(begin, "an allow rule needs \"op\"");
    }
    if (verdict_ == Verdict::deny && !has_condition_) {
      json_.faults().error(begin,
                           "a deny rule needs \"op\", \"name\", \"input_dtype\" or a condition");
    }
    if (!has_op_ && has_domain_) rule_.op = "*";
    return stated_;
  }

 private:
  void read_field(const std::string& key, std::size_t at) {
    const auto field = find_field(key);
    if (!field) return json_.pass_unknown(at, key, "a rule", rule_field_names());
    if (field->kind == RuleKind::deny && verdict_ == Verdict::allow) {
      json_.faults().error(at, escaped_in_quotes(key) + " is for deny rules only");
    }
    if (field->kind == RuleKind::allow && verdict_ == Verdict::deny) {
      json_.faults().error(at, escaped_in_quotes(key) + " is for allow rules only");
    }
    has_condition_ = has_condition_ || field->is_condition;
    has_op_ = has_op_ || key == "op";
    has_domain_ = has_domain_ || key == "domain";
    stated_ |= default_field_bit(key);
    // null: the list's default for this field does not apply to this rule.
    const bool is_none = default_field_bit(key) != 0 && json_.type() == JsonType::null;
    is_none ? json_.skip() : field->read(json_, rule_);
  }

  JsonWalk& json_;
  Verdict verdict_;
  Rule& rule_;
  StatedFields stated_ = 0;
  bool has_condition_ = false;
  bool has_op_ = false;
  bool has_domain_ = false;
};

std::uint32_t default_field_of(const Condition& condition) {
  const bool is_of_types = std::holds_alternative<EveryInputCondition>(condition) ||
                           std::holds_alternative<SameInputsCondition>(condition);
  if (is_of_types) return default_field_bit("inputs");
  if (std::holds_alternative<MaxRankCondition>(condition)) return default_field_bit("max_rank");
  return default_field_bit("input_shape");
}

}  // namespace

void read_type(JsonWalk& json, TypeSet& types) {
  const std::size_t at = json.offset();
  const auto name = json.take_text("a dtype");
  if (!name) return;
  if (const auto added = add_type(types, *name); !added) json.faults().error(at, added.error());
}

StatedFields read_rule(JsonWalk& json, Verdict verdict, Rule& rule) {
  if (json.type() == JsonType::object) return RuleReader(json, verdict, rule).read();
  if (json.type() == JsonType::string) {
    read_op(json, rule);
  } else {
    json.refuse("a rule", "the name of an op or an object");
  }
  return 0;
}

void read_defaults(JsonWalk& json, Rule& defaults) {
  json.each_field("\"defaults\"", "an object", [&](const std::string& key, std::size_t at) {
    const auto field = default_field_bit(key) == 0 ? std::nullopt : find_field(key);
    if (field) return field->read(json, defaults);
    json.pass_unknown(at, key, "\"defaults\"", {kDefaultFields.begin(), kDefaultFields.end()});
  });
}

void apply_defaults(const Rule& defaults, StatedFields stated, Rule& rule) {
  const auto is_open = [&](std::uint32_t bit) { return (stated & bit) == 0; };
  if (is_open(default_field_bit("opset")) && defaults.opset) rule.opset = defaults.opset;
  if (is_open(default_field_bit("inputs")) && !defaults.inputs.empty()) {
    rule.inputs = defaults.inputs;
  }
  for (const Condition& condition : defaults.conditions) {
    if (is_open(default_field_of(condition))) rule.conditions.push_back(condition);
  }
}

// Steps of reading a pattern:
// 1. read the fields; keep the places of ops, edges and relations;
// 2. check the graph that ops and edges make;
// 3. read the relations, which may name any op.

namespace {

constexpr std::string_view kEdgeWanted = "a pair of ops like [0, 1], or {\"from\": 0, \"to\": 1}";

// A text of the file and where it begins.
struct PlacedText {
  std::size_t at;
  std::string text;
};

class PatternReader {
 public:
  PatternReader(JsonWalk& json, PlaceCounter& places, Pattern& pattern)
      : json_(json), places_(places), pattern_(pattern) {}

  std::vector<StatedFields> read() {
    const std::size_t begin = json_.offset();
    const std::size_t errors_before = json_.faults().errors().size();
    places_.mark(pattern_, begin);
    json_.each_field("a pattern",
                     "an object like {\"name\": ..., \"ops\": [...], \"edges\": [...]}",
                     [&](const std::string& key, std::size_t at) { read_field(key, at); });
    if (json_.is_over() || json_.faults().errors().size() > errors_before) {
      return std::move(stated_);
    }
    if (pattern_.name.empty()) json_.faults().error(begin, "a pattern needs \"name\"");
    check_graph(begin);
    read_relations();
    return std::move(stated_);
  }

 private:
  void read_field(const std::string& key, std::size_t at) {
    if (key == "name") return read_text("\"name\"", pattern_.name);
    if (key == "why") return read_text("\"why\"", pattern_.why);
    if (key == "unchecked") return read_text("\"unchecked\"", pattern_.unchecked);
    if (key == "ops") return json_.each_item("\"ops\"", "a list of ops", [&] { read_op(); });
    if (key == "edges") {
      return json_.each_item("\"edges\"", "a list of edges like [0, 1]", [&] { read_edge(); });
    }
    if (key == "where") return read_where();
    json_.pass_unknown(at, key, "a pattern", {"name", "ops", "edges", "where", "why", "unchecked"});
  }

  void read_text(const std::string& what, std::string& text) {
    const std::size_t at = json_.offset();
    const auto read = json_.take_text(what);
    if (!read) return;
    if (read->empty()) json_.faults().error(at, what + " is empty");
    text = *read;
  }

  void read_op() {
    const std::size_t at = json_.offset();
    op_places_.push_back(at);
    Rule& rule = pattern_.ops.emplace_back();
    places_.mark(rule, at);
    stated_.push_back(read_rule(json_, Verdict::allow, rule));
    if (!rule.unchecked.empty()) {
      json_.faults().error(at, "\"unchecked\" is for the pattern, not for one of its ops");
    }
  }

  // ---- edges ----

  void read_edge() {
    edge_places_.push_back(json_.offset());
    PatternEdge& edge = pattern_.graph.edges.emplace_back();
    if (json_.type() == JsonType::list) return read_pair(edge);
    const std::size_t at = json_.offset();
    bool has_from = false, has_to = false;
    json_.each_field("an edge", kEdgeWanted, [&](const std::string& key, std::size_t place) {
      if (key == "from") {
        has_from = read_number("\"from\"", edge.from);
      } else if (key == "to") {
        has_to = read_number("\"to\"", edge.to);
      } else if (key == "output") {
        read_number("\"output\"", edge.output.emplace());
      } else if (key == "input") {
        read_number("\"input\"", edge.input.emplace());
      } else {
        json_.pass_unknown(place, key, "an edge", {"from", "to", "output", "input"});
      }
    });
    if (json_.is_over() || (has_from && has_to)) return;
    json_.faults().error(at, "an edge needs \"from\" and \"to\"");
  }

  void read_pair(PatternEdge& edge) {
    const std::size_t at = json_.offset();
    std::vector<std::uint32_t> ends;
    json_.each_item("an edge", kEdgeWanted, [&] {
      std::uint32_t end = 0;
      if (read_number("an op", end)) ends.push_back(end);
    });
    if (json_.is_over()) return;
    if (ends.size() != 2) {
      return json_.faults().error(at, "an edge must be " + std::string(kEdgeWanted));
    }
    edge.from = ends[0];
    edge.to = ends[1];
  }

  bool read_number(std::string_view what, std::uint32_t& number) {
    constexpr std::int64_t kMost = OperandSlot::kMaxPosition;
    const std::size_t at = json_.offset();
    const auto read = json_.take_integer(what, 0);
    if (!read) return false;
    if (*read > kMost) {
      json_.faults().error(at, std::string(what) + " is too large");
      return false;
    }
    number = static_cast<std::uint32_t>(*read);
    return true;
  }

  // ---- the graph ----

  void check_graph(std::size_t begin) {
    pattern_.graph.op_count = pattern_.ops.size();
    const auto fault = find_pattern_fault(pattern_.graph);
    if (!fault) return;
    switch (fault->kind) {
      case PatternFault::Kind::no_op:
        return json_.faults().error(begin, "a pattern needs \"ops\": at least one");
      case PatternFault::Kind::too_many_ops:
        return json_.faults().error(op_places_[PatternGraph::kMostOps],
                                    "a pattern has at most " +
                                        std::to_string(PatternGraph::kMostOps) + " ops, this has " +
                                        std::to_string(pattern_.ops.size()));
      case PatternFault::Kind::too_many_edges:
        return json_.faults().error(
            edge_places_[PatternGraph::kMostEdges],
            "a pattern has at most " + std::to_string(PatternGraph::kMostEdges) + " edges");
      case PatternFault::Kind::no_such_op:
        return json_.faults().error(edge_places_[fault->at],
                                    "an edge names an op that is not there: ops are counted from "
                                    "0, the last is " +
                                        std::to_string(pattern_.ops.size() - 1));
      case PatternFault::Kind::repeated_edge:
        return json_.faults().error(edge_places_[fault->at], "the edge is given twice");
      case PatternFault::Kind::cycle:
        return json_.faults().error(edge_places_[fault->at],
                                    "the edges form a cycle, which no model has");
      case PatternFault::Kind::unconnected:
        return json_.faults().error(op_places_[fault->at],
                                    "no edges connect this op with the first one: a pattern is "
                                    "one connected piece");
    }
  }

  // ---- relations ----

  void read_where() {
    const auto take = [&] {
      const std::size_t at = json_.offset();
      if (auto text = json_.take_text("\"where\"")) where_.push_back({at, *std::move(text)});
    };
    if (json_.type() == JsonType::string) return take();
    json_.each_item("\"where\"", "a relation or a list of them", take);
  }

  void read_relations() {
    for (const PlacedText& one : where_) {
      auto relation = parse_pattern_relation(one.text, pattern_.ops.size());
      if (relation) {
        pattern_.where.push_back(*std::move(relation));
      } else {
        report_relation(json_, one.at, one.text, relation.error());
      }
    }
  }

  JsonWalk& json_;
  PlaceCounter& places_;
  Pattern& pattern_;
  std::vector<StatedFields> stated_;
  std::vector<std::size_t> op_places_, edge_places_;
  std::vector<PlacedText> where_;
};

}  // namespace

std::vector<StatedFields> read_pattern(JsonWalk& json, PlaceCounter& places, Pattern& pattern) {
  return PatternReader(json, places, pattern).read();
}

}  // namespace cleave
