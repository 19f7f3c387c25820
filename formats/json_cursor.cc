#include "formats/json_cursor.h"

#include "formats/diagnostic.h"
#include "formats/json_fault.h"
#include "formats/utf8.h"

#include <simdjson.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdlib>
#include <new>
#include <utility>

namespace cleave {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_from(std::string_view word, std::size_t at) {
  while (at < word.size() && is_digit(word[at])) ++at;
  return at;
}

// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
bool is_number(std::string_view word) {
  std::size_t at = word.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits_from(word, at);
  if (whole == at || (word[at] == '0' && whole > at + 1)) return false;
  at = whole;
  if (at < word.size() && word[at] == '.') {
    const std::size_t fraction = digits_from(word, at + 1);
    if (fraction == at + 1) return false;
    at = fraction;
  }
  if (at < word.size() && (word[at] == 'e' || word[at] == 'E')) {
    ++at;
    if (at < word.size() && (word[at] == '+' || word[at] == '-')) ++at;
    const std::size_t exponent = digits_from(word, at);
    if (exponent == at) return false;
    at = exponent;
  }
  return at == word.size();
}

// The number that four hexadecimal digits at `at` write, or nothing when they are not there.
std::optional<std::uint32_t> hex_unit(std::string_view text, std::size_t at) {
  if (at > text.size() || text.size() - at < 4) return std::nullopt;
  std::uint32_t unit = 0;
  const char* const end = text.data() + at + 4;
  const auto result = std::from_chars(text.data() + at, end, unit, 16);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return unit;
}

// One escape sequence: how long it is and which character it means.
struct Escape {
  std::size_t length;
  char32_t character;
};

std::optional<Escape> unicode_escape(std::string_view text, std::size_t at) {
  const auto first = hex_unit(text, at + 2);
  if (!first || (*first >= 0xDC00 && *first <= 0xDFFF)) return std::nullopt;
  if (*first < 0xD800 || *first > 0xDBFF) return Escape{6, *first};
  if (text.substr(std::min(at + 6, text.size()), 2) != "\\u") return std::nullopt;
  const auto second = hex_unit(text, at + 8);
  if (!second || *second < 0xDC00 || *second > 0xDFFF) return std::nullopt;
  return Escape{12, 0x10000 + ((*first - 0xD800) << 10U) + (*second - 0xDC00)};
}

// The escape that begins with the backslash at `at`, if it is one.
std::optional<Escape> escape_at(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size()) return std::nullopt;
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  const std::size_t known = kLetters.find(text[at + 1]);
  if (known != kLetters.npos) return Escape{2, static_cast<char32_t>(kMeant[known])};
  return text[at + 1] == 'u' ? unicode_escape(text, at) : std::nullopt;
}

void append_utf8(std::string& to, char32_t c) {
  const auto put = [&](char32_t byte) {
    to += static_cast<char>(static_cast<unsigned char>(byte));
  };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | (c >> 6U));
  } else {
    if (c < 0x10000) {
      put(0xE0 | (c >> 12U));
    } else {
      put(0xF0 | (c >> 18U));
      put(0x80 | ((c >> 12U) & 0x3FU));
    }
    put(0x80 | ((c >> 6U) & 0x3FU));
  }
  put(0x80 | (c & 0x3FU));
}

// What to say to those whose writer (Python's, for one) puts down numbers that JSON has not.
std::string_view number_hint(std::string_view word) {
  const bool is_infinite = word == "Infinity" || word == "-Infinity";
  return is_infinite || word == "NaN" ? "; JSON has no such number: write null or a string" : "";
}

JsonFault string_fault(std::string_view text) {
  const auto fault = find_string_fault(text);
  if (!fault) return {0, "is not JSON"};
  if (fault->is_unclosed) {
    return {fault->offset, "this quote is never closed; is the file whole?"};
  }
  const bool is_break = text[fault->offset] == '\n' || text[fault->offset] == '\r';
  return {fault->offset, is_break ? "the line ends inside quotes; a closing quote is missing"
                                  : "a control character inside quotes; write it as \\u00XX"};
}

