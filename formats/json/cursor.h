// JsonCursor: a walk over the tokens of a JSON text, once, from front to back, with nothing copied
// and nothing kept. JsonTokens finds where tokens begin, a piece of the text at a time; the cursor
// reads them, checks the grammar of everything it passes, also of what is skipped, and knows the
// place of each token.
//
//   cursor.enter();                                   // the object that the cursor stands on
//   while (const auto key = cursor.next_key()) {
//     if (key->text == "name") name = cursor.take_string();
//     else cursor.skip();  // every value must be taken, entered or skipped
//   }
//
// Once the text turns out not to be JSON, fault() says why and where, and the walk is over: every
// object and list ends, every type is `none`. So a reader need not look for faults at each step.
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

#include "formats/json/token.h"
#include "formats/json/tokens.h"

namespace cleave {

class JsonCursor {
 public:
  static constexpr std::size_t kMaxDepth = 1000;
  static constexpr std::size_t kPadding = 64;

  // `text` must have kPadding readable bytes behind its end, and outlive this. At most 4 GiB of it.
  // Objects and lists nested more than `max_depth` deep are a fault.
  explicit JsonCursor(std::string_view text, std::size_t max_depth = kMaxDepth);

  const std::optional<JsonFault>& fault() const { return fault_; }

  JsonType type();                                    // of the value at the cursor
  std::uint64_t offset() const;                       // of the token at the cursor
  std::uint64_t end_of_last() const { return end_; }  // behind the token taken last

  // Steps into the object or list at the cursor.
  void enter();
  // The next key of the object stepped into, and the cursor stands on its value; nothing at the
  // object's end, and the cursor has stepped out.
  std::optional<JsonString> next_key();
  // True, and steps on as next_key() does, when the next key is that one, which must need no
  // escape. False tells nothing but that next_key() must look.
  bool pass_key(std::string_view wanted);
  // The same as next_key() for a list: true when the cursor stands on one more item.
  bool next_item();

  // These take the value at the cursor, which must be of that type.
  JsonString take_string();
  JsonNumber take_number();
  bool take_boolean();
  void take_null();
  // The text of the list at the cursor when it holds a few numbers and nothing else, else empty.
  // The cursor stays: a reader that has read the same text before may pass_by() it.
  std::string_view short_number_list();
  void pass_by(std::string_view list);
  // Passes the value at the cursor, whatever it is.
  void skip();
  // To be called when the outermost value is behind: nothing may follow it.
  void expect_end();

 private:
  // So many tokens behind the one that was peeked at are known, too, but where the text ends.
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
  std::vector<std::uint32_t> tokens_;  // where tokens begin: those around the cursor
  std::size_t count_ = 0;              // of tokens_; none after a fault
  std::size_t safe_ = 0;               // before it, kAhead more are known
  std::size_t at_ = 0;
  std::uint64_t end_ = 0;
  std::uint64_t backslash_ = 0;      // none stands between the token taken last and there
  bool is_fresh_ = false;            // just stepped in: no comma comes before the next item
  std::vector<std::uint32_t> open_;  // where the objects and lists around the cursor begin
  std::optional<JsonFault> fault_;
};

}  // namespace cleave

#include "formats/json/cursor_steps.h"
