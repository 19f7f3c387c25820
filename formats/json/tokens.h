// JsonTokens: where the tokens of a JSON text begin, found by simdjson's first stage a piece of the
// text at a time. Their places take as much memory as the text itself; those of a piece stay in the
// processor's cache, and cost a large file nothing.
//
// A piece ends behind a '}' that is outside of quotes: it begins outside of them, and the first
// stage refuses a text that ends inside.
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
  // `text`: at most 4 GiB, and must outlive this.
  explicit JsonTokens(std::string_view text);
  JsonTokens(const JsonTokens&) = delete;
  JsonTokens& operator=(const JsonTokens&) = delete;
  ~JsonTokens();

  // Appends the offsets of the next piece's tokens; there may be none in it. Nothing more is to be
  // read after a fault: a string that is not closed or holds a control character, text that is not
  // UTF-8, no token in all of the text, too large a text. Throws std::bad_alloc.
  std::optional<JsonFault> read_piece(std::vector<std::uint32_t>& tokens);
  bool is_at_end() const { return read_ == text_.size() && has_begun_; }
  // The text up to there has been read: all strings whose tokens are known end before.
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
