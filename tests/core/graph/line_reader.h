// LineReader: tokens of one line of a test's text.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cleave {

// One line, read from left to right.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text.substr(0, text.find('#'))) {
    skip_space();
  }

  bool at_end() const { return at_ == text_.size(); }
  bool sees(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  bool takes(std::string_view token) {
    if (!sees(token)) return false;
    at_ += token.size();
    skip_space();
    return true;
  }
  // The word, if it is separate: `input x` but not `input_2 = f(x)`.
  bool takes_word(std::string_view word) {
    const std::size_t end = at_ + word.size();
    if (!sees(word) || (end < text_.size() && is_name_char(text_[end]))) return false;
    const std::string_view rest =
        text_.substr(std::min(text_.find_first_not_of(' ', end), text_.size()));
    if (rest.starts_with('=') || rest.starts_with(':') || rest.starts_with(',')) return false;
    return takes(word);
  }
  void expect(std::string_view token) {
    if (!takes(token)) refuse("expected '" + std::string(token) + "'");
  }
  std::string_view name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_name_char(text_[at_])) ++at_;
    if (at_ == begin) refuse("expected a name");
    const std::string_view result = text_.substr(begin, at_ - begin);
    skip_space();
    return result;
  }
  std::string_view in_quotes() {
    expect("\"");
    const std::size_t end = text_.find('"', at_);
    if (end == std::string_view::npos) refuse("expected a closing quote");
    const std::string_view result = text_.substr(at_, end - at_);
    at_ = end + 1;
    skip_space();
    return result;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw std::invalid_argument(why + " at column " + std::to_string(at_ + 1) +
                                " of: " + std::string(text_));
  }

 private:
  static bool is_name_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-' ||
           c == '*' || c == '/';
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\r')) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace cleave