JsonFault utf8_fault(std::string_view text) {
  const std::size_t offset = first_invalid_utf8(text);
  if (offset == text.npos) return {0, "is not UTF-8"};
  const std::string_view around = json_string_around(text, offset);
  return {offset,
          json_holder_of(text, offset) + " holds text that is not UTF-8: " + quoted(around)};
}

}  // namespace

std::string_view json_type_name(JsonType type) {
  switch (type) {
    case JsonType::object:
      return "an object";
    case JsonType::list:
      return "a list";
    case JsonType::string:
      return "a string";
    case JsonType::number:
      return "a number";
    case JsonType::boolean:
      return "true or false";
    case JsonType::null:
      return "null";
    case JsonType::none:
      break;
  }
  return "nothing";
}

std::string unescaped(JsonString string) {
  if (!string.has_escapes) return std::string(string.text);
  std::string out;
  out.reserve(string.text.size());
  for (std::size_t at = 0; at < string.text.size();) {
    if (string.text[at] != '\\') {
      out += string.text[at++];
      continue;
    }
    const auto escape = escape_at(string.text, at);
    assert(escape && "the cursor checked the escapes of what it gave out");
    append_utf8(out, escape->character);
    at += escape->length;
  }
  return out;
}

std::optional<std::int64_t> JsonNumber::integer() const {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

double JsonNumber::real() const {
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec == std::errc()) return number;
  return std::strtod(std::string(text).c_str(), nullptr);  // too large or too small: saturates
}

bool JsonNumber::is_whole() const { return text.find_first_of(".eE") == text.npos; }

struct JsonCursor::Index {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> tokens;
};

JsonCursor::JsonCursor(std::string_view text) : text_(text), index_(std::make_unique<Index>()) {
  static_assert(kPadding >= simdjson::SIMDJSON_PADDING);
  simdjson::error_code error =
      simdjson::get_active_implementation()->create_dom_parser_implementation(text.size(), 1,
                                                                              index_->tokens);
  if (error == simdjson::SUCCESS) {
    error = index_->tokens->stage1(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                   simdjson::stage1_mode::regular);
  }
  switch (error) {
    case simdjson::SUCCESS:
      tokens_ = index_->tokens->structural_indexes.get();
      count_ = index_->tokens->n_structural_indexes;
      if (text.starts_with("\xEF\xBB\xBF")) at_ = 1;  // a byte order mark passes for a token
      return;
    case simdjson::MEMALLOC:
      throw std::bad_alloc();
    case simdjson::CAPACITY:
      fault_ = {0, "is larger than 4 GiB, the most that can be read as JSON"};
      return;
    case simdjson::EMPTY:
      fault_ = {0, "holds nothing but white space"};
      return;
    case simdjson::UTF8_ERROR:
      fault_ = utf8_fault(text);
      return;
    default:
      fault_ = string_fault(text);
  }
}

JsonCursor::~JsonCursor() = default;

std::uint64_t JsonCursor::offset() const { return at_ < count_ ? tokens_[at_] : end_; }

std::uint64_t JsonCursor::token_limit() const {
  return at_ + 1 < count_ ? tokens_[at_ + 1] : text_.size();
}

void JsonCursor::fail(std::uint64_t offset, std::string message) {
  if (!fault_) fault_ = {offset, std::move(message)};
  open_.clear();
  count_ = 0;
}

void JsonCursor::fail_here(std::string_view expected) {
  if (at_ >= count_) {
    std::string message = "the text ends too early: expected " + std::string(expected);
    if (open_.empty()) return fail(end_, std::move(message));
    const std::uint32_t opened = open_.back();
    fail(end_, std::move(message));
    fault_->opened_at = opened;
    return;
  }
  const std::uint64_t begin = tokens_[at_];
  std::uint64_t end = begin + 1;
  while (end < token_limit() && !is_space(text_[end])) ++end;
  const std::string_view found = text_.substr(begin, end - begin);
  fail(begin, "expected " + std::string(expected) + ", found " + cleave::quoted(found) +
                  std::string(number_hint(found)));
}

JsonType JsonCursor::type() {
  if (fault_) return JsonType::none;
  switch (peek()) {
    case '{':
      return JsonType::object;
    case '[':
      return JsonType::list;
    case '"':
      return JsonType::string;
    case 't':
    case 'f':
      return JsonType::boolean;
    case 'n':
      return JsonType::null;
    case '-':
      return JsonType::number;
    default:
      if (is_digit(peek())) return JsonType::number;
      fail_here("a value");
      return JsonType::none;
  }
}

