// JsonTokens: finds where the tokens of a JSON text begin, with simdjson's first stage, a piece of
// the text at a time. All offsets together take as much memory as the text; those of a piece stay
// in the processor's cache.
//
// A piece ends after a '}' outside quotes: it must begin outside quotes, and the first stage
// refuses a text that ends inside them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

struct JsonFault {
  std::uint64_t offset = 0;
  std::string message;
  std::optional<std::uint64_t> opened_at = {};  // the object or list that is not closed
};

class JsonTokens {
 public:
  // `text` must be at most 4 GiB and outlive this.
  explicit JsonTokens(std::string_view text);
  JsonTokens(const JsonTokens&) = delete;
  JsonTokens& operator=(const JsonTokens&) = delete;
  ~JsonTokens();

  // Appends the offsets of the next piece's tokens; there may be none. Do not read on after a
  // fault: a string that is not closed or contains a control character, text that is not UTF-8, no
  // token in all of the text, a text that is too large. Throws std::bad_alloc.
  std::optional<JsonFault> read_piece(std::vector<std::uint32_t>& tokens);
  bool is_at_end() const { return read_ == text_.size() && has_begun_; }
  // The text up to this offset has been read: all strings whose tokens are known end before it.
  std::uint64_t offset() const { return read_; }

 private:
  struct Scanner;

  std::size_t piece_end(std::size_t length) const;
  JsonFault fault_of_rest(int error) const;
  void append_found(std::vector<std::uint32_t>& tokens);

  std::string_view text_;
  std::unique_ptr<Scanner> scanner_;
  std::size_t read_ = 0;
  bool has_begun_ = false, has_tokens_ = false;
};

}  // namespace cleave
