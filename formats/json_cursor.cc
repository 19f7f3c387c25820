#include "formats/json_cursor.h"

#include "formats/diagnostic.h"
#include "formats/json_fault.h"
#include "formats/utf8.h"

#include <simdjson.h>

#include <algorithm>
#include <cassert>
#include <new>
#include <utility>

namespace cleave {
namespace {

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

void JsonCursor::fail(std::uint64_t offset, std::string message) {
  if (!fault_) fault_ = {offset, std::move(message)};
  open_.clear();
  count_ = 0;
  is_fresh_ = false;
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
  const std::string_view token = text_.substr(begin, token_end() - begin);
  const std::string_view found = token.substr(0, token.find_first_of(" \t\n\r"));
  fail(begin, "expected " + std::string(expected) + ", found " + cleave::quoted(found) +
                  std::string(number_hint(found)));
}

JsonType JsonCursor::no_type() {
  if (!fault_) fail_here("a value");
  return JsonType::none;
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

bool JsonCursor::is_missing_comma(char closer) {
  if (!fault_) fail_here(closer == '}' ? "',' or '}'" : "',' or ']'");
  return false;
}

std::optional<JsonString> JsonCursor::key_expected() {
  if (fault_) return std::nullopt;
  const bool has_key = text_[tokens_[at_ - 1]] == '"';  // else a brace or a comma
  fail_here(has_key ? "':'" : "a key in quotes");
  return std::nullopt;
}

// The string that was taken, once its escapes are known to be right.
JsonString JsonCursor::with_escapes(JsonString string) {
  if (const auto bad = find_bad_escape(string.text)) {
    fail(string.offset + 1 + bad->at, cleave::quoted(bad->shown) + " is no escape of a character");
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
  fail(begin, cleave::quoted(word) + " is not a number as JSON writes it" +
                  std::string(number_hint(word)));
  return {"0", 0};
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
