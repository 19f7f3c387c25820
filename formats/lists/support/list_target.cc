#include "formats/lists/support/list_target.h"

#include <string>
#include <string_view>

#include "formats/base/text/diagnostic.h"
#include "formats/base/text/faults.h"

namespace cleave {

TargetSpec read_target_numbers(JsonWalk& json, TextFaults& faults) {
  constexpr std::string_view kWanted =
      "an object like {\"launch\": \"100us\", \"flops\": \"4TFLOP/s\"}";
  TargetSpec target;
  json.each_field("\"target\"", kWanted, [&](const std::string& key, std::size_t at) {
    const std::size_t place = json.offset();
    if (!is_target_number(key)) return json.pass_unknown(at, key, "\"target\"", {});
    const auto value = json.take_text(escaped_in_quotes(key));
    if (!value) return;
    const auto set = set_target_number(key, *value, target);
    if (!set) faults.error(place, set.error().message);
  });
  return target;
}

namespace {

bool may_state_target(const SupportList& list) {
  return list.text.find("\"target\"") != std::string::npos &&
         list.text.find_first_not_of(" \t\r\n") == list.text.find('{');
}

}  // namespace

std::string list_target_text(const SupportList& list) {
  if (!may_state_target(list)) return {};
  TextFaults faults(list.path, list.text);
  JsonWalk json(list.text, faults);
  std::string text;
  json.each_field("the list", "an object", [&](const std::string& key, std::size_t) {
    const std::size_t begin = json.offset();
    json.skip();
    if (key != "target") return;
    // What follows the value is a comma or the end of the list.
    text = list.text.substr(begin, json.offset() - begin);
    text.erase(text.rfind('}') + 1);
  });
  return text;
}

std::optional<TargetSpec> list_target(const SupportList& list) {
  if (!may_state_target(list)) return std::nullopt;
  TextFaults faults(list.path, list.text);
  JsonWalk json(list.text, faults);
  std::optional<TargetSpec> target;
  json.each_field("the list", "an object", [&](const std::string& key, std::size_t) {
    key == "target" ? void(target = read_target_numbers(json, faults)) : json.skip();
  });
  return target;
}

}  // namespace cleave
