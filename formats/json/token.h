// JSON tokens: what types of values there are, strings as they stand between their quotes, numbers
// as they are written; and what makes them right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cleave {

enum class JsonType : std::uint8_t { object, list, string, number, boolean, null, none };

// "an object", "a list", ...: for messages.
std::string_view json_type_name(JsonType type);

// A string as it stands between its quotes.
struct JsonString {
  std::string_view text;  // empty and without address when there was none to take
  bool has_escapes = false;
  std::uint64_t offset = 0;  // of the opening quote
};

// The characters meant by a string whose escapes are right.
std::string unescaped(JsonString string);

// The first escape that means no character: where it stands in the text, and what it looks like.
struct BadEscape {
  std::size_t at;
  std::string_view shown;
};
std::optional<BadEscape> find_bad_escape(std::string_view text);

struct JsonNumber {
  std::string_view text;
  std::optional<std::int64_t> known_integer = {};  // when whoever found it has read it already

  // The number, when it is written as an integer and fits; as a real: rounded, beyond all:
  // infinity.
  std::optional<std::int64_t> integer() const {
    return known_integer ? known_integer : parsed_integer();
  }
  double real() const;
  bool is_whole() const;  // written as an integer, whether it fits or not

 private:
  std::optional<std::int64_t> parsed_integer() const;
};

// True when the word is a number as JSON writes it.
bool is_json_number(std::string_view word);

}  // namespace cleave
