// JSON tokens: types of values, strings as written between their quotes, numbers as written, and
// checks that they are valid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cleave {

enum class JsonType : std::uint8_t { object, list, string, number, boolean, null, none };

// "an object", "a list", ...: for messages.
std::string_view json_type_name(JsonType type);

// A string as written between its quotes.
struct JsonString {
  std::string_view text;  // empty with a null pointer when there was no string
  bool has_escapes = false;
  std::uint64_t offset = 0;  // of the opening quote
};

// The characters of a string whose escapes are valid.
std::string unescaped(JsonString string);

// The first invalid escape: its position in the text, and its characters.
struct BadEscape {
  std::size_t at;
  std::string_view shown;
};
std::optional<BadEscape> find_bad_escape(std::string_view text);

struct JsonNumber {
  std::string_view text;
  std::optional<std::int64_t> known_integer = {};  // set when the number was already parsed

  // The number, if it is written as an integer and fits. As a real it is rounded; one too large is
  // infinity.
  std::optional<std::int64_t> integer() const {
    return known_integer ? known_integer : parsed_integer();
  }
  double real() const;
  bool is_whole() const;  // written as an integer, whether it fits or not

 private:
  std::optional<std::int64_t> parsed_integer() const;
};

// True when the word is a valid JSON number.
bool is_json_number(std::string_view word);

}  // namespace cleave
