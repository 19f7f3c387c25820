#include "formats/base/json/cursor.h"

#include "formats/base/text/diagnostic.h"
#include "formats/base/text/limits.h"

#include <algorithm>
#include <utility>

namespace cleave {
namespace {

// A hint for writers (such as Python's) of numbers that JSON does not have.
std::string_view number_hint(std::string_view word) {
  const bool is_infinite = word == "Infinity" || word == "-Infinity";
  return is_infinite || word == "NaN" ? "; JSON has no such number: write null or a string" : "";
}

}  // namespace

JsonCursor::JsonCursor(std::string_view text, std::size_t max_depth)
    : text_(text), max_depth_(max_depth), source_(text) {
  read_on();
  if (text.starts_with("\xEF\xBB\xBF")) at_ = 1;  // a byte order mark counts as a token
}

// Drops all but one of the tokens before the cursor, and reads pieces until kAhead tokens after it
// are known, or the text ends.
void JsonCursor::read_on() {
  while (at_ >= safe_ && !source_.is_at_end() && !fault_) {
    const std::size_t passed = at_ > 0 ? at_ - 1 : 0;
    tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(passed));
    at_ -= passed;
    if (auto fault = source_.read_piece(tokens_)) return fail(std::move(*fault));
    count_ = tokens_.size();
    const std::size_t ahead = source_.is_at_end() ? 0 : kAhead;
    safe_ = count_ - std::min(count_, ahead);
  }
}

// Searches the next backslash in the text read so far; false when the string ends before it.
bool JsonCursor::holds_backslash(JsonString string) {
  const std::size_t end = source_.offset();
  const std::size_t found = text_.substr(0, end).find('\\', string.offset);
  backslash_ = std::min(found, end);
  return end_ > backslash_;
}

void JsonCursor::fail(JsonFault fault) {
  if (!fault_) fault_ = std::move(fault);
  open_.clear();
  count_ = safe_ = 0;
  is_fresh_ = false;
}

void JsonCursor::fail_here(std::string_view expected) {
  if (at_ >= count_) {
    std::string message = "the text ends too early: expected " + std::string(expected);
    if (open_.empty()) return fail({end_, std::move(message)});
    return fail({end_, std::move(message), open_.back()});
  }
  const std::uint64_t begin = tokens_[at_];
  const std::string_view token = text_.substr(begin, token_end() - begin);
  const std::string_view found = token.substr(0, token.find_first_of(" \t\n\r"));
  fail({begin, "expected " + std::string(expected) + ", found " + escaped_in_quotes(found) +
                   std::string(number_hint(found))});
}

JsonType JsonCursor::no_type() {
  if (!fault_) fail_here("a value");
  return JsonType::none;
}

void JsonCursor::refuse_depth() {
  const bool is_asked = max_depth_ < kMaxDepth;
  fail({tokens_[at_], "nested more than " + std::to_string(max_depth_) + " deep" +
                          (is_asked ? "; " + limit_hint(&ModelLimits::depth) : "")});
}

bool JsonCursor::is_missing_comma(char closer) {
  if (!fault_) fail_here(closer == '}' ? "',' or '}'" : "',' or ']'");
  return false;
}

std::optional<JsonString> JsonCursor::key_expected() {
  if (fault_) return std::nullopt;
  const bool has_key = text_[tokens_[at_ - 1]] == '"';  // otherwise a brace or a comma
  fail_here(has_key ? "':'" : "a key in quotes");
  return std::nullopt;
}

// Returns the string just taken, after checking its escapes.
JsonString JsonCursor::with_escapes(JsonString string) {
  if (const auto bad = find_bad_escape(string.text)) {
    fail({string.offset + 1 + bad->at, escaped_in_quotes(bad->shown) + " is not a valid escape"});
    return {};
  }
  string.has_escapes = true;
  return string;
}

// The run of characters at the cursor: a number, true, false or null.
std::string_view JsonCursor::take_word() {
  const std::uint64_t begin = tokens_[at_];
  end_ = token_end();
  ++at_;
  return text_.substr(begin, end_ - begin);
}

JsonNumber JsonCursor::take_word_as_number() {
  const std::uint64_t begin = offset();
  const std::string_view word = take_word();
  if (is_json_number(word)) return {word};
  fail({begin, escaped_in_quotes(word) + " is not a number as JSON writes it" +
                   std::string(number_hint(word))});
  return {"0", 0};
}

bool JsonCursor::take_boolean() {
  if (fault_) return false;
  const std::uint64_t begin = offset();
  const std::string_view word = take_word();
  if (word != "true" && word != "false") {
    fail({begin, "expected true or false, found " + escaped_in_quotes(word)});
  }
  return word == "true";
}

void JsonCursor::take_null() {
  const std::uint64_t begin = offset();
  const std::string_view word = take_word();
  if (word == "null") return;
  fail({begin, "expected null, found " + escaped_in_quotes(word)});
}

std::string_view JsonCursor::short_number_list() {
  if (peek() != '[') return {};
  for (std::size_t at = at_ + 1; at < std::min(at_ + kAhead, count_); ++at) {
    const char c = text_[tokens_[at]];
    if (c == ']') return text_.substr(tokens_[at_], tokens_[at] + 1 - tokens_[at_]);
    if (c != ',' && (c < '0' || c > '9')) return {};
  }
  return {};
}

void JsonCursor::pass_by(std::string_view list) {
  end_ = static_cast<std::uint64_t>(list.data() + list.size() - text_.data());
  while (at_ < count_ && tokens_[at_] < end_) ++at_;
}

void JsonCursor::skip_scalar_or_enter() {
  switch (type()) {
    case JsonType::object:
    case JsonType::list:
      return enter();
    case JsonType::string:
      take_string();
      return;
    case JsonType::number:
      take_number();
      return;
    case JsonType::boolean:
      take_boolean();
      return;
    case JsonType::null:
      return take_null();
    case JsonType::none:
      return;
  }
}

void JsonCursor::skip() {
  const std::size_t outside = open_.size();
  skip_scalar_or_enter();
  while (open_.size() > outside) {
    const bool is_object = text_[open_.back()] == '{';
    const bool has_more = is_object ? next_key().has_value() : next_item();
    if (has_more) skip_scalar_or_enter();
  }
}

void JsonCursor::expect_end() {
  if (at_ >= safe_) read_on();
  if (!fault_ && at_ < count_) fail_here("the end of the file");
}

}  // namespace cleave