void JsonCursor::enter() {
  assert(fault_ || peek() == '{' || peek() == '[');
  if (fault_) return;
  if (open_.size() == kMaxDepth) {
    return fail(tokens_[at_], "nested more than " + std::to_string(kMaxDepth) + " deep");
  }
  open_.push_back(tokens_[at_]);
  end_ = tokens_[at_] + 1;
  ++at_;
  is_fresh_ = true;
}

// To the next key or item; false when the closer came instead.
bool JsonCursor::step_on(char closer) {
  if (fault_) return false;
  if (peek() == closer) {
    end_ = tokens_[at_] + 1;
    ++at_;
    open_.pop_back();
    is_fresh_ = false;
    return false;
  }
  if (std::exchange(is_fresh_, false)) return true;
  if (peek() != ',') {
    fail_here(closer == '}' ? "',' or '}'" : "',' or ']'");
    return false;
  }
  end_ = tokens_[at_] + 1;
  ++at_;
  return true;
}

std::optional<JsonString> JsonCursor::next_key() {
  if (!step_on('}')) return std::nullopt;
  if (peek() != '"') {
    fail_here("a key in quotes");
    return std::nullopt;
  }
  const JsonString key = take_string();
  if (fault_) return std::nullopt;
  if (peek() != ':') {
    fail_here("':'");
    return std::nullopt;
  }
  ++at_;
  return key;
}

bool JsonCursor::next_item() { return step_on(']'); }

void JsonCursor::check_escapes(JsonString string) {
  for (std::size_t at = string.text.find('\\'); at != string.text.npos;
       at = string.text.find('\\', at)) {
    const auto escape = escape_at(string.text, at);
    if (!escape) {
      const std::string_view shown = string.text.substr(at, string.text[at + 1] == 'u' ? 6 : 2);
      return fail(string.offset + 1 + at, cleave::quoted(shown) + " is no escape of a character");
    }
    at += escape->length;
  }
}

JsonString JsonCursor::take_string() {
  assert(fault_ || peek() == '"');
  if (fault_) return {};
  // Between this token and the next one stand the string and white space.
  const std::uint64_t begin = tokens_[at_];
  std::uint64_t end = token_limit();
  while (is_space(text_[end - 1])) --end;
  JsonString string{text_.substr(begin + 1, end - begin - 2), false, begin};
  string.has_escapes = string.text.find('\\') != string.text.npos;
  if (string.has_escapes) check_escapes(string);
  if (fault_) return {};
  end_ = end;
  ++at_;
  return string;
}

// The run of characters at the cursor: a number, true, false or null.
std::string_view JsonCursor::take_word() {
  const std::uint64_t begin = tokens_[at_];
  std::uint64_t end = token_limit();
  while (is_space(text_[end - 1])) --end;
  end_ = end;
  ++at_;
  return text_.substr(begin, end - begin);
}

JsonNumber JsonCursor::take_number() {
  if (fault_) return {"0"};
  const std::uint64_t begin = offset();
  const std::string_view word = take_word();
  if (is_number(word)) return {word};
  fail(begin, cleave::quoted(word) + " is not a number as JSON writes it" +
                  std::string(number_hint(word)));
  return {"0"};
}

bool JsonCursor::take_boolean() {
  if (fault_) return false;
  const std::uint64_t begin = offset();
  const std::string_view word = take_word();
  if (word != "true" && word != "false") {
    fail(begin, "expected true or false, found " + cleave::quoted(word));
  }
  return word == "true";
}

void JsonCursor::take_null() {
  const std::uint64_t begin = offset();
  const std::string_view word = take_word();
  if (word == "null") return;
  fail(begin, "expected null, found " + cleave::quoted(word));
}

std::string_view JsonCursor::short_number_list() const {
  constexpr std::size_t kMostTokens = 16;
  if (peek() != '[') return {};
  for (std::size_t at = at_ + 1; at < std::min(at_ + kMostTokens, count_); ++at) {
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
  if (!fault_ && at_ < count_) fail_here("the end of the file");
}

}  // namespace cleave
