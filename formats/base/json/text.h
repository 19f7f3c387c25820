// JsonText: writes JSON front to back, indented by one space a level, into a string or, piece by piece,
// into a file. Short things that people read at a glance (a value, a pair) go on one line: objects and
// lists begun with Layout::one_line.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/base/text/take_text.h"

namespace cleave {

class JsonText {
 public:
  enum class Layout : std::uint8_t { lines, one_line };

  JsonText() = default;
  // Hands the text over in pieces of about a megabyte; finish() hands over the rest.
  explicit JsonText(TakeText take) : take_(std::move(take)) {}

  // Everything inside an object or list on one line is on that line, too.
  void begin_object(Layout layout = Layout::lines) { begin('{', layout); }
  void end_object() { end('}'); }
  void begin_list(Layout layout = Layout::lines) { begin('[', layout); }
  void end_list() { end(']'); }

  // The key of the next value, written without escaping: keys come from the program.
  void key(std::string_view name);

  // Bytes that are not UTF-8 become U+FFFD, control characters escapes.
  void text(std::string_view value);
  void flag(bool value);
  void null();
  // Whole numbers are written without a fraction; infinity and NaN, which JSON lacks, become null.
  void number(double value);
  template <std::integral Integer>
  void number(Integer value) {
    separate();
    out_ += std::to_string(value);
  }
  template <class Number>
  void number(const std::optional<Number>& value) {
    value ? number(*value) : null();
  }

  // A complete JSON document as the next value, indented to its place.
  void document(std::string_view json);

  // A key that comes from the user.
  void text_key(std::string_view name);

  // Key and value in one call.
  void begin_object(std::string_view name, Layout layout = Layout::lines) {
    key(name);
    begin_object(layout);
  }
  void begin_list(std::string_view name, Layout layout = Layout::lines) {
    key(name);
    begin_list(layout);
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  void flag(std::string_view name, bool value) {
    key(name);
    flag(value);
  }
  template <class Number>
  void number(std::string_view name, const Number& value) {
    key(name);
    number(value);
  }

  // The text, with a line break at its end; empty when it was handed over.
  std::string finish() &&;

 private:
  struct Level {
    bool on_one_line;
    bool is_empty = true;
  };

  void begin(char bracket, Layout layout);
  void end(char bracket);
  void separate();
  void new_line();
  void append_quoted(std::string_view text);

  TakeText take_;  // empty: the whole text is kept in out_
  std::string out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace cleave
