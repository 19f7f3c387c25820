#include "formats/models/graph_json/device.h"

#include "formats/base/json/cursor.h"
#include "formats/base/json/pieces.h"

namespace cleave {
namespace {

constexpr std::string_view kDevice = "device";

std::string padded(std::string_view json) {  // for JsonCursor
  std::string text(json);
  text.append(JsonCursor::kPadding, '\0');
  return text;
}

// The fields of the object without `device`.
struct OtherFields {
  JsonObjectText text;
  bool had_device = false;
};

OtherFields fields_but_device(std::string_view json) {
  const std::string text = padded(json);
  JsonCursor cursor(std::string_view(text).substr(0, json.size()));
  OtherFields fields;
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    const std::string name = unescaped(*key);
    const std::uint64_t begin = cursor.offset();
    cursor.skip();
    if (name == kDevice) {
      fields.had_device = true;
    } else {
      fields.text.add(name, json.substr(begin, cursor.end_of_last() - begin));
    }
  }
  return fields;
}

}  // namespace

std::string with_device(std::string node, std::string_view device) {
  if (node.find(kDevice) == node.npos) return node;
  const std::string text = padded(node);
  JsonCursor cursor(std::string_view(text).substr(0, node.size()));
  JsonObjectText made;
  OtherFields attributes;
  bool has_device = false;
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    const std::string name = unescaped(*key);
    const bool is_object = cursor.type() == JsonType::object;
    const std::uint64_t begin = cursor.offset();
    cursor.skip();
    const std::string_view value =
        std::string_view(node).substr(begin, cursor.end_of_last() - begin);
    if (is_object && name == "attributes") {
      attributes = fields_but_device(value);
      has_device = has_device || attributes.had_device;
    } else if (is_object && name == "kwargs") {
      const OtherFields kwargs = fields_but_device(value);
      has_device = has_device || kwargs.had_device;
      made.add(name, kwargs.text.text());
    } else {
      made.add(name, value);
    }
  }
  if (!has_device) return node;
  attributes.text.add(kDevice, json_string(device));
  made.add("attributes", attributes.text.text());
  return made.text();
}

}  // namespace cleave
