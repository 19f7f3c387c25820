// Pieces of JSON: strings, numbers, objects on one line, and JSON text put on one line. Reports are
// written with json/text.h instead.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cleave {

// The text as a JSON string in quotes, UTF-8 unchanged. Bytes that are not UTF-8 become the text
// \xNN.
std::string json_string(std::string_view text);
// The shortest text that reads back as the same number and does not look like an integer; null for
// a number that JSON cannot write.
std::string json_real(double number);

// The valid JSON text without line breaks: unchanged when it has none, else with each break and the
// white space around it removed or replaced by one space.
std::string json_on_one_line(std::string_view json);

// The items in brackets, separated by commas; "[]" when there are none.
std::string json_list(const std::vector<std::string>& items);

// Builds an object on one line, field by field.
class JsonObjectText {
 public:
  void add(std::string_view key, std::string_view json);
  bool empty() const { return text_.empty(); }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

}  // namespace cleave
