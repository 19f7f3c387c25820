// Reads one rule: its fields and conditions.

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/lists/condition.h"
#include "formats/lists/support_file.h"

namespace cleave {

// ---- condition fields ----

namespace {

constexpr std::int64_t kLeastAxis = -1'000'000;
constexpr std::int64_t kMostSlot = OperandSlot::kMaxPosition;

// Calls read(input) for each field of an object whose keys are inputs; read takes the value.
template <class Read>
void each_input(JsonWalk& json, std::string_view what, std::string_view wanted, Read read) {
  json.each_field(what, wanted, [&](const std::string& key, std::size_t at) {
    if (const auto input = input_of_key(key)) return read(*input);
    json.faults().error(at, escaped_in_quotes(key) + " is no input: " + std::string(what) +
                                " goes by number, \"0\", or \"0?\" for an input that may be left "
                                "out");
    json.skip();
  });
}

void read_constant(JsonWalk& json, Rule& rule) {
  each_input(json, "\"constant\"", "an object like {\"1\": true}", [&](const InputPlace& input) {
    if (const auto wanted = json.take_flag("\"constant\" of an input")) {
      rule.conditions.emplace_back(ConstantCondition{input, *wanted});
    }
  });
}

void read_given(JsonWalk& json, Rule& rule) {
  json.each_field(
      "\"given\"", "an object like {\"2\": false}", [&](const std::string& key, std::size_t at) {
        const auto input = number_of_key(key, 0);
        const auto wanted = json.take_flag("\"given\" of an input");
        if (!input) json.faults().error(at, escaped_in_quotes(key) + " is no input by number");
        if (!input || !wanted) return;
        rule.conditions.emplace_back(GivenCondition{static_cast<std::uint32_t>(*input), *wanted});
      });
}

void read_layout_name(JsonWalk& json, LayoutSet& layouts) {
  const std::size_t at = json.offset();
  const auto name = json.take_text("a layout");
  if (!name) return;
  const auto known = std::find(kLayoutNames.begin(), kLayoutNames.end(), *name);
  if (known != kLayoutNames.end()) {
    return layouts.add(static_cast<LayoutName>(known - kLayoutNames.begin()));
  }
  json.faults().error(at, "there is no layout " + escaped_in_quotes(*name) +
                              ": there are contiguous, channels_last, channels_last_3d, strided "
                              "and sparse");
}

void read_layout(JsonWalk& json, Rule& rule) {
  each_input(json, "\"layout\"", "an object like {\"0\": \"channels_last\"}",
             [&](const InputPlace& input) {
               LayoutCondition wanted{input, {}};
               if (json.type() == JsonType::string) {
                 read_layout_name(json, wanted.one_of);
               } else {
                 json.each_item("\"layout\" of an input", "a layout or a list of them",
                                [&] { read_layout_name(json, wanted.one_of); });
               }
               rule.conditions.emplace_back(wanted);
             });
}

// ---- quantisation ----

// A way of quantisation, or the type of the numbers.
void read_quantization_word(JsonWalk& json, QuantizationSet& wanted) {
  const std::size_t at = json.offset();
  const auto word = json.take_text("a way of quantisation");
  if (!word) return;
  using Way = QuantizationSet::Way;
  if (*word == "any") {
    for (const Way way : {Way::tensor, Way::axis, Way::other}) wanted.add(way);
    return;
  }
  const auto* const known = std::find(kQuantizationWays.begin(), kQuantizationWays.end(), *word);
  if (known != kQuantizationWays.end()) {
    return wanted.add(static_cast<Way>(known - kQuantizationWays.begin()));
  }
  if (*word == "same") {
    wanted.as_input_0 = true;
    return;
  }
  if (const auto dtype = parse_dtype(*word)) return wanted.types.add(*dtype);
  json.faults().error(at, escaped_in_quotes(*word) +
                              " is neither a way of quantisation (none, tensor, axis, other, "
                              "symmetric, any) nor the type of quantised numbers, such as int8, or "
                              "same for that of input 0");
}

// "0", "0?", "out0", "activations" or "all".
std::optional<QuantizedCondition> quantized_place(std::string_view key) {
  using Of = QuantizedCondition::Of;
  if (key == "activations") return QuantizedCondition{Of::activations, {}, {}};
  if (key == "all") return QuantizedCondition{Of::every, {}, {}};
  const bool is_output = key.starts_with("out");
  if (is_output) key.remove_prefix(3);
  const auto place = input_of_key(key);
  if (!place || (is_output && place->if_given)) return std::nullopt;
  return QuantizedCondition{is_output ? Of::output : Of::input, *place, {}};
}

void read_quantized(JsonWalk& json, Rule& rule) {
  json.each_field("\"quantized\"", "an object like {\"activations\": \"tensor\"}",
                  [&](const std::string& key, std::size_t at) {
                    auto condition = quantized_place(key);
                    if (!condition) {
                      json.faults().error(
                          at, escaped_in_quotes(key) +
                                  " is no tensor: \"quantized\" goes by input (\"0\", \"0?\"), "
                                  "output (\"out0\"), \"activations\" or \"all\"");
                      return json.skip();
                    }
                    if (json.type() == JsonType::string) {
                      read_quantization_word(json, condition->wanted);
                    } else {
                      json.each_item("\"quantized\" of a tensor", "a word or a list of words",
                                     [&] { read_quantization_word(json, condition->wanted); });
                    }
                    rule.conditions.emplace_back(*condition);
                  });
}

void read_outputs_used(JsonWalk& json, Rule& rule) {
  OutputsUsedCondition wanted;
  json.each_item("\"outputs_used\"", "a list of outputs by number", [&] {
    const std::size_t at = json.offset();
    const auto slot = json.take_integer("an output", 0);
    if (slot && *slot > kMostSlot) json.faults().error(at, "there is no such output");
    if (slot && *slot <= kMostSlot) wanted.outputs.push_back(static_cast<std::uint32_t>(*slot));
  });
  std::sort(wanted.outputs.begin(), wanted.outputs.end());
  rule.conditions.emplace_back(std::move(wanted));
}

void read_input_shape(JsonWalk& json, Rule& rule) {
  const std::size_t at = json.offset();
  const auto shape = json.take_text("\"input_shape\"");
  if (!shape) return;
  using Shape = InputShapeCondition::Shape;
  constexpr std::array<std::pair<std::string_view, Shape>, 3> kShapes = {
      {{"static", Shape::fixed}, {"batched", Shape::batched}, {"open", Shape::open}}};
  for (const auto& [name, meaning] : kShapes) {
    if (*shape == name) return void(rule.conditions.emplace_back(InputShapeCondition{meaning}));
  }
  json.faults().error(at, "\"input_shape\" must be \"static\", \"batched\" or \"open\", not " +
                              escaped_in_quotes(*shape));
}

void read_max_rank(JsonWalk& json, Rule& rule) {
  if (const auto most = json.take_integer("\"max_rank\"", 0)) {
    rule.conditions.emplace_back(MaxRankCondition{*most});
  }
}

// ---- relations ----

// The position in the file of a byte of a string: exact if no escape comes before it, else the
// start of the string.
std::size_t place_in_text(std::size_t start, const std::string& text, std::size_t at) {
  const std::size_t escaped = text.find_first_of("\"\\\n\t\r");
  return escaped < at ? start : start + 1 + at;
}

std::optional<Relation> take_relation(JsonWalk& json) {
  const std::size_t start = json.offset();
  const auto text = json.take_text("a relation");
  if (!text) return std::nullopt;
  auto relation = parse_relation(*text);
  if (relation) return *std::move(relation);
  report_relation(json, start, *text, relation.error());
  return std::nullopt;
}

// A relation, or one with the words for what it asks: {"relation": "...", "why": "..."}.
void read_relation(JsonWalk& json, Rule& rule) {
  if (json.type() != JsonType::object) {
    auto relation = take_relation(json);
    if (relation) rule.conditions.emplace_back(RelationCondition{*std::move(relation)});
    return;
  }
  const std::size_t start = json.offset();
  RelationCondition condition;
  bool is_read = false;
  json.each_field("a relation", "an object", [&](const std::string& key, std::size_t at) {
    if (key == "relation") {
      auto relation = take_relation(json);
      if (relation) condition.relation = *std::move(relation);
      is_read = true;
    } else if (key == "why") {
      condition.why = json.take_text("\"why\"").value_or("");
    } else {
      json.pass_unknown(at, key, "a relation", {"relation", "why"});
    }
  });
  if (!is_read) {
    json.faults().error(start, "an object in \"where\" needs the field \"relation\"");
  } else if (!condition.relation.terms.empty()) {
    rule.conditions.emplace_back(std::move(condition));
  }
}

// One relation, or a list of them, all of which must hold.
void read_where(JsonWalk& json, Rule& rule) {
  if (json.type() == JsonType::string) return read_relation(json, rule);
  json.each_item("\"where\"", "a relation or a list of them", [&] { read_relation(json, rule); });
}

// ---- values ----

void read_literals(JsonWalk& json, const std::string& what, std::vector<Literal>& list) {
  if (json.type() != JsonType::list) {
    if (auto literal = take_literal(json, what)) list.push_back(*std::move(literal));
    return;
  }
  json.each_item(what, "a list", [&] {
    if (auto literal = take_literal(json, what)) list.push_back(*std::move(literal));
  });
}

// Reads a field about each element. Returns false if the field is not about elements.
bool read_element_field(JsonWalk& json, const std::string& key, ValuesCondition& wanted) {
  if (key == "min") {
    wanted.min = json.take_real("\"min\"");
  } else if (key == "max") {
    wanted.max = json.take_real("\"max\"");
  } else if (key == "one_of") {
    read_literals(json, "\"one_of\"", wanted.one_of);
  } else if (key == "power_of_two") {
    wanted.power_of_two = json.take_flag("\"power_of_two\"").value_or(false);
  } else if (key == "finite") {
    wanted.finite = json.take_flag("\"finite\"").value_or(false);
  } else {
    return false;
  }
  return true;
}

void read_each(JsonWalk& json, ValuesCondition& wanted) {
  json.each_field(
      "\"each\"", "an object like {\"max\": 6}", [&](const std::string& key, std::size_t at) {
        if (read_element_field(json, key, wanted)) return;
        json.pass_unknown(at, key, "\"each\"", {"min", "max", "one_of", "power_of_two", "finite"});
      });
}

void read_values_object(JsonWalk& json, ValuesCondition& wanted) {
  json.each_field("\"values\" of an input", "an object",
                  [&](const std::string& key, std::size_t at) {
                    if (key == "all") return read_literals(json, "\"all\"", wanted.one_of);
                    if (key == "list")
                      return read_literals(json, "\"list\"", wanted.list.emplace());
                    if (key == "each") return read_each(json, wanted);
                    if (read_element_field(json, key, wanted)) return;
                    json.pass_unknown(
                        at, key, "\"values\" of an input",
                        {"all", "each", "list", "min", "max", "one_of", "power_of_two", "finite"});
                  });
}

void read_values_of(JsonWalk& json, const InputPlace& input, Rule& rule) {
  const std::size_t at = json.offset();
  const std::size_t errors_before = json.faults().errors().size();
  ValuesCondition wanted;
  wanted.input = input;
  if (json.type() == JsonType::object) {
    read_values_object(json, wanted);
  } else if (json.type() == JsonType::list) {
    read_literals(json, "\"values\"", wanted.list.emplace());
  } else {
    read_literals(json, "\"values\"", wanted.one_of);
  }
  if (json.is_over() || json.faults().errors().size() > errors_before) return;
  if (wanted == ValuesCondition{.input = input, .list = {}, .one_of = {}, .min = {}, .max = {}}) {
    json.faults().error(at,
                        "\"values\" of an input asks for nothing: give a number, a list, or "
                        "{\"each\": {\"max\": ...}}");
  }
  rule.conditions.emplace_back(std::move(wanted));
}

void read_values(JsonWalk& json, Rule& rule) {
  each_input(json, "\"values\"", "an object like {\"2\": {\"all\": 0}}",
             [&](const InputPlace& input) { read_values_of(json, input, rule); });
}

// ---- ranks and dims ----

void read_integers(JsonWalk& json, std::string_view what, std::vector<std::int64_t>& list) {
  json.each_item(what, "a list of numbers", [&] {
    if (const auto number = json.take_integer(what, 0)) list.push_back(*number);
  });
}

void read_integer_field(JsonWalk& json, const std::string& key, std::size_t at,
                        IntegerRule& wanted) {
  if (key == "min") {
    wanted.min = json.take_integer("\"min\"", 0);
  } else if (key == "max") {
    wanted.max = json.take_integer("\"max\"", 0);
  } else if (key == "multiple_of") {
    wanted.multiple_of = json.take_integer("\"multiple_of\"", 1);
  } else if (key == "equals" && json.type() == JsonType::list) {
    read_integers(json, "\"equals\"", wanted.one_of);
  } else if (key == "equals") {
    if (const auto size = json.take_integer("\"equals\"", 0)) wanted.one_of.push_back(*size);
  } else {
    json.pass_unknown(at, key, "a range", {"min", "max", "equals", "multiple_of", "static"});
  }
}

void read_dim(JsonWalk& json, const InputPlace& input, std::int64_t axis, Rule& rule) {
  DimCondition wanted{input, axis, {}};
  bool is_known = true;
  if (json.type() == JsonType::number) {
    if (const auto size = json.take_integer("a dim", 0)) wanted.size.one_of.push_back(*size);
  } else {
    json.each_field("a dim", "a number or an object like {\"max\": 64}",
                    [&](const std::string& key, std::size_t at) {
                      if (key != "static") return read_integer_field(json, key, at, wanted.size);
                      is_known = json.take_flag("\"static\"").value_or(true);
                    });
  }
  if (is_known || wanted.size != IntegerRule{}) rule.conditions.emplace_back(std::move(wanted));
}

constexpr std::array<ConditionField, 9> kFields = {{
    {"constant", read_constant},
    {"values", read_values},
    {"layout", read_layout},
    {"quantized", read_quantized},
    {"given", read_given},
    {"outputs_used", read_outputs_used},
    {"input_shape", read_input_shape},
    {"max_rank", read_max_rank},
    {"where", read_where},
}};

}  // namespace

std::span<const ConditionField> condition_fields() { return kFields; }

void report_relation(JsonWalk& json, std::size_t start, const std::string& text,
                     const RelationFault& fault) {
  json.faults().error(place_in_text(start, text, fault.at), "\"where\": " + fault.message);
}

void read_every_input(JsonWalk& json, Rule& rule) {
  const std::size_t at = json.offset();
  if (json.type() == JsonType::string) {
    const auto word = json.take_text("\"inputs\"");
    if (word && *word == "same") return void(rule.conditions.emplace_back(SameInputsCondition{}));
    return json.faults().error(at,
                               "\"inputs\" must be a list, \"same\", or an object like "
                               "{\"all\": [\"float32\"]}");
  }
  json.each_field("\"inputs\"", "a list, or an object like {\"all\": [\"float32\"]}",
                  [&](const std::string& key, std::size_t place) {
                    if (key == "all") {
                      EveryInputCondition wanted;
                      json.each_item("\"all\"", "a list of dtypes",
                                     [&] { read_type(json, wanted.types); });
                      rule.conditions.emplace_back(wanted);
                    } else if (key == "same") {
                      if (json.take_flag("\"same\"").value_or(false)) {
                        rule.conditions.emplace_back(SameInputsCondition{});
                      }
                    } else {
                      json.pass_unknown(place, key, "\"inputs\"", {"all", "same"});
                    }
                  });
}

void read_rank(JsonWalk& json, const InputPlace& input, ShapeRule& shape, Rule& rule) {
  if (json.type() == JsonType::number) {
    shape.rank = json.take_integer("\"rank\"", 0);
    return;
  }
  RankCondition wanted{input, {}};
  if (json.type() == JsonType::list) {
    read_integers(json, "\"rank\"", wanted.rank.one_of);
  } else {
    json.each_field("\"rank\"", "a number, a list or a range like {\"min\": 3, \"max\": 5}",
                    [&](const std::string& key, std::size_t at) {
                      read_integer_field(json, key, at, wanted.rank);
                    });
  }
  rule.conditions.emplace_back(std::move(wanted));
}

void read_dims(JsonWalk& json, const InputPlace& input, Rule& rule) {
  json.each_field("\"dims\"", "an object like {\"0\": {\"equals\": 1}}",
                  [&](const std::string& key, std::size_t at) {
                    if (const auto axis = number_of_key(key, kLeastAxis)) {
                      return read_dim(json, input, *axis, rule);
                    }
                    json.faults().error(
                        at, escaped_in_quotes(key) + " is no axis: \"dims\" goes by number");
                    json.skip();
                  });
}

std::optional<InputPlace> input_of_key(std::string_view key) {
  const bool if_given = !key.empty() && key.back() == '?';
  if (if_given) key.remove_suffix(1);
  const auto number = number_of_key(key, 0);
  if (!number) return std::nullopt;
  return InputPlace{static_cast<std::uint32_t>(*number), if_given};
}

std::optional<std::int64_t> number_of_key(std::string_view key, std::int64_t least) {
  std::int64_t number = 0;
  const char* const end = key.data() + key.size();
  const auto parsed = std::from_chars(key.data(), end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end || number < least || number > kMostSlot) {
    return std::nullopt;
  }
  return number;
}

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

// ---- support rule ----

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
