// JsonCursor: a walk over the tokens of a JSON text, once, from front to back, with nothing copied
// and nothing kept. simdjson's first stage finds where tokens begin; the cursor reads them, checks
// the grammar of everything it passes, also of what is skipped, and knows the place of each token.
//
//   cursor.enter();                                   // the object that the cursor stands on
//   while (const auto key = cursor.next_key()) {
//     if (key->text == "name") name = cursor.take_string();
//     else cursor.skip();                             // every value must be taken, entered,
//     skipped
//   }
//
// Once the text turns out not to be JSON, fault() says why and where, and the walk is over: every
// object and list ends, every type is `none`. So a reader need not look for faults at each step.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/json_token.h"

namespace cleave {

struct JsonFault {
  std::uint64_t offset = 0;
  std::string message;
  std::optional<std::uint64_t> opened_at = {};  // the object or list that is not closed
};

class JsonCursor {
 public:
  static constexpr std::size_t kMaxDepth = 1000;
  static constexpr std::size_t kPadding = 64;

  // `text` must have kPadding readable bytes behind its end. Needs 4 bytes for each bracket, comma,
  // colon, string and number of the text until it goes. At most 4 GiB of text.
  explicit JsonCursor(std::string_view text);
  JsonCursor(const JsonCursor&) = delete;
  JsonCursor& operator=(const JsonCursor&) = delete;
  ~JsonCursor();

  const std::optional<JsonFault>& fault() const { return fault_; }

  JsonType type();                                    // of the value at the cursor
  std::uint64_t offset() const;                       // of the token at the cursor
  std::uint64_t end_of_last() const { return end_; }  // behind the token taken last

  // Steps into the object or list at the cursor.
  void enter();
  // The next key of the object stepped into, and the cursor stands on its value; nothing at the
  // object's end, and the cursor has stepped out.
  std::optional<JsonString> next_key();
  // The same for a list: true when the cursor stands on one more item.
  bool next_item();

  // These take the value at the cursor, which must be of that type.
  JsonString take_string();
  JsonNumber take_number();
  bool take_boolean();
  void take_null();
  // The text of the list at the cursor when it holds a few numbers and nothing else, else empty.
  // The cursor stays: a reader that has read the same text before may pass_by() it.
  std::string_view short_number_list() const;
  void pass_by(std::string_view list);
  // Passes the value at the cursor, whatever it is.
  void skip();
  // To be called when the outermost value is behind: nothing may follow it.
  void expect_end();

 private:
  struct Index;

  char peek() const { return at_ < count_ ? text_[tokens_[at_]] : '\0'; }
  std::uint64_t token_end() const;
  bool step_on(char closer);
  bool is_missing_comma(char closer);
  std::optional<JsonString> key_expected();
  JsonString with_escapes(JsonString string);
  JsonType no_type();
  void skip_scalar_or_enter();
  std::string_view take_word();
  JsonNumber take_word_as_number();
  void fail(std::uint64_t offset, std::string message);
  void fail_here(std::string_view expected);

  std::string_view text_;
  std::unique_ptr<Index> index_;
  const std::uint32_t* tokens_ = nullptr;  // where each token begins
  std::size_t count_ = 0;
  std::size_t at_ = 0;
  std::uint64_t end_ = 0;
  bool is_fresh_ = false;            // just stepped in: no comma comes before the next item
  std::vector<std::uint32_t> open_;  // where the objects and lists around the cursor begin
  std::optional<JsonFault> fault_;
};

}  // namespace cleave

#include "formats/json_cursor_steps.h"
