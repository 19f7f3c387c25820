#include "formats/models/graph_json/attributes.h"

#include <span>

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

}  // namespace cleave
