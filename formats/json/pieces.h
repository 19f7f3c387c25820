// Pieces of JSON: strings, numbers, objects on one line, and JSON text put on one line. (What
// reports are written with is json_text.h.)
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave {

// The text in quotes as JSON, UTF-8 as it is. Bytes that are not UTF-8 become \xNN in words.
std::string json_string(std::string_view text);
// The shortest text that reads back as the same number, never looking like an integer; null for
// what JSON cannot write.
std::string json_real(double number);

// The valid JSON text without line breaks: as it is when it has none, else with each break and the
// white space around it gone or a single space.
std::string json_on_one_line(std::string_view json);

// The items with commas between them, in brackets; "[]" when there are none.
std::string json_list(const std::vector<std::string>& items);

// An object on one line, field by field.
class JsonObjectText {
 public:
  void add(std::string_view key, std::string_view json);
  bool empty() const { return text_.empty(); }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

}  // namespace cleave
