// Rules of native lists: the fields of each condition, read and written.

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/words.h"
#include "core/lists/condition.h"
#include "formats/lists/support_file.h"

namespace cleave {

// ---- condition fields ----

namespace {

// Far beyond any rank (--limit dims is 1,000 unless it is set), and safe to add to one.
constexpr std::int64_t kLeastAxis = -1'000'000;
constexpr std::int64_t kMostSlot = OperandSlot::kMaxPosition;

// The number that a key is: "0", "-1"; nullopt when it is not a number, or below `least`.
std::optional<std::int64_t> number_of_key(std::string_view key, std::int64_t least) {
  const auto number = parse_number<std::int64_t>(key);
  return number && *number >= least && *number <= kMostSlot ? number : std::nullopt;
}

// The input that a key names by number: "0", or "0?" for one that may be left out; nullopt for any
// other key.
std::optional<InputPlace> input_of_key(std::string_view key) {
  const bool if_given = !key.empty() && key.back() == '?';
  if (if_given) key.remove_suffix(1);
  const auto number = number_of_key(key, 0);
  if (!number) return std::nullopt;
  return InputPlace{static_cast<std::uint32_t>(*number), if_given};
}

// A number, a string, or true or false as 1 and 0.
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

// ---- the value of each field: `what` names it for messages; false when there is nothing to add ----

bool read_flag(JsonWalk& json, const std::string& what, Condition& condition) {
  const auto yes = json.take_flag(what);
  condition.wanted.yes = yes.value_or(true);
  return yes.has_value();
}

// A word, or each of a list of them.
void read_words(JsonWalk& json, const std::string& what, std::string_view wanted,
                const auto& read) {
  json.type() == JsonType::string ? read() : json.each_item(what, wanted, read);
}

void read_layout_name(JsonWalk& json, LayoutSet& layouts) {
  const std::size_t at = json.offset();
  const auto name = json.take_text("a layout");
  if (!name) return;
  const auto known = std::ranges::find(kLayoutNames, *name);
  if (known != kLayoutNames.end()) {
    return layouts.add(static_cast<LayoutName>(known - kLayoutNames.begin()));
  }
  json.faults().error(
      at, "there is no layout " + escaped_in_quotes(*name) +
              ": there are contiguous, channels_last, channels_last_3d, strided and sparse");
}

bool read_layout(JsonWalk& json, const std::string& what, Condition& condition) {
  read_words(json, what, "a layout or a list of them",
             [&] { read_layout_name(json, condition.wanted.layouts); });
  return true;
}

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
  const auto* const known = std::ranges::find(kQuantizationWays, *word);
  if (known != kQuantizationWays.end()) {
    return wanted.add(static_cast<Way>(known - kQuantizationWays.begin()));
  }
  if (*word == "same") {
    wanted.as_input_0 = true;
    return;
  }
  if (const auto dtype = parse_dtype(*word)) return wanted.types.add(*dtype);
  json.faults().error(
      at, escaped_in_quotes(*word) +
              " is neither a way of quantisation (none, tensor, axis, other, symmetric, any) nor "
              "the type of quantised numbers, such as int8, or same for that of input 0");
}

bool read_quantized(JsonWalk& json, const std::string& what, Condition& condition) {
  read_words(json, what, "a word or a list of words",
             [&] { read_quantization_word(json, condition.wanted.quantization); });
  return true;
}

bool read_outputs_used(JsonWalk& json, const std::string& what, Condition& condition) {
  auto& outputs = condition.wanted.one_of;
  json.each_item(what, "a list of outputs by number", [&] {
    const std::size_t at = json.offset();
    const auto slot = json.take_integer("an output", 0);
    if (slot && *slot > kMostSlot) json.faults().error(at, "there is no such output");
    if (slot && *slot <= kMostSlot) outputs.emplace_back(*slot);
  });
  std::ranges::sort(outputs);
  return true;
}

bool read_input_shape(JsonWalk& json, const std::string& what, Condition& condition) {
  const std::size_t at = json.offset();
  const auto shape = json.take_text(what);
  if (!shape) return false;
  condition.axis = *shape == "batched" ? 1 : 0;
  condition.wanted.yes = *shape != "open";
  if (*shape == "static" || *shape == "batched" || *shape == "open") return true;
  json.faults().error(
      at, what + " must be \"static\", \"batched\" or \"open\", not " + escaped_in_quotes(*shape));
  return false;
}

bool read_max_rank(JsonWalk& json, const std::string& what, Condition& condition) {
  const auto most = json.take_integer(what, 0);
  if (most) condition.wanted.max = static_cast<double>(*most);
  return most.has_value();
}

// ---- relations ----

// The position in the file of a byte of a string: exact if no escape comes before it, else the
// start of the string.
std::size_t place_in_text(std::size_t start, const std::string& text, std::size_t at) {
  const std::size_t escaped = text.find_first_of("\"\\\n\t\r");
  return escaped < at ? start : start + 1 + at;
}

// Reports what is wrong with a relation, which is the string at `start` of the file.
void report_relation(JsonWalk& json, std::size_t start, const std::string& text,
                     const RelationFault& fault) {
  json.faults().error(place_in_text(start, text, fault.at), "\"where\": " + fault.message);
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
bool read_relation(JsonWalk& json, const std::string&, Condition& condition) {
  const auto read = [&] {
    auto relation = take_relation(json);
    if (relation) condition.relation = *std::move(relation);
  };
  const std::size_t start = json.offset();
  bool is_read = json.type() != JsonType::object;
  if (is_read) {
    read();
  } else {
    json.each_field("a relation", "an object", [&](const std::string& key, std::size_t at) {
      is_read = is_read || key == "relation";
      if (key == "relation") return read();
      if (key != "why") return json.pass_unknown(at, key, "a relation", {"relation", "why"});
      condition.why = json.take_text("\"why\"").value_or("");
    });
  }
  if (!is_read) {
    json.faults().error(start, "an object in \"where\" needs the field \"relation\"");
  }
  return !condition.relation.terms.empty();
}

// ---- values ----

// The literal, or the literals of a list.
template <class Value>
void read_literals(JsonWalk& json, const std::string& what, std::vector<Value>& list) {
  const auto read = [&] {
    if (const auto literal = take_literal(json, what)) {
      std::visit([&](const auto& held) { list.emplace_back(held); }, *literal);
    }
  };
  json.type() == JsonType::list ? json.each_item(what, "a list", read) : read();
}

// Reads a field about each element. Returns false if the field is not about elements.
bool read_element_field(JsonWalk& json, const std::string& key, Accepted& wanted) {
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

void read_each(JsonWalk& json, Accepted& wanted) {
  json.each_field(
      "\"each\"", "an object like {\"max\": 6}", [&](const std::string& key, std::size_t at) {
        if (read_element_field(json, key, wanted)) return;
        json.pass_unknown(at, key, "\"each\"", {"min", "max", "one_of", "power_of_two", "finite"});
      });
}

void read_values_object(JsonWalk& json, Accepted& wanted) {
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

bool read_values(JsonWalk& json, const std::string& what, Condition& condition) {
  const std::size_t at = json.offset();
  const std::size_t errors_before = json.faults().errors().size();
  Accepted& wanted = condition.wanted;
  if (json.type() == JsonType::object) {
    read_values_object(json, wanted);
  } else if (json.type() == JsonType::list) {
    read_literals(json, "\"values\"", wanted.list.emplace());
  } else {
    read_literals(json, "\"values\"", wanted.one_of);
  }
  if (json.is_over() || json.faults().errors().size() > errors_before) return false;
  if (wanted == Accepted{}) {
    json.faults().error(
        at, what + " asks for nothing: give a number, a list, or {\"each\": {\"max\": ...}}");
  }
  return true;
}

// ---- ranks and dims ----

void read_integers(JsonWalk& json, std::string_view what, std::vector<AttributeValue>& list) {
  json.each_item(what, "a list of numbers", [&] {
    if (const auto number = json.take_integer(what, 0)) list.emplace_back(*number);
  });
}

void read_integer_field(JsonWalk& json, const std::string& key, std::size_t at, Accepted& wanted) {
  const auto bound = [&](const char* what) -> std::optional<double> {
    const auto number = json.take_integer(what, 0);
    return number ? std::optional(static_cast<double>(*number)) : std::nullopt;
  };
  if (key == "min") {
    wanted.min = bound("\"min\"");
  } else if (key == "max") {
    wanted.max = bound("\"max\"");
  } else if (key == "multiple_of") {
    wanted.multiple_of = json.take_integer("\"multiple_of\"", 1);
  } else if (key == "equals" && json.type() == JsonType::list) {
    read_integers(json, "\"equals\"", wanted.one_of);
  } else if (key == "equals") {
    if (const auto size = json.take_integer("\"equals\"", 0)) wanted.one_of.emplace_back(*size);
  } else {
    json.pass_unknown(at, key, "a range", {"min", "max", "equals", "multiple_of", "static"});
  }
}

void read_dim(JsonWalk& json, const InputPlace& input, std::int64_t axis, Rule& rule) {
  Condition condition = of_input(Property::dim, input);
  condition.axis = axis;
  Accepted& wanted = condition.wanted;
  bool is_known = true;
  if (json.type() == JsonType::number) {
    if (const auto size = json.take_integer("a dim", 0)) wanted.one_of.emplace_back(*size);
  } else {
    json.each_field("a dim", "a number or an object like {\"max\": 64}",
                    [&](const std::string& key, std::size_t at) {
                      if (key != "static") return read_integer_field(json, key, at, wanted);
                      is_known = json.take_flag("\"static\"").value_or(true);
                    });
  }
  if (is_known || wanted.has_number()) rule.add(std::move(condition));
}

void read_rank(JsonWalk& json, const InputPlace& input, ShapeEntry& shape, Rule& rule) {
  if (json.type() == JsonType::number) {
    shape.rank = json.take_integer("\"rank\"", 0);
    return;
  }
  Condition condition = of_input(Property::rank, input);
  if (json.type() == JsonType::list) {
    read_integers(json, "\"rank\"", condition.wanted.one_of);
  } else {
    json.each_field("\"rank\"", "a number, a list or a range like {\"min\": 3, \"max\": 5}",
                    [&](const std::string& key, std::size_t at) {
                      read_integer_field(json, key, at, condition.wanted);
                    });
  }
  rule.add(std::move(condition));
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

// ---- written again ----

std::string key_of(const Condition& condition) {
  const std::string place =
      std::to_string(condition.place.position) + (condition.place.if_given ? "?" : "");
  switch (condition.of) {
    case Condition::Of::activations:
      return "activations";
    case Condition::Of::every:
      return "all";
    case Condition::Of::output:
      return "out" + place;
    default:
      return place;
  }
}

// "inputs" as "same" or {"all": [dtypes], "same": true}.
void read_every_input(JsonWalk& json, Rule& rule) {
  const std::size_t at = json.offset();
  if (json.type() == JsonType::string) {
    const auto word = json.take_text("\"inputs\"");
    if (word && *word == "same") return rule.add(of_inputs(Property::same_type));
    return json.faults().error(
        at, "\"inputs\" must be a list, \"same\", or an object like {\"all\": [\"float32\"]}");
  }
  json.each_field("\"inputs\"", "a list, or an object like {\"all\": [\"float32\"]}",
                  [&](const std::string& key, std::size_t place) {
                    if (key == "all") {
                      Condition condition = of_inputs(Property::type);
                      json.each_item("\"all\"", "a list of dtypes",
                                     [&] { read_type(json, condition.wanted.types); });
                      rule.add(std::move(condition));
                    } else if (key == "same") {
                      if (json.take_flag("\"same\"").value_or(false)) {
                        rule.add(of_inputs(Property::same_type));
                      }
                    } else {
                      json.pass_unknown(place, key, "\"inputs\"", {"all", "same"});
                    }
                  });
}

void write_value(JsonText& json, std::int64_t value) { json.number(value); }
void write_value(JsonText& json, double value) { json.number(value); }
void write_value(JsonText& json, const std::string& value) { json.text(value); }

void write_value(JsonText& json, const std::vector<Literal>& list) {
  json.begin_list();
  for (const Literal& item : list) {
    std::visit([&](const auto& held) { write_value(json, held); }, item);
  }
  json.end_list();
}

template <class... Types>
void write_value(JsonText& json, const std::variant<Types...>& value) {
  std::visit([&](const auto& held) { write_value(json, held); }, value);
}
template <class Values>
void write_values(JsonText& json, const Values& values) {
  json.begin_list();
  for (const auto& value : values) write_value(json, value);
  json.end_list();
}

// Fields of the current object.
void write_numbers(JsonText& json, const Accepted& wanted, std::string_view one_of) {
  if (!wanted.one_of.empty()) {
    json.key(one_of);
    write_values(json, wanted.one_of);
  }
  if (wanted.min) json.number("min", *wanted.min);
  if (wanted.max) json.number("max", *wanted.max);
  if (wanted.multiple_of) json.number("multiple_of", *wanted.multiple_of);
  if (wanted.power_of_two) json.flag("power_of_two", true);
  if (wanted.finite) json.flag("finite", true);
}

void write_elements(JsonText& json, const Condition& condition) {
  Accepted each = condition.wanted;
  each.list.reset();
  json.begin_object();
  if (condition.wanted.list) {
    json.key("list");
    write_values(json, *condition.wanted.list);
  }
  if (each != Accepted{}) {
    json.begin_object("each");
    write_numbers(json, each, "one_of");
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

void write_types(JsonText& json, const TypeSet& types) {
  json.begin_list();
  write_type_names(json, types);
  json.end_list();
}

void write_layouts(JsonText& json, const Condition& condition) {
  json.begin_list();
  for (std::size_t i = 0; i < kLayoutNames.size(); ++i) {
    const auto name = static_cast<LayoutName>(i);
    if (condition.wanted.layouts.contains(name)) json.text(kLayoutNames[i]);
  }
  json.end_list();
}

void write_quantization(JsonText& json, const Condition& condition) {
  const QuantizationSet& wanted = condition.wanted.quantization;
  json.begin_list();
  for (std::size_t i = 0; i < kQuantizationWays.size(); ++i) {
    if (wanted.has(static_cast<QuantizationSet::Way>(i))) json.text(kQuantizationWays[i]);
  }
  write_type_names(json, wanted.types);
  if (wanted.as_input_0) json.text("same");
  json.end_list();
}

void write_relation(JsonText& json, const Condition& condition) {
  if (condition.why.empty()) return json.text(condition.relation.text);
  json.begin_object(JsonText::Layout::one_line);
  json.text("relation", condition.relation.text);
  json.text("why", condition.why);
  json.end_object();
}

void write_flag(JsonText& json, const Condition& condition) { json.flag(condition.wanted.yes); }

void write_input_shape(JsonText& json, const Condition& condition) {
  json.text(!condition.wanted.yes ? "open" : condition.axis == 0 ? "static" : "batched");
}

// ---- the fields of conditions ----

// One condition as the value, or for each input ("0", "0?", or the number alone) or tensor ("out0",
// "activations", "all", too); or any number of them in a list.
struct ConditionField {
  enum class Form : std::uint8_t { by_input, by_number, by_tensor, of_inputs, of_node, list };
  std::string_view name;
  Property property;
  Form form;
  std::string_view looks;  // what its value must be
  bool (*read)(JsonWalk& json, const std::string& what, Condition& condition);
  void (*write)(JsonText& json, const Condition& condition);  // the value of one
};
using Form = ConditionField::Form;

constexpr std::array<ConditionField, 9> kFields = {{
    {"constant", Property::constant, Form::by_input, "an object like {\"1\": true}", read_flag,
     write_flag},
    {"values", Property::values, Form::by_input, "an object like {\"2\": {\"all\": 0}}",
     read_values, write_elements},
    {"layout", Property::layout, Form::by_input, "an object like {\"0\": \"channels_last\"}",
     read_layout, write_layouts},
    {"quantized", Property::quantization, Form::by_tensor,
     "an object like {\"activations\": \"tensor\"}", read_quantized, write_quantization},
    {"given", Property::given, Form::by_number, "an object like {\"2\": false}", read_flag,
     write_flag},
    {"outputs_used", Property::outputs_used, Form::of_node, "", read_outputs_used,
     [](JsonText& json, const Condition& one) { write_values(json, one.wanted.one_of); }},
    {"input_shape", Property::known, Form::of_inputs, "", read_input_shape, write_input_shape},
    {"max_rank", Property::rank, Form::of_inputs, "", read_max_rank,
     [](JsonText& json, const Condition& one) { json.number(*one.wanted.max); }},
    {"where", Property::relation, Form::list, "a relation or a list of them", read_relation,
     write_relation},
}};

bool is_by_key(Form form) { return form <= Form::by_tensor; }

// The tensors that a key of the field names; false when it names none.
bool take_key(std::string_view key, Form form, Condition& condition) {
  using Of = Condition::Of;
  condition.of = Of::input;
  condition.place = {};
  const bool may_be_more = form == Form::by_tensor;
  if (may_be_more && (key == "activations" || key == "all")) {
    condition.of = key == "all" ? Of::every : Of::activations;
    return true;
  }
  const bool is_output = may_be_more && key.starts_with("out");
  if (is_output) condition.of = Of::output;
  const auto place = input_of_key(is_output ? key.substr(3) : key);
  if (!place || (place->if_given && (is_output || form == Form::by_number))) return false;
  condition.place = *place;
  return true;
}

void read_condition_field(JsonWalk& json, const ConditionField& field, Rule& rule) {
  const std::string name = '"' + std::string(field.name) + '"';
  Condition condition = of_inputs(field.property);
  if (field.form != Form::of_inputs) condition.of = Condition::Of::node;
  const auto read = [&](const std::string& what, Condition one) {
    if (field.read(json, what, one)) rule.add(std::move(one));
  };
  if (field.form == Form::list && json.type() != JsonType::string) {
    return json.each_item(name, field.looks, [&] { read(name, condition); });
  }
  if (!is_by_key(field.form)) return read(name, std::move(condition));
  json.each_field(name, field.looks, [&](const std::string& key, std::size_t at) {
    const bool is_of_tensors = field.form == Form::by_tensor;
    if (take_key(key, field.form, condition)) {
      return read(name + (is_of_tensors ? " of a tensor" : " of an input"), condition);
    }
    const std::string known =
        is_of_tensors
            ? " is no tensor: " + name +
                  " goes by input (\"0\", \"0?\"), output (\"out0\"), \"activations\" or \"all\""
        : field.form == Form::by_number
            ? " is no input by number"
            : " is no input: " + name +
                  " goes by number, \"0\", or \"0?\" for an input that may be left out";
    json.faults().error(at, escaped_in_quotes(key) + known);
    json.skip();
  });
}

// Whether it stands in "shapes".
bool is_of_shapes(const Condition& one) {
  const bool is_of_one = one.of == Condition::Of::input;
  return one.is_clause ||
         (is_of_one && (one.property == Property::rank || one.property == Property::dim));
}

template <class IsWanted>
std::vector<const Condition*> conditions_where(const Rule& rule, IsWanted is_wanted) {
  std::vector<const Condition*> found;
  for (const Condition& one : rule.conditions) {
    if (is_wanted(one)) found.push_back(&one);
  }
  return found;
}

std::vector<const Condition*> conditions_on(const Rule& rule, Property property) {
  return conditions_where(rule, [&](const Condition& one) { return one.property == property; });
}

void write_condition_fields(JsonText& json, const Rule& rule) {
  for (const ConditionField& field : kFields) {
    const auto own = conditions_where(rule, [&](const Condition& one) {
      return one.property == field.property && !is_of_shapes(one);
    });
    if (own.empty()) continue;
    const bool is_list = field.form == Form::list;
    json.key(field.name);
    if (is_by_key(field.form)) json.begin_object();
    if (is_list) json.begin_list();
    for (const Condition* const one : own) {
      if (is_by_key(field.form)) json.key(key_of(*one));
      field.write(json, *one);
    }
    if (is_by_key(field.form)) json.end_object();
    if (is_list) json.end_list();
  }
}

void write_every_input(JsonText& json, const Rule& rule) {
  const auto all = conditions_on(rule, Property::type);
  const auto same = conditions_on(rule, Property::same_type);
  if (all.empty() && same.empty()) return;
  json.begin_object("inputs");
  if (!all.empty()) {
    json.key("all");
    write_types(json, all.front()->wanted.types);
  }
  if (!same.empty()) json.flag("same", true);
  json.end_object();
}

void write_attributes(JsonText& json, const Rule& rule) {
  const auto stated = conditions_on(rule, Property::stated);
  const auto valued = conditions_on(rule, Property::attribute);
  if (stated.empty() && valued.empty()) return;
  json.begin_object("attributes");
  for (const Condition* const one : stated) {
    json.key(one->name);
    json.begin_object();
    json.flag(one->wanted.yes ? "stated" : "absent", true);
    json.end_object();
  }
  for (const Condition* const one : valued) {
    json.key(one->name);
    if (!one->wanted.one_of.empty()) {
      write_values(json, one->wanted.one_of);
      continue;
    }
    json.begin_object();
    write_numbers(json, one->wanted, "");
    json.end_object();
  }
  json.end_object();
}

// The sizes of single dims, by axis.
template <class Write>
void write_axes(JsonText& json, std::string_view key, const std::vector<const Condition*>& dims,
                Write write) {
  if (dims.empty()) return;
  json.begin_object(key);
  for (const Condition* const dim : dims) {
    json.key(std::to_string(dim->axis));
    write(dim->wanted);
  }
  json.end_object();
}

void write_shape(JsonText& json, const InputPlace& place, const Rule& rule) {
  const auto own = [&](Property property, bool is_clause) {
    return conditions_where(rule, [&, property, is_clause](const Condition& one) {
      return one.property == property && one.is_clause == is_clause && is_of_shapes(one) &&
             one.place == place;
    });
  };
  const auto rank_of = [](const Condition* one) {
    return std::get<std::int64_t>(one->wanted.one_of.front());
  };
  for (const auto* const one : own(Property::rank, true)) json.number("rank", rank_of(one));
  if (!own(Property::known, true).empty()) json.flag("static", true);
  for (const auto* const one : own(Property::dims, true)) json.number("max_dim", *one->wanted.max);
  write_axes(json, "multiple_of", own(Property::dim, true),
             [&](const Accepted& wanted) { json.number(*wanted.multiple_of); });
  for (const auto* const one : own(Property::rank, false)) {
    const Accepted& wanted = one->wanted;
    json.key("rank");
    if (!wanted.min && !wanted.max && !wanted.multiple_of) {
      write_values(json, wanted.one_of);
      continue;
    }
    json.begin_object();
    write_numbers(json, wanted, "equals");
    json.end_object();
  }
  write_axes(json, "dims", own(Property::dim, false), [&](const Accepted& wanted) {
    json.begin_object();
    if (!wanted.has_number()) json.flag("static", true);
    write_numbers(json, wanted, "equals");
    json.end_object();
  });
}

void write_shapes(JsonText& json, const Rule& rule) {
  const auto all = conditions_where(rule, is_of_shapes);
  if (all.empty()) return;
  json.begin_object("shapes");
  for (auto one = all.begin(); one != all.end(); ++one) {
    const bool is_written = std::any_of(
        all.begin(), one, [&](const Condition* other) { return other->place == (*one)->place; });
    if (is_written) continue;
    json.key(key_of(**one));
    json.begin_object();
    write_shape(json, (*one)->place, rule);
    json.end_object();
  }
  json.end_object();
}

}  // namespace

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

// A literal, or a list of literals.
void read_accepted(JsonWalk& json, const std::string& what, Accepted& wanted) {
  if (json.type() != JsonType::list) return read_literals(json, what, wanted.one_of);
  std::vector<Literal> list;
  read_literals(json, what, list);
  wanted.one_of.emplace_back(std::move(list));
}

// `is_absent`: whether the node must not state the attribute, or must; nullopt: neither is asked.
void read_range(JsonWalk& json, const std::string& what, Accepted& wanted,
                std::optional<bool>& is_absent) {
  json.each_field(what, "an object", [&](const std::string& key, std::size_t at) {
    if (key == "absent" || key == "stated") {
      if (json.take_flag(escaped_in_quotes(key)).value_or(false)) is_absent = key == "absent";
    } else if (key == "min") {
      wanted.min = json.take_real("\"min\"");
    } else if (key == "max") {
      wanted.max = json.take_real("\"max\"");
    } else {
      json.pass_unknown(at, key, "a range", {"min", "max", "absent", "stated"});
    }
  });
}

// Reads which values of the attribute the rule accepts; returns whether the node must not state it, or
// must; nullopt when the rule asks for a value.
std::optional<bool> read_attribute(JsonWalk& json, std::size_t at, Condition& condition) {
  std::optional<bool> is_absent;
  const std::string what = "attribute " + escaped_in_quotes(condition.name);
  Accepted& wanted = condition.wanted;
  TextFaults& faults = json.faults();
  const std::size_t errors_before = faults.errors().size();
  if (json.type() == JsonType::object) {
    read_range(json, what, wanted, is_absent);
  } else if (json.type() == JsonType::list) {
    json.each_item(what, "a list", [&] { read_accepted(json, what, wanted); });
  } else {
    read_accepted(json, what, wanted);
  }
  if (json.is_over() || faults.errors().size() > errors_before) return is_absent;
  const bool accepts_any = !wanted.has_number();
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
  if (wanted.min && wanted.max && *wanted.min > *wanted.max) {
    faults.error(at, what + " accepts no value: \"min\" is above \"max\"");
  }
  return is_absent;
}

void read_attributes(JsonWalk& json, Rule& rule) {
  json.each_field("\"attributes\"", "an object", [&](const std::string& key, std::size_t at) {
    Condition attribute = attribute_is(key, {});
    const auto is_absent = read_attribute(json, at, attribute);
    rule.add(is_absent ? is_stated(key, !*is_absent) : std::move(attribute));
  });
}

// ---- shapes ----

void read_multiples(JsonWalk& json, ShapeEntry& rule) {
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

void read_shape(JsonWalk& json, const InputPlace& input, ShapeEntry& shape, Rule& rule) {
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
    ShapeEntry shape{.input = input->position, .if_given = input->if_given};
    const std::size_t conditions = rule.conditions.size();
    read_shape(json, *input, shape, rule);
    const bool asks = shape.rank || shape.is_static || shape.max_dim || !shape.multiple_of.empty();
    if (asks || rule.conditions.size() == conditions) rule.add(shape);
  });
}

// ---- rules ----

enum class RuleKind : std::uint8_t { any, allow, deny };

struct RuleField {
  std::string_view name;
  void (*read)(JsonWalk&, Rule&);
  bool is_condition = true;
  RuleKind kind = RuleKind::any;
  const ConditionField* condition = nullptr;  // in place of `read`
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
  const auto* const found = std::ranges::find(kDefaultFields, name);
  return found == kDefaultFields.end() ? 0 : 1U << (found - kDefaultFields.begin());
}

std::optional<RuleField> find_field(std::string_view name) {
  for (const RuleField& field : kRuleFields) {
    if (field.name == name) return field;
  }
  for (const ConditionField& field : kFields) {
    if (field.name == name) return RuleField{.name = name, .read = nullptr, .condition = &field};
  }
  return std::nullopt;
}

void read_field(JsonWalk& json, const RuleField& field, Rule& rule) {
  if (field.condition != nullptr) return read_condition_field(json, *field.condition, rule);
  field.read(json, rule);
}

std::vector<std::string_view> rule_field_names() {
  std::vector<std::string_view> names;
  for (const RuleField& field : kRuleFields) names.push_back(field.name);
  for (const ConditionField& field : kFields) names.push_back(field.name);
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
                     [&](const std::string& key, std::size_t at) { read_one(key, at); });
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
  void read_one(const std::string& key, std::size_t at) {
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
    is_none ? json_.skip() : read_field(json_, *field, rule_);
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
  for (const ConditionField& field : kFields) {
    if (field.property == condition.property) return default_field_bit(field.name);
  }
  return default_field_bit("inputs");
}

}  // namespace

void read_type(JsonWalk& json, TypeSet& types) {
  const std::size_t at = json.offset();
  const auto name = json.take_text("a dtype");
  if (!name) return;
  const auto added = add_type(types, *name);
  if (added) return;
  json.faults().error(at, added.error());
  types.dtypes = ~0U;  // for lint, which goes on; nothing else takes the list
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
    if (field) return read_field(json, *field, defaults);
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
    if (is_open(default_field_of(condition))) rule.add(condition);
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
    if (key == "name") return read_name(json_, "\"name\"", pattern_.name);
    if (key == "why") return read_name(json_, "\"why\"", pattern_.why);
    if (key == "unchecked") return read_name(json_, "\"unchecked\"", pattern_.unchecked);
    if (key == "ops") return json_.each_item("\"ops\"", "a list of ops", [&] { read_op(); });
    if (key == "edges") {
      return json_.each_item("\"edges\"", "a list of edges like [0, 1]", [&] { read_edge(); });
    }
    if (key == "where") return read_where();
    json_.pass_unknown(at, key, "a pattern", {"name", "ops", "edges", "where", "why", "unchecked"});
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
        return json_.faults().error(
            edge_places_[fault->at],
            "an edge names an op that is not there: ops are counted from 0, the last is " +
                std::to_string(pattern_.ops.size() - 1));
      case PatternFault::Kind::repeated_edge:
        return json_.faults().error(edge_places_[fault->at], "the edge is given twice");
      case PatternFault::Kind::cycle:
        return json_.faults().error(edge_places_[fault->at],
                                    "the edges form a cycle, which no model has");
      case PatternFault::Kind::unconnected:
        return json_.faults().error(
            op_places_[fault->at],
            "no edges connect this op with the first one: a pattern is one connected piece");
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

// ---- rules as json ----

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
    json.key(name);
    write_types(json, types);
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
