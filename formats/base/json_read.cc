// Reads JSON, with faults at their place.

#include <simdjson.h>
#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/base/json.h"
#include "formats/base/text.h"

namespace cleave {

// ---- token ----

namespace {

std::size_t digits_from(std::string_view word, std::size_t at) {
  while (at < word.size() && is_digit(word[at])) ++at;
  return at;
}

// The value of four hexadecimal digits at `at`, or nullopt if they are not all digits.
std::optional<std::uint32_t> hex_unit(std::string_view text, std::size_t at) {
  if (at > text.size() || text.size() - at < 4) return std::nullopt;
  std::uint32_t unit = 0;
  const char* const end = text.data() + at + 4;
  const auto result = std::from_chars(text.data() + at, end, unit, 16);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return unit;
}

// An escape sequence: its length and the character it means.
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

// The escape whose backslash is at `at`, if it is valid.
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

std::optional<std::int64_t> JsonNumber::parsed_integer() const {
  return parse_number<std::int64_t>(text);
}

double JsonNumber::real() const {
  double number = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), number);
  if (result.ec == std::errc()) return number;
  return std::strtod(std::string(text).c_str(), nullptr);  // too large or too small: infinity or 0
}

bool JsonNumber::is_whole() const { return text.find_first_of(".eE") == text.npos; }

std::optional<BadEscape> find_bad_escape(std::string_view text) {
  for (std::size_t at = text.find('\\'); at != text.npos; at = text.find('\\', at)) {
    const auto escape = escape_at(text, at);
    if (!escape) {
      const bool is_unicode = at + 1 < text.size() && text[at + 1] == 'u';
      return BadEscape{at, text.substr(at, is_unicode ? 6 : 2)};
    }
    at += escape->length;
  }
  return std::nullopt;
}

// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
bool is_json_number(std::string_view word) {
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

// ---- tokens ----

namespace {

// A piece and its tokens (4 bytes each) stay in the cache of the core while they are read. With
// pieces in place of all tokens at once, and names that are fetched ahead, a preview of a chain of
// a million nodes fell from 1.84 s to 1.17 s, and the peak of reading from 401 to 212 bytes a node.
// Other lengths were not measured.
constexpr std::size_t kPiece = std::size_t{128} << 10U;

// The offset after the string whose opening quote is at `at`; npos when it is not closed.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.npos;
}

std::optional<StringFault> find_string_fault(std::string_view text) {
  for (std::size_t at = text.find('"'); at != text.npos; at = text.find('"', at)) {
    const std::size_t end = behind_string(text, at);
    const std::string_view inside = text.substr(at, std::min(end, text.size()) - at);
    const auto control =
        std::ranges::find_if(inside, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
    if (control != inside.end()) {
      return StringFault{at + static_cast<std::size_t>(control - inside.begin()), false};
    }
    if (end == text.npos) return StringFault{at, true};
    at = end;
  }
  return std::nullopt;
}

JsonFault string_fault(std::string_view text) {
  const auto fault = find_string_fault(text);
  if (!fault) return {0, "is not JSON"};
  if (fault->is_unclosed) {
    return {fault->offset, "this quote is never closed; is the file complete?"};
  }
  const bool is_break = text[fault->offset] == '\n' || text[fault->offset] == '\r';
  return {fault->offset, is_break ? "the line ends inside quotes; a closing quote is missing"
                                  : "a control character inside quotes; write it as \\u00XX"};
}

// The text between the quotes around `offset`; ends sensibly when the closing quote is missing.
std::string_view json_string_around(std::string_view text, std::uint64_t offset) {
  const std::size_t open = text.rfind('"', offset);
  if (open == text.npos) return {};
  const std::size_t close = std::min(behind_string(text, open), text.size());
  return text.substr(open + 1, close - open - 2);
}

JsonFault utf8_fault(std::string_view text) {
  const std::size_t offset = first_invalid_utf8(text);
  if (offset == text.npos) return {0, "is not UTF-8"};
  const std::string_view around = json_string_around(text, offset);
  return {offset, json_holder_of(text, offset) +
                      " holds text that is not UTF-8: " + escaped_in_quotes(around)};
}

}  // namespace

struct JsonTokens::Scanner {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> parser;
  std::size_t capacity = 0;

  simdjson::error_code scan(std::string_view text) {
    if (text.size() > capacity || !parser) {
      parser.reset();  // free the smaller one's memory first
      const simdjson::error_code error =
          simdjson::get_active_implementation()->create_dom_parser_implementation(text.size(), 1,
                                                                                  parser);
      if (error != simdjson::SUCCESS) return error;
      capacity = text.size();
    }
    return parser->stage1(reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                          simdjson::stage1_mode::regular);
  }
};

JsonTokens::JsonTokens(std::string_view text)
    : text_(text), scanner_(std::make_unique<Scanner>()) {}

JsonTokens::~JsonTokens() = default;

// A place near `length` where a piece may end; the end of the text when there is none.
std::size_t JsonTokens::piece_end(std::size_t length) const {
  if (length >= text_.size() - read_) return text_.size();
  const std::size_t brace = text_.substr(read_, length).rfind('}');
  return brace == text_.npos ? read_ : read_ + brace + 1;
}

JsonFault JsonTokens::fault_of_rest(int error) const {
  switch (error) {
    case simdjson::CAPACITY:
      return {0, "is larger than 4 GiB, the most that can be read as JSON"};
    case simdjson::EMPTY:
      return {0, "contains only white space"};
    case simdjson::UTF8_ERROR:
      return utf8_fault(text_);
    default: {
      JsonFault fault = string_fault(text_.substr(read_));
      fault.offset += read_;
      return fault;
    }
  }
}

void JsonTokens::append_found(std::vector<std::uint32_t>& tokens) {
  const std::uint32_t* const found = scanner_->parser->structural_indexes.get();
  const std::size_t count = scanner_->parser->n_structural_indexes;
  const auto known = static_cast<std::ptrdiff_t>(tokens.size());
  tokens.resize(tokens.size() + count);
  const auto base = static_cast<std::uint32_t>(read_);
  std::transform(found, found + count, tokens.begin() + known,
                 [base](std::uint32_t at) { return base + at; });
  has_tokens_ = true;
}

std::optional<JsonFault> JsonTokens::read_piece(std::vector<std::uint32_t>& tokens) {
  has_begun_ = true;
  if (text_.size() > std::numeric_limits<std::uint32_t>::max()) {
    return fault_of_rest(simdjson::CAPACITY);
  }
  for (std::size_t length = kPiece;; length *= 2) {
    const std::size_t end = piece_end(length);
    if (end == read_ && end < text_.size()) continue;
    const simdjson::error_code error = scanner_->scan(text_.substr(read_, end - read_));
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    const bool is_whole = end == text_.size();
    if (error == simdjson::UNCLOSED_STRING && !is_whole) continue;  // that '}' is inside quotes
    const bool is_blank = error == simdjson::EMPTY && (has_tokens_ || !is_whole);
    if (error != simdjson::SUCCESS && !is_blank) return fault_of_rest(error);
    if (!is_blank) append_found(tokens);
    read_ = end;
    return std::nullopt;
  }
}

// ---- cursor ----

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

// ---- walk ----

void JsonWalk::finish() {
  cursor_.expect_end();
  const auto& fault = cursor_.fault();
  if (fault) faults_.error(base_ + fault->offset, "not valid JSON: " + fault->message);
}

std::optional<std::string> JsonWalk::take_text(std::string_view what) {
  if (type() != JsonType::string) {
    refuse(what, "a string");
    return std::nullopt;
  }
  const JsonString text = cursor_.take_string();
  if (cursor_.fault()) return std::nullopt;
  return unescaped(text);
}

std::optional<bool> JsonWalk::take_flag(std::string_view what) {
  if (type() == JsonType::boolean) return cursor_.take_boolean();
  refuse(what, "true or false");
  return std::nullopt;
}

std::optional<double> JsonWalk::take_real(std::string_view what) {
  if (type() == JsonType::number) return cursor_.take_number().real();
  refuse(what, "a number");
  return std::nullopt;
}

std::optional<std::int64_t> JsonWalk::take_integer(std::string_view what, std::int64_t least) {
  const std::string wanted = "a whole number, " + std::to_string(least) + " or more";
  if (type() != JsonType::number) {
    refuse(what, wanted);
    return std::nullopt;
  }
  const std::size_t at = offset();
  const JsonNumber number = cursor_.take_number();
  if (cursor_.fault()) return std::nullopt;
  if (number.integer() && *number.integer() >= least) return number.integer();
  faults_.error(at, std::string(what) + " must be " + wanted + ", not " + std::string(number.text));
  return std::nullopt;
}

void JsonWalk::refuse(std::string_view what, std::string_view wanted) {
  const JsonType found = type();
  if (is_over()) return;
  faults_.error(offset(), std::string(what) + " must be " + std::string(wanted) + ", not " +
                              std::string(json_type_name(found)));
  skip();
}

void JsonWalk::pass_unknown(std::size_t at, std::string_view key, std::string_view where,
                            const std::vector<std::string_view>& known) {
  const std::string near = nearest_name(key, known);
  faults_.warning(at, "unknown field " + escaped_in_quotes(key) + " of " + std::string(where) +
                          " is ignored" +
                          (near.empty() ? "" : ": did you mean " + escaped_in_quotes(near) + "?"));
  skip();
}

// ---- fields ----

std::string JsonSubject::text() const {
  std::string text;
  for (const JsonSubject* at = this; at != nullptr && !at->is_outermost(); at = at->owner) {
    if (!text.empty()) text += " of ";
    if (at->list.empty()) {
      text += at->kind;
    } else if (at->name.empty()) {
      text += std::string(at->list) + '[' + std::to_string(at->position) + ']';
    } else {
      text += std::string(at->kind) + ' ' + escaped_in_quotes(at->name);
    }
  }
  return text.empty() ? "the graph" : text;
}

void JsonFaults::add(std::uint64_t offset, std::string message, std::vector<std::string> notes) {
  if (!is_full()) faults_.push_back({offset, std::move(message), std::move(notes)});
}

void JsonFaults::add(std::string message, std::vector<std::string> notes) {
  if (!is_full()) faults_.push_back({std::nullopt, std::move(message), std::move(notes)});
}

void JsonFaults::warn_of_unknown(JsonString key, const JsonSubject& subject,
                                 std::string_view suggestion) {
  if (warned_.size() >= kMost) return;
  std::string name = unescaped(key);
  if (contains(warned_, name)) return;
  Fault warning{
      key.offset,
      "unknown field " + escaped_in_quotes(name) + " of " + subject.text() + " is not read",
      {}};
  if (!suggestion.empty())
    warning.notes.push_back("did you mean " + escaped_in_quotes(suggestion) + "?");
  warnings_.push_back(std::move(warning));
  warned_.push_back(std::move(name));
}

Diagnostic JsonFaults::diagnostic_for(const Fault& fault) const {
  Diagnostic diagnostic =
      fault.offset ? diagnostic_at(source_.path(), source_.bytes(), *fault.offset, fault.message)
                   : diagnostic_of(source_.path(), fault.message);
  diagnostic.notes = fault.notes;
  return diagnostic;
}

std::string JsonFaults::place_of(std::uint64_t offset) const {
  const Diagnostic place = diagnostic_at(source_.path(), source_.bytes(), offset, {});
  return std::to_string(place.line) + ':' + std::to_string(place.column);
}

Diagnostics JsonFaults::errors() const {
  std::vector<const Fault*> order;
  for (const Fault& fault : faults_) order.push_back(&fault);
  std::ranges::stable_sort(order, [](const Fault* a, const Fault* b) {
    return a->offset.value_or(0) < b->offset.value_or(0);
  });
  Diagnostics errors;
  errors.reserve(order.size());
  for (const Fault* fault : order) errors.push_back(diagnostic_for(*fault));
  return errors;
}

Diagnostics JsonFaults::warnings() const {
  Diagnostics warnings;
  for (const Fault& warning : warnings_) {
    warnings.push_back(diagnostic_for(warning));
    warnings.back().severity = Severity::warning;
  }
  return warnings;
}

JsonFields::JsonFields(JsonCursor& cursor, JsonFaults& faults,
                       std::span<const std::string_view> known, const JsonSubject& subject,
                       JsonFieldOrder* order)
    : cursor_(cursor), faults_(faults), known_(known), subject_(subject), order_(order) {
  assert(known.size() <= 32);
  cursor.enter();
}

std::optional<std::size_t> JsonFields::find(std::string_view key) const {
  const auto found = std::ranges::find(known_, key);
  if (found == known_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - known_.begin());
}

std::optional<std::size_t> JsonFields::look_for_next() {
  while (const auto key = cursor_.next_key()) {
    const auto field = key->has_escapes ? find(unescaped(*key)) : find(key->text);
    if (!field) {
      const std::vector<std::string_view> names(known_.begin(), known_.end());
      faults_.warn_of_unknown(*key, subject_, nearest_name(unescaped(*key), names));
      cursor_.skip();
    } else if (has(*field)) {
      faults_.add(key->offset,
                  escaped_in_quotes(known_[*field]) + " is given twice in " + subject_.text());
      cursor_.skip();
    } else {
      if (order_ != nullptr) order_->learn(last_, *field);
      seen_ |= 1U << *field;
      last_ = field;
      return field;
    }
  }
  return std::nullopt;
}

std::string JsonFields::field_text() const {
  const std::string field = escaped_in_quotes(known_[last_.value_or(0)]);
  return subject_.is_outermost() ? field : field + " of " + subject_.text();
}

void JsonFields::refuse_as(const std::string& what, std::string_view wanted) {
  const JsonType found = cursor_.type();
  if (found == JsonType::none) return;
  faults_.add(cursor_.offset(), what + " must be " + std::string(wanted) + ", not " +
                                    std::string(json_type_name(found)));
  cursor_.skip();
}

bool JsonFields::is_refused(JsonType wanted) {
  refuse(json_type_name(wanted));
  return false;
}

void JsonKeys::report_repeated(JsonFaults& faults, const JsonFields& fields) {
  const auto report = [&](const Key& key) {
    faults.add(key.offset,
               escaped_in_quotes(key.text) + " is given twice in " + fields.field_text());
  };
  if (keys_.size() <= 8) {  // nearly always: no need to sort
    for (std::size_t i = 1; i < keys_.size(); ++i) {
      const auto here = keys_.begin() + static_cast<std::ptrdiff_t>(i);
      const auto same = [&](const Key& key) { return key.text == here->text; };
      if (std::any_of(keys_.begin(), here, same)) report(*here);
    }
    return;
  }
  std::ranges::sort(keys_, [](const Key& a, const Key& b) {
    return std::pair(a.text, a.offset) < std::pair(b.text, b.offset);
  });
  for (std::size_t i = 1; i < keys_.size(); ++i) {
    if (keys_[i].text == keys_[i - 1].text) report(keys_[i]);
  }
}

// ---- broken json ----

namespace {}  // namespace

std::string json_holder_of(std::string_view text, std::uint64_t offset) {
  std::size_t depth = 0;
  std::size_t item = 0;  // commas at depth 2
  // the last string at depth 1: a key, or a value before which no list began
  std::string_view word;
  std::string_view key;
  std::size_t at = 0;
  while (at < std::min<std::size_t>(offset, text.size())) {
    const char c = text[at];
    if (c == '"') {
      const std::size_t end = std::min(behind_string(text, at), text.size());
      if (depth == 1) word = text.substr(at + 1, end - at - 2);
      if (end > offset) break;
      at = end;
      continue;
    }
    if (c == '{' || c == '[') {
      if (depth == 1) {
        item = 0;
        key = c == '[' ? word : std::string_view();
      }
      ++depth;
    }
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (c == ',' && depth == 2) ++item;
    ++at;
  }
  if (depth < 2 || key.empty()) return "the graph";
  return std::string(key) + "[" + std::to_string(item) + "]";
}

}  // namespace cleave
