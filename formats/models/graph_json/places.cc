#include "formats/models/graph_json/places.h"

#include "formats/base/json/cursor.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cleave {
namespace {

// The offset of the string in the value at the cursor, at any depth; skips the value.
std::optional<std::uint64_t> find_string(JsonCursor& cursor, std::string_view wanted) {
  std::optional<std::uint64_t> place;
  std::vector<JsonType> open;
  do {
    const JsonType type = cursor.type();
    if (type == JsonType::object || type == JsonType::list) {
      open.push_back(type);
      cursor.enter();
    } else if (type == JsonType::string) {
      const JsonString string = cursor.take_string();
      if (!place && unescaped(string) == wanted) place = string.offset;
    } else {
      cursor.skip();
    }
    while (!open.empty()) {
      const bool is_object = open.back() == JsonType::object;
      if (is_object ? cursor.next_key().has_value() : cursor.next_item()) break;
      open.pop_back();
    }
  } while (!open.empty());
  return place;
}

// The offset of the string in the first of the named fields that contains it.
std::optional<std::uint64_t> find_in_fields(std::string_view object,
                                            std::span<const std::string_view> fields,
                                            std::string_view wanted) {
  JsonCursor cursor(object);
  if (cursor.type() == JsonType::string) return find_string(cursor, wanted);
  if (cursor.type() != JsonType::object) return std::nullopt;
  std::optional<std::uint64_t> place;
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    const bool is_asked = std::find(fields.begin(), fields.end(), key->text) != fields.end();
    if (is_asked && !place) {
      place = find_string(cursor, wanted);
    } else {
      cursor.skip();
    }
  }
  return place;
}

}  // namespace

std::uint64_t place_in_field(std::string_view text, SourceSpan where, std::string_view field,
                             std::string_view wanted) {
  const std::string_view object = text.substr(where.offset, where.length);
  return where.offset + find_in_fields(object, std::span(&field, 1), wanted).value_or(0);
}

std::uint64_t place_of_fault(std::string_view text, const GraphFault& fault, SourceSpan where) {
  constexpr std::string_view kName[] = {"name"};
  constexpr std::string_view kOutputs[] = {"outputs"};
  constexpr std::string_view kReaders[] = {"inputs", "kwargs", "module_parameters", "alias_of"};
  const std::string_view object = text.substr(where.offset, where.length);
  const auto in = [&](std::span<const std::string_view> fields) {
    return find_in_fields(object, fields, fault.name);
  };
  std::optional<std::uint64_t> place;
  if (fault.kind == GraphFault::Kind::unknown_value) place = in(kReaders);
  if (fault.kind == GraphFault::Kind::duplicate_value) place = in(kOutputs);
  if (!place) place = in(kName);
  return where.offset + place.value_or(0);
}

SourceSpan span_of_output(std::string_view text, SourceSpan node, std::uint32_t slot) {
  JsonCursor cursor(text.substr(node.offset, node.length));
  SourceSpan found;
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    if (unescaped(*key) != "outputs") {
      cursor.skip();
      continue;
    }
    cursor.enter();
    for (std::uint32_t position = 0; cursor.next_item(); ++position) {
      const std::uint64_t begin = cursor.offset();
      cursor.skip();
      if (position != slot) continue;
      found = {node.offset + begin, static_cast<std::uint32_t>(cursor.end_of_last() - begin)};
    }
  }
  return found;
}

}  // namespace cleave
