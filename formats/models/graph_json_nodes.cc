#include "formats/models/graph_json.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

namespace cleave {

GraphJsonAttributes::GraphJsonAttributes(JsonCursor& cursor, JsonFaults& faults,
                                         GraphBuilder& builder, GraphJsonValues& values)
    : cursor_(cursor), faults_(faults), builder_(builder), values_(values) {}

void GraphJsonAttributes::clear() {
  attributes_.clear();
  integers_.clear();
  reals_.clear();
  strings_.clear();
}

void GraphJsonAttributes::read(JsonFields& fields) {
  if (!fields.is(JsonType::object)) return;
  keys_.clear();
  cursor_.enter();
  while (const auto key = cursor_.next_key()) {
    const std::string_view name = values_.kept_name(*key);
    keys_.add(name, key->offset);
    read_value(builder_.intern(name));
  }
  keys_.report_repeated(faults_, fields);
}

void GraphJsonAttributes::read_value(NameId name) {
  switch (cursor_.type()) {
    case JsonType::number:
      return read_number(name);
    case JsonType::string:
      attributes_.push_back({name, AttributeType::string, strings_.size(), 1});
      strings_.push_back(values_.kept(cursor_.take_string()));
      return;
    case JsonType::boolean:
      attributes_.push_back({name, AttributeType::boolean, integers_.size(), 1});
      integers_.push_back(cursor_.take_boolean() ? 1 : 0);
      return;
    case JsonType::list:
      return read_list(name);
    default:
      attributes_.push_back({name, AttributeType::opaque, 0, 0});
      cursor_.skip();
  }
}

void GraphJsonAttributes::read_number(NameId name) {
  const JsonNumber number = cursor_.take_number();
  if (const auto integer = number.integer()) {
    attributes_.push_back({name, AttributeType::integer, integers_.size(), 1});
    integers_.push_back(*integer);
  } else {
    attributes_.push_back({name, AttributeType::real, reals_.size(), 1});
    reals_.push_back(number.real());
  }
}

void GraphJsonAttributes::read_list(NameId name) {
  const Sizes before{integers_.size(), reals_.size(), strings_.size()};
  std::size_t count = 0;
  is_whole_ = true;
  cursor_.enter();
  while (cursor_.next_item()) {
    ++count;
    if (!read_item()) cursor_.skip();
  }
  settle_list(name, before, count);
}

// Adds numbers and booleans to both pools until it is known whether all are whole. Returns false,
// without taking the item, when it is neither of these nor a string.
bool GraphJsonAttributes::read_item() {
  switch (cursor_.type()) {
    case JsonType::number: {
      const JsonNumber number = cursor_.take_number();
      const auto integer = number.integer();
      is_whole_ = is_whole_ && integer;
      integers_.push_back(integer.value_or(0));
      reals_.push_back(integer ? static_cast<double>(*integer) : number.real());
      return true;
    }
    case JsonType::boolean: {
      const bool is_true = cursor_.take_boolean();
      integers_.push_back(is_true ? 1 : 0);
      reals_.push_back(is_true ? 1 : 0);
      return true;
    }
    case JsonType::string:
      strings_.push_back(values_.kept(cursor_.take_string()));
      return true;
    default:
      return false;
  }
}

// Decides the type of a list from all its items, and removes them from the other pools.
void GraphJsonAttributes::settle_list(NameId name, Sizes before, std::size_t count) {
  const bool all_numbers = integers_.size() - before.integers == count;
  const bool all_strings = !all_numbers && strings_.size() - before.strings == count;
  Pending attribute{name, AttributeType::opaque, 0, 0};
  if (all_numbers && is_whole_) attribute = {name, AttributeType::integers, before.integers, count};
  if (all_numbers && !is_whole_) attribute = {name, AttributeType::reals, before.reals, count};
  if (all_strings) attribute = {name, AttributeType::strings, before.strings, count};
  if (attribute.type != AttributeType::integers) integers_.resize(before.integers);
  if (attribute.type != AttributeType::reals) reals_.resize(before.reals);
  if (attribute.type != AttributeType::strings) strings_.resize(before.strings);
  attributes_.push_back(attribute);
}

void GraphJsonAttributes::hand_over() {
  const auto part_of = [](const auto& pool, const Pending& attribute) {
    return std::span(pool).subspan(attribute.begin, attribute.count);
  };
  for (const Pending& attribute : attributes_) {
    switch (attribute.type) {
      case AttributeType::opaque:
        builder_.add_opaque_attribute(attribute.name);
        break;
      case AttributeType::real:
      case AttributeType::reals:
        builder_.add_attribute(attribute.name, part_of(reals_, attribute), attribute.type);
        break;
      case AttributeType::string:
      case AttributeType::strings:
        builder_.add_attribute(attribute.name, part_of(strings_, attribute), attribute.type);
        break;
      default:
        builder_.add_attribute(attribute.name, part_of(integers_, attribute), attribute.type);
    }
  }
}

namespace {

enum NodeField : std::size_t {
  kName,
  kOp,
  kDomain,
  kKind,
  kInputs,
  kKwargs,
  kTarget,
  kModuleParameters,
  kOutputs,
  kAttributes,
  kScope,
  kCost,
};
constexpr std::array<std::string_view, 12> kFields = {
    "name",    "op",         "domain", "kind", "inputs", "kwargs", "target", "module_parameters",
    "outputs", "attributes", "scope",  "cost"};

constexpr std::array<std::string_view, 3> kCostFields = {"flops", "time_us", "bytes"};

constexpr std::size_t kMostNested = 100;
constexpr std::string_view kReference = "a value's name, null or {\"list\": [...]}";

}  // namespace

GraphJsonNodes::GraphJsonNodes(JsonCursor& cursor, JsonFaults& faults, GraphBuilder& builder,
                               GraphJsonValues& values, const ModelLimits& limits)
    : cursor_(cursor),
      faults_(faults),
      builder_(builder),
      values_(values),
      limits_(limits),
      attributes_(cursor, faults, builder, values) {}

void GraphJsonNodes::clear() {
  decl_ = {};
  subject_ = {};
  cost_ = {};
  inputs_.clear();
  kwargs_.clear();
  module_parameters_.clear();
  outputs_.clear();
  attributes_.clear();
}

void GraphJsonNodes::read(std::size_t position) {
  clear();
  subject_ = {"node", "nodes", position};
  const std::uint64_t begin = cursor_.offset();
  if (cursor_.type() != JsonType::object) {
    if (cursor_.type() == JsonType::none) return;
    faults_.add(begin, subject_.text() + " must be an object, not " +
                           std::string(json_type_name(cursor_.type())));
    return cursor_.skip();
  }
  JsonFields fields(cursor_, faults_, kFields, subject_, &order_);
  while (const auto field = fields.next()) read_field(*field, fields);
  if (cursor_.fault()) return;
  for (const std::size_t needed : {kName, kOp}) {
    if (fields.has(needed)) continue;
    faults_.add(begin, subject_.text() + " has no " + escaped_in_quotes(kFields[needed]));
  }
  decl_.source = {begin, static_cast<std::uint32_t>(cursor_.end_of_last() - begin)};
  value_count_ += inputs_.size() + kwargs_.size() + outputs_.size();
  if (attributes_.count() > limits_.attributes) {
    faults_.add(begin, subject_.text() + " has " + beyond_limit(limits_, &ModelLimits::attributes));
  }
  if (!decl_.name.empty()) hand_over();
}

void GraphJsonNodes::read_field(std::size_t field, JsonFields& fields) {
  switch (field) {
    case kName:
      subject_.name = decl_.name = read_required_text(fields);
      return builder_.expect_node(decl_.name);
    case kOp:
      decl_.op = read_required_text(fields);
      return;
    case kDomain:
      decl_.domain = read_text(fields);
      return;
    case kScope:
      decl_.scope = read_text(fields);
      return;
    case kTarget:
      decl_.target = read_text(fields);
      return;
    case kKind:
      return read_kind(fields);
    case kInputs:
      return read_inputs(fields);
    case kKwargs:
      return read_kwargs(fields);
    case kModuleParameters:
      return read_module_parameters(fields);
    case kOutputs:
      return read_outputs(fields);
    case kAttributes:
      return attributes_.read(fields);
    default:
      return read_cost(fields);
  }
}

std::string_view GraphJsonNodes::read_text(JsonFields& fields) {
  return fields.is(JsonType::string) ? values_.kept_name(cursor_.take_string())
                                     : std::string_view();
}

std::string_view GraphJsonNodes::read_required_text(JsonFields& fields) {
  const std::uint64_t offset = cursor_.offset();
  if (!fields.is(JsonType::string)) return {};
  const std::string_view text = values_.kept_name(cursor_.take_string());
  if (text.empty() && !cursor_.fault()) faults_.add(offset, fields.field_text() + " is empty");
  return text;
}

void GraphJsonNodes::read_kind(JsonFields& fields) {
  constexpr std::array<std::pair<std::string_view, NodeKind>, 3> kKinds = {
      {{"call_function", NodeKind::call_function},
       {"call_method", NodeKind::call_method},
       {"call_module", NodeKind::call_module}}};
  const std::uint64_t offset = cursor_.offset();
  if (!fields.is(JsonType::string)) return;
  const std::string name = unescaped(cursor_.take_string());
  for (const auto& [known, kind] : kKinds) {
    if (known != name) continue;
    decl_.kind = kind;
    return;
  }
  if (cursor_.fault()) return;
  faults_.add(offset, fields.field_text() + " is " + escaped_in_quotes(name) +
                          "; it must be call_function, call_method or call_module");
}

void GraphJsonNodes::read_inputs(JsonFields& fields) {
  if (!fields.is(JsonType::list)) return;
  cursor_.enter();
  for (std::uint32_t position = 0; cursor_.next_item(); ++position) {
    if (position > OperandSlot::kMaxPosition) {
      faults_.add(cursor_.offset(), fields.field_text() + " has too many items");
      return cursor_.skip();
    }
    read_reference(fields, inputs_, OperandSlot::positional(position));
  }
}

void GraphJsonNodes::read_kwargs(JsonFields& fields) {
  if (!fields.is(JsonType::object)) return;
  keys_.clear();
  cursor_.enter();
  while (const auto key = cursor_.next_key()) {
    const std::string_view name = values_.kept_name(*key);
    keys_.add(name, key->offset);
    read_reference(fields, kwargs_, OperandSlot::keyword(builder_.intern(name)));
  }
  keys_.report_repeated(faults_, fields);
}

// Reads a value's name, null, a literal, or a list of values. The recursion ends at kMostNested.
void GraphJsonNodes::read_reference(JsonFields& fields, std::vector<Reference>& to,
                                    OperandSlot slot) {
  switch (cursor_.type()) {
    case JsonType::string:
      to.push_back({values_.kept_name(cursor_.take_string()), slot});
      return builder_.expect_value(to.back().value);
    case JsonType::null:
      return cursor_.take_null();
    case JsonType::object:
      return read_list_reference(fields, to, slot.inside_list());
    default:
      return fields.refuse_item(kReference);
  }
}

void GraphJsonNodes::read_list_reference(JsonFields& fields, std::vector<Reference>& to,
                                         OperandSlot slot) {
  const std::uint64_t begin = cursor_.offset();
  if (list_depth_ == kMostNested) {
    faults_.add(begin, fields.field_text() + " is nested more than " + std::to_string(kMostNested) +
                           " deep");
    return cursor_.skip();
  }
  ++list_depth_;
  bool has_list = false;
  cursor_.enter();
  while (const auto key = cursor_.next_key()) {
    if (key->text != "list") {
      faults_.warn_of_unknown(*key, subject_, "list");
      cursor_.skip();
    } else if (has_list) {
      faults_.add(key->offset, "\"list\" is given twice in an item of " + fields.field_text());
      cursor_.skip();
    } else if (cursor_.type() != JsonType::list) {
      has_list = true;
      fields.refuse_item(kReference);
    } else {
      has_list = true;
      cursor_.enter();
      while (cursor_.next_item()) read_reference(fields, to, slot);
    }
  }
  if (!has_list && !cursor_.fault()) {
    faults_.add(begin, "an item of " + fields.field_text() + " must be " + std::string(kReference));
  }
  --list_depth_;
}

void GraphJsonNodes::read_module_parameters(JsonFields& fields) {
  if (!fields.is(JsonType::list)) return;
  cursor_.enter();
  while (cursor_.next_item()) {
    if (cursor_.type() == JsonType::string) {
      module_parameters_.push_back(values_.kept_name(cursor_.take_string()));
    } else {
      fields.refuse_item("a parameter's name");
    }
  }
}

// null marks an optional output that the node omits.
void GraphJsonNodes::read_outputs(JsonFields& fields) {
  if (!fields.is(JsonType::list)) return;
  cursor_.enter();
  for (std::uint32_t position = 0; cursor_.next_item(); ++position) {
    if (cursor_.type() == JsonType::null) {
      cursor_.take_null();
      continue;
    }
    JsonSubject output{"output", "outputs", position, {}, &subject_};
    const DeclaredValue value = values_.read(output, ValueRole::output);
    if (!value.decl.name.empty()) outputs_.emplace_back(value.decl, position);
  }
}

void GraphJsonNodes::read_cost(JsonFields& fields) {
  if (!fields.is(JsonType::object)) return;
  const JsonSubject cost{"cost", {}, 0, {}, &subject_};
  const std::array<double*, 3> to = {&cost_.flops, &cost_.time_us, &cost_.bytes};
  JsonFields costs(cursor_, faults_, kCostFields, cost);
  while (const auto field = costs.next()) {
    const std::uint64_t offset = cursor_.offset();
    if (!costs.is(JsonType::number)) continue;
    const double number = cursor_.take_number().real();
    if (number >= 0) {
      *to[*field] = number;
    } else {
      faults_.add(offset, costs.field_text() + " is below 0");
    }
  }
}

void GraphJsonNodes::hand_over() {
  builder_.add_node(decl_);
  for (const auto* references : {&inputs_, &kwargs_}) {
    for (const Reference& reference : *references) {
      builder_.add_operand(builder_.value_named(reference.value), reference.slot);
    }
  }
  for (const auto& [decl, slot] : outputs_) builder_.add_output(decl, slot);
  for (const std::string_view parameter : module_parameters_) {
    builder_.add_module_parameter(builder_.value_named(parameter));
  }
  attributes_.hand_over();
  const bool is_measured = cost_.flops >= 0 || cost_.time_us >= 0 || cost_.bytes >= 0;
  if (is_measured) builder_.set_measured_cost(cost_);
}

}  // namespace cleave
