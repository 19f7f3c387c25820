#include "formats/lists/support/condition_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "core/condition/relation.h"
#include "formats/lists/support/support_reader.h"
#include "formats/lists/support/support_rule.h"

namespace cleave {
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

}  // namespace cleave
