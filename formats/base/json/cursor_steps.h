// The steps of a JsonCursor that run dozens of times for each node, inline. Included by cursor.h
// only.
#pragma once

#include "formats/base/json/cursor.h"

namespace cleave {

inline constexpr std::array<JsonType, 256> kTypeOfFirst = [] {
  std::array<JsonType, 256> types;
  types.fill(JsonType::none);
  types['{'] = JsonType::object;
  types['['] = JsonType::list;
  types['"'] = JsonType::string;
  types['t'] = types['f'] = JsonType::boolean;
  types['n'] = JsonType::null;
  types['-'] = JsonType::number;
  for (unsigned digit = '0'; digit <= '9'; ++digit) types[digit] = JsonType::number;
  return types;
}();

inline JsonType JsonCursor::type() {
  const JsonType type = kTypeOfFirst[static_cast<unsigned char>(peek())];
  return type != JsonType::none ? type : no_type();
}

inline bool is_json_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

inline std::uint64_t JsonCursor::offset() const { return at_ < count_ ? tokens_[at_] : end_; }

// The end of the string or word at the cursor: only white space separates it from the next token.
inline std::uint64_t JsonCursor::token_end() const {
  std::uint64_t end = at_ + 1 < count_ ? tokens_[at_ + 1] : text_.size();
  while (is_json_space(text_[end - 1])) --end;
  return end;
}

inline JsonString JsonCursor::take_string() {
  assert(fault_ || peek() == '"');
  if (at_ >= count_) return {};
  const std::uint64_t begin = tokens_[at_];
  end_ = token_end();
  ++at_;
  const std::string_view text(text_.data() + begin + 1, end_ - begin - 2);
  if (end_ <= backslash_ || !holds_backslash({text, false, begin})) return {text, false, begin};
  return with_escapes({text, false, begin});
}

inline void JsonCursor::enter() {
  assert(fault_ || peek() == '{' || peek() == '[');
  if (at_ >= count_) return;
  if (open_.size() >= max_depth_) return refuse_depth();
  open_.push_back(tokens_[at_]);
  end_ = std::uint64_t{tokens_[at_]} + 1;
  ++at_;
  is_fresh_ = true;
}

// Steps to the next key or item; false when the closing bracket came instead.
inline bool JsonCursor::step_on(char closer) {
  const char next = peek();
  if (next == closer) {
    end_ = std::uint64_t{tokens_[at_]} + 1;
    ++at_;
    open_.pop_back();
    is_fresh_ = false;
    return false;
  }
  if (std::exchange(is_fresh_, false)) return true;
  if (next != ',') return is_missing_comma(closer);
  end_ = std::uint64_t{tokens_[at_]} + 1;
  ++at_;
  return true;
}

inline std::optional<JsonString> JsonCursor::next_key() {
  if (!step_on('}')) return std::nullopt;
  if (peek() != '"') return key_expected();
  const JsonString key = take_string();
  if (peek() != ':') return key_expected();
  ++at_;
  return key;
}

inline bool JsonCursor::next_item() { return step_on(']'); }

inline bool JsonCursor::pass_key(std::string_view wanted) {
  const char next = peek();
  const std::size_t key = is_fresh_ ? at_ : at_ + 1;
  if (key + 1 >= count_ || (!is_fresh_ && next != ',')) return false;
  const char* const quote = text_.data() + tokens_[key];
  const char* const colon = text_.data() + tokens_[key + 1];
  // There may be white space between a string and the token after it: next_key() handles such keys.
  const bool is_it = static_cast<std::size_t>(colon - quote) == wanted.size() + 2 &&
                     *colon == ':' && std::memcmp(quote + 1, wanted.data(), wanted.size()) == 0 &&
                     *quote == '"';
  if (!is_it) return false;
  is_fresh_ = false;
  end_ = tokens_[key + 1];
  at_ = key + 2;
  return true;
}

// Reads whole numbers of up to 18 digits, which are nearly all.
inline JsonNumber JsonCursor::take_number() {
  if (at_ >= count_) return {"0", 0};
  const std::uint64_t begin = tokens_[at_];
  const std::uint64_t end = token_end();
  const std::string_view word = text_.substr(begin, end - begin);
  std::int64_t number = 0;
  for (const char c : word) {
    if (c < '0' || c > '9') return take_word_as_number();
    number = number * 10 + (c - '0');
    if (number > 99999999999999999) return take_word_as_number();
  }
  if (word.size() > 1 && word[0] == '0') return take_word_as_number();
  end_ = end;
  ++at_;
  return {word, number};
}

}  // namespace cleave
