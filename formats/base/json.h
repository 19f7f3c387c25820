// JSON: a cursor over text with faults at their place, and a writer in pieces.
#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/text.h"

namespace cleave {

// ---- text ----
//
// JsonText: writes JSON front to back, indented by one space a level, into a string or, piece by piece,
// into a file. Short things that people read at a glance (a value, a pair) go on one line: objects and
// lists begun with Layout::one_line.

class JsonText {
 public:
  enum class Layout : std::uint8_t { lines, one_line };

  JsonText() = default;
  // Hands the text over in pieces of about a megabyte; finish() hands over the rest.
  explicit JsonText(TakeText take) : take_(std::move(take)) {}

  // Everything inside an object or list on one line is on that line, too.
  void begin_object(Layout layout = Layout::lines) { begin('{', layout); }
  void end_object() { end('}'); }
  void begin_list(Layout layout = Layout::lines) { begin('[', layout); }
  void end_list() { end(']'); }

  // The key of the next value, escaped: it may come from the user.
  void key(std::string_view name);

  // Bytes that are not UTF-8 become U+FFFD, control characters escapes.
  void text(std::string_view value);
  void flag(bool value);
  void null();
  // Whole numbers are written without a fraction; infinity and NaN, which JSON lacks, become null.
  void number(double value);
  template <std::integral Integer>
  void number(Integer value) {
    separate();
    out_ += std::to_string(value);
  }
  template <class Number>
  void number(const std::optional<Number>& value) {
    value ? number(*value) : null();
  }

  // A complete JSON document as the next value, indented to its place.
  void document(std::string_view json);

