// JsonCursor: walks over the tokens of a JSON text once, front to back. It copies and keeps none of
// the text. JsonTokens finds where tokens begin, a piece of the text at a time; the cursor reads
// them, checks the grammar of everything it passes, also of what is skipped, and knows the offset
// of each token.
//
//   cursor.enter();                                   // the object at the cursor
//   while (const auto key = cursor.next_key()) {
//     if (key->text == "name") name = cursor.take_string();
//     else cursor.skip();  // every value must be taken, entered or skipped
//   }
//
// Once the text turns out not to be JSON, fault() says why and where, and the walk is over: every
// object and list ends, every type is `none`. So a reader need not check for faults at each step.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/base/json/token.h"
#include "formats/base/json/tokens.h"

namespace cleave {

class JsonCursor {
 public:
  static constexpr std::size_t kMaxDepth = 1000;
  static constexpr std::size_t kPadding = 64;

  // `text` must have kPadding readable bytes after its end, be at most 4 GiB long, and outlive
  // this. Objects and lists nested deeper than `max_depth` are a fault.
  explicit JsonCursor(std::string_view text, std::size_t max_depth = kMaxDepth);

  const std::optional<JsonFault>& fault() const { return fault_; }

  JsonType type();                                    // of the value at the cursor
  std::uint64_t offset() const;                       // of the token at the cursor
  std::uint64_t end_of_last() const { return end_; }  // end of the token taken last

  // Steps into the object or list at the cursor.
  void enter();
  // The next key of the object stepped into; the cursor is then at its value. nullopt at the end of
  // the object, which has then been left.
  std::optional<JsonString> next_key();
  // If the next key is `wanted`, which must not need an escape, steps on as next_key() does and
  // returns true. False only means that next_key() must be called.
  bool pass_key(std::string_view wanted);
  // next_key() for a list: true when the cursor is at another item.
  bool next_item();

  // These take the value at the cursor, which must have that type.
  JsonString take_string();
  JsonNumber take_number();
  bool take_boolean();
  void take_null();
  // The text of the list at the cursor if it contains only a few numbers, else empty. The cursor
  // stays: a reader that has seen the same text before may pass_by() it.
  std::string_view short_number_list();
  void pass_by(std::string_view list);
  // Skips the value at the cursor, whatever it is.
  void skip();
  // Call after the outermost value: reports anything that follows it.
  void expect_end();

 private:
  // This many tokens after the one peeked at are known, too, except at the end of the text.
  static constexpr std::size_t kAhead = 16;

  char peek() {
    if (at_ >= safe_) read_on();
    return at_ < count_ ? text_[tokens_[at_]] : '\0';
  }
  void read_on();
  std::uint64_t token_end() const;
  bool step_on(char closer);
  bool is_missing_comma(char closer);
  std::optional<JsonString> key_expected();
  bool holds_backslash(JsonString string);
  JsonString with_escapes(JsonString string);
  JsonType no_type();
  void skip_scalar_or_enter();
  std::string_view take_word();
  JsonNumber take_word_as_number();
  void refuse_depth();
  void fail(JsonFault fault);
  void fail_here(std::string_view expected);

  std::string_view text_;
  std::size_t max_depth_;
  JsonTokens source_;
  std::vector<std::uint32_t> tokens_;  // where the tokens around the cursor begin
  std::size_t count_ = 0;              // of tokens_; 0 after a fault
  std::size_t safe_ = 0;               // for positions below it, kAhead more tokens are known
  std::size_t at_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t backslash_ = 0;      // there is none between the token taken last and this offset
  bool is_fresh_ = false;            // just stepped in: no comma precedes the next item
  std::vector<std::uint32_t> open_;  // offsets of the objects and lists around the cursor
  std::optional<JsonFault> fault_;
};

}  // namespace cleave

#include "formats/base/json/cursor_steps.h"
