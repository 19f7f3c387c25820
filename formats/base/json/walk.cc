#include "formats/base/json/walk.h"

namespace cleave {

void JsonWalk::finish() {
  cursor_.expect_end();
  const auto& fault = cursor_.fault();
  if (fault) faults_.error(base_ + fault->offset, "not valid JSON: " + fault->message);
}

std::optional<std::string> JsonWalk::take_text(std::string_view what) {
  if (type() != JsonType::string) {
    refuse(what, "a string");
    return std::nullopt;
  }
  const JsonString text = cursor_.take_string();
  if (cursor_.fault()) return std::nullopt;
  return unescaped(text);
}

std::optional<bool> JsonWalk::take_flag(std::string_view what) {
  if (type() == JsonType::boolean) return cursor_.take_boolean();
  refuse(what, "true or false");
  return std::nullopt;
}

std::optional<double> JsonWalk::take_real(std::string_view what) {
  if (type() == JsonType::number) return cursor_.take_number().real();
  refuse(what, "a number");
  return std::nullopt;
}

std::optional<std::int64_t> JsonWalk::take_integer(std::string_view what, std::int64_t least) {
  const std::string wanted = "a whole number, " + std::to_string(least) + " or more";
  if (type() != JsonType::number) {
    refuse(what, wanted);
    return std::nullopt;
  }
  const std::size_t at = offset();
  const JsonNumber number = cursor_.take_number();
  if (cursor_.fault()) return std::nullopt;
  if (number.integer() && *number.integer() >= least) return number.integer();
  faults_.error(at, std::string(what) + " must be " + wanted + ", not " + std::string(number.text));
  return std::nullopt;
}

void JsonWalk::refuse(std::string_view what, std::string_view wanted) {
  const JsonType found = type();
  if (is_over()) return;
  faults_.error(offset(), std::string(what) + " must be " + std::string(wanted) + ", not " +
                              std::string(json_type_name(found)));
  skip();
}

void JsonWalk::pass_unknown(std::size_t at, std::string_view key, std::string_view where,
                            const std::vector<std::string_view>& known) {
  const std::string near = nearest_name(key, known);
  faults_.warning(at, "unknown field " + escaped_in_quotes(key) + " of " + std::string(where) +
                          " is ignored" +
                          (near.empty() ? "" : ": did you mean " + escaped_in_quotes(near) + "?"));
  skip();
}

}  // namespace cleave