  // Key and value in one call.
  void begin_object(std::string_view name, Layout layout = Layout::lines) {
    key(name);
    begin_object(layout);
  }
  void begin_list(std::string_view name, Layout layout = Layout::lines) {
    key(name);
    begin_list(layout);
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  void flag(std::string_view name, bool value) {
    key(name);
    flag(value);
  }
  template <class Number>
  void number(std::string_view name, const Number& value) {
    key(name);
    number(value);
  }

  // The text, with a line break at its end; empty when it was handed over.
  std::string finish() &&;

 private:
  struct Level {
    bool on_one_line;
    bool is_empty = true;
  };

  void begin(char bracket, Layout layout);
  void end(char bracket);
  void separate();
  void new_line();
  void append_quoted(std::string_view text);

  TakeText take_;  // empty: the whole text is kept in out_
  std::string out_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

// ---- pieces ----
//
// Pieces of JSON: strings, numbers, objects on one line, and JSON text put on one line. Reports are
// written with JsonText, above, instead.

// The text as a JSON string in quotes, UTF-8 unchanged. Bytes that are not UTF-8 become the text
// \xNN.
std::string json_string(std::string_view text);
// The shortest text that reads back as the same number and does not look like an integer; null for
// a number that JSON cannot write.
std::string json_real(double number);

// The valid JSON text without line breaks: unchanged when it has none, else with each break and the
// white space around it removed or replaced by one space.
std::string json_on_one_line(std::string_view json);

// The items in brackets, separated by commas; "[]" when there are none.
std::string json_list(const std::vector<std::string>& items);

// Builds an object on one line, field by field.
class JsonObjectText {
 public:
  void add(std::string_view key, std::string_view json);
  bool empty() const { return text_.empty(); }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

// ---- token ----
//
// JSON tokens: types of values, strings as written between their quotes, numbers as written, and
// checks that they are valid.

enum class JsonType : std::uint8_t { object, list, string, number, boolean, null, none };

// "an object", "a list", ...: for messages.
std::string_view json_type_name(JsonType type);

// A string as written between its quotes.
struct JsonString {
  std::string_view text;  // empty with a null pointer when there was no string
  bool has_escapes = false;
  std::uint64_t offset = 0;  // of the opening quote
};

// The characters of a string whose escapes are valid.
std::string unescaped(JsonString string);

// The first invalid escape: its position in the text, and its characters.
struct BadEscape {
  std::size_t at;
  std::string_view shown;
};
std::optional<BadEscape> find_bad_escape(std::string_view text);

struct JsonNumber {
  std::string_view text;
  std::optional<std::int64_t> known_integer = {};  // set when the number was already parsed

  // The number, if it is written as an integer and fits. As a real it is rounded; one too large is
  // infinity.
  std::optional<std::int64_t> integer() const {
    return known_integer ? known_integer : parsed_integer();
  }
  double real() const;
  bool is_whole() const;  // written as an integer, whether it fits or not

 private:
  std::optional<std::int64_t> parsed_integer() const;
};

// True when the word is a valid JSON number.
bool is_json_number(std::string_view word);

// ---- tokens ----
//
// JsonTokens: finds where the tokens of a JSON text begin, with simdjson's first stage, a piece of
// the text at a time. All offsets together take as much memory as the text; those of a piece stay
// in the processor's cache.
//
// A piece ends after a '}' outside quotes: it must begin outside quotes, and the first stage
// refuses a text that ends inside them.

struct JsonFault {
  std::uint64_t offset = 0;
  std::string message;
  std::optional<std::uint64_t> opened_at = {};  // the object or list that is not closed
};

class JsonTokens : Pinned {
 public:
  // `text` must be at most 4 GiB and outlive this.
  explicit JsonTokens(std::string_view text);
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

// ---- cursor ----
//
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

// A copy of a text with the zero bytes behind it that JsonCursor needs.
class PaddedJson {
 public:
  explicit PaddedJson(std::string_view text) : size_(text.size()) {
    padded_.reserve(size_ + JsonCursor::kPadding);
    padded_.append(text).append(JsonCursor::kPadding, '\0');
  }
  std::string_view text() const { return std::string_view(padded_).substr(0, size_); }

 private:
  std::string padded_;
  std::size_t size_;
};

// ---- cursor steps ----
//
// The steps of a JsonCursor that run dozens of times for each node, inline: a call for each would
// show in the time of reading.

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

// ---- walk ----
//
// JsonWalk: a JsonCursor for files that people write by hand. Walks objects and lists, takes values
// of the wanted type, and reports repeated keys and values of another type.
//
// Every function that takes a value leaves the cursor after it, also after a fault, so that reading
// can go on and find more faults.

class JsonWalk {
 public:
  // `text` must have JsonCursor::kPadding readable bytes after its end. Offsets in faults count
  // from the start of `text`, plus `base`.
  JsonWalk(std::string_view text, TextFaults& faults, std::size_t base = 0)
      : cursor_(text), faults_(faults), base_(base) {}

  JsonType type() { return cursor_.type(); }
  std::size_t offset() const { return base_ + cursor_.offset(); }
  TextFaults& faults() { return faults_; }
  void skip() { cursor_.skip(); }
  JsonNumber take_number() { return cursor_.take_number(); }  // only when type() is number

  // True when reading must stop: the text is not JSON from here on, or there are too many faults.
  bool is_over() const { return cursor_.fault().has_value() || faults_.is_full(); }
  // Call last: reports where the text stops being JSON, or what follows the value.
  void finish();

  // Enters the object at the cursor and calls visit(key, its offset) for each field; visit takes
  // the value. `what` names the value in faults, `wanted` says what it should be.
  template <class Visit>
  void each_field(std::string_view what, std::string_view wanted, Visit visit);
  // The same for the items of a list.
  template <class Visit>
  void each_item(std::string_view what, std::string_view wanted, Visit visit);

  std::optional<std::string> take_text(std::string_view what);
  std::optional<bool> take_flag(std::string_view what);
  std::optional<double> take_real(std::string_view what);
  std::optional<std::int64_t> take_integer(std::string_view what, std::int64_t least);

  // Reports "<what> must be <wanted>, not a string", and skips the value.
  void refuse(std::string_view what, std::string_view wanted);
  // Warns of a field that `where` does not have, and skips its value.
  void pass_unknown(std::size_t at, std::string_view key, std::string_view where,
                    const std::vector<std::string_view>& known);

 private:
  JsonCursor cursor_;
  TextFaults& faults_;
  std::size_t base_;
};

template <class Visit>
void JsonWalk::each_field(std::string_view what, std::string_view wanted, Visit visit) {
  if (type() != JsonType::object) return refuse(what, wanted);
  std::unordered_set<std::string> seen;
  cursor_.enter();
  while (!is_over()) {
    const auto key = cursor_.next_key();
    if (!key) return;
    const std::string name = unescaped(*key);
    if (seen.insert(name).second) {
      visit(name, base_ + key->offset);
    } else {
      faults_.error(base_ + key->offset, escaped_in_quotes(name) + " is given twice");
      skip();
    }
  }
}

template <class Visit>
void JsonWalk::each_item(std::string_view what, std::string_view wanted, Visit visit) {
  if (type() != JsonType::list) return refuse(what, wanted);
  cursor_.enter();
  while (!is_over() && cursor_.next_item()) visit();
}

// ---- fields ----
//
// The fields of a JSON object for a reader: known fields by number, each once, with the type asked
// for; and the faults of a JSON file, with names for the objects they are in.

// Names an object in messages: `node "conv1"`, or `nodes[17]` while its name is unknown;
// `outputs[0] of node "conv1"`.
struct JsonSubject {
  std::string_view kind = {};  // "node"; empty: the outermost object
  std::string_view list = {};  // "nodes"; empty: not in a list
  std::size_t position = 0;    // in the list
  std::string_view name = {};
  const JsonSubject* owner = nullptr;

  bool is_outermost() const { return kind.empty(); }
  std::string text() const;
};

// Collects the errors and warnings about a file.
class JsonFaults {
 public:
  static constexpr std::size_t kMost = 20;

  explicit JsonFaults(const SourceFile& source) : source_(source) {}

  void add(std::uint64_t offset, std::string message, std::vector<std::string> notes = {});
  // A fault without a position.
  void add(std::string message, std::vector<std::string> notes = {});
  // Warns once per field name, and not for very many names.
  void warn_of_unknown(JsonString key, const JsonSubject& subject, std::string_view suggestion);

  bool empty() const { return faults_.empty(); }
  bool is_full() const { return faults_.size() >= kMost; }
  // "3:12", for notes that refer to another position.
  std::string place_of(std::uint64_t offset) const;
  // The errors in order of position, at most kMost.
  Diagnostics errors() const;
  Diagnostics warnings() const;

 private:
  struct Fault {
    std::optional<std::uint64_t> offset;
    std::string message;
    std::vector<std::string> notes;
  };
  Diagnostic diagnostic_for(const Fault& fault) const;

  const SourceFile& source_;
  std::vector<Fault> faults_;
  std::vector<Fault> warnings_;
  std::vector<std::string> warned_;
};

// Which field followed which in earlier objects: files tend to keep one order.
class JsonFieldOrder {
 public:
  // The field after `field`; the first of the object for nullopt.
  std::size_t after(std::optional<std::size_t> field) const { return after_[place(field)]; }
  void learn(std::optional<std::size_t> field, std::size_t next) {
    after_[place(field)] = static_cast<std::uint8_t>(next);
  }

 private:
  static std::size_t place(std::optional<std::size_t> field) { return field ? *field + 1 : 0; }
  std::array<std::uint8_t, 33> after_ = {};
};

// Walks over the fields of the object at the cursor.
//
//   JsonFields fields(cursor, faults, kNodeFields, subject);
//   while (const auto field = fields.next()) {
//     if (*field == kName && fields.is(JsonType::string)) name = cursor.take_string();
//   }
class JsonFields {
 public:
  // The cursor is at an object. At most 32 known names. `order`, if given, belongs to objects of
  // this kind and keeps learning.
  JsonFields(JsonCursor& cursor, JsonFaults& faults, std::span<const std::string_view> known,
             const JsonSubject& subject, JsonFieldOrder* order = nullptr);

  // The number of the next known field; the cursor is at its value, which must be taken, entered or
  // skipped. nullopt at the end of the object. Unknown fields get a warning and are skipped; a
  // field given twice is a fault, and the second one is skipped.
  std::optional<std::size_t> next() {
    if (order_ == nullptr) return look_for_next();
    const std::size_t likely = order_->after(last_);
    if (has(likely) || !cursor_.pass_key(known_[likely])) return look_for_next();
    seen_ |= 1U << likely;
    last_ = likely;
    return likely;
  }
  bool has(std::size_t field) const { return (seen_ & (1U << field)) != 0; }

  // True when the value at the cursor has that type; otherwise reports a fault and skips it.
  bool is(JsonType wanted) { return cursor_.type() == wanted || is_refused(wanted); }
  // Reports that the value at the cursor is not what is wanted, and skips it.
  void refuse(std::string_view wanted) { refuse_as(field_text(), wanted); }
  // The same for an item of the list or object that is the field's value.
  void refuse_item(std::string_view wanted) { refuse_as("an item of " + field_text(), wanted); }
  // `"shape" of output "y" of node "n"`: the last field that next() returned.
  std::string field_text() const;

 private:
  std::optional<std::size_t> look_for_next();
  std::optional<std::size_t> find(std::string_view key) const;
  bool is_refused(JsonType wanted);
  void refuse_as(const std::string& what, std::string_view wanted);

  JsonCursor& cursor_;
  JsonFaults& faults_;
  std::span<const std::string_view> known_;
  const JsonSubject& subject_;
  std::uint32_t seen_ = 0;
  JsonFieldOrder* order_;
  std::optional<std::size_t> last_;  // returned by next()
};

// Finds repeated keys in an object with arbitrary keys.
class JsonKeys {
 public:
  void clear() { keys_.clear(); }
  // `text` is the key's characters, which must live until the report.
  void add(std::string_view text, std::uint64_t offset) { keys_.push_back({text, offset}); }
  // O(n log n); loses the order of the keys.
  void report_repeated(JsonFaults& faults, const JsonFields& fields);

 private:
  struct Key {
    std::string_view text;
    std::uint64_t offset;
  };
  std::vector<Key> keys_;
};

// ---- broken json ----
//
// Where a text stops being JSON: slow, exact searches in texts that simdjson's first stage refused.

// The first control character inside quotes, or the quote that is not closed.
struct StringFault {
  std::uint64_t offset;
  bool is_unclosed;
};

// The innermost list item of the outermost object that contains the byte at `offset`: "nodes[17]",
// "inputs[0]"; "the graph" when it is in no list. The text before must be JSON.
std::string json_holder_of(std::string_view text, std::uint64_t offset);

}  // namespace cleave
