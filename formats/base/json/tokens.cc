#include "formats/base/json/tokens.h"

#include "formats/base/json/broken_json.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/utf8.h"

#include <simdjson.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace cleave {
namespace {

constexpr std::size_t kPiece = std::size_t{128} << 10U;

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

}  // namespace cleave
