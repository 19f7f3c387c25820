// The fields of a JSON object as a reader wants them: known ones by number, each once, of the type
// asked for; and the faults of a JSON file, with the words for what they are faults of.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/io/source_file.h"
#include "formats/json/cursor.h"
#include "formats/text/diagnostic.h"

namespace cleave {

// What an object is, for messages: `node "conv1"`, or `nodes[17]` while its name is not known;
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

// Collects what is wrong with a file, and what is only odd.
class JsonFaults {
 public:
  static constexpr std::size_t kMost = 20;

  explicit JsonFaults(const SourceFile& source) : source_(source) {}

  void add(std::uint64_t offset, std::string message, std::vector<std::string> notes = {});
  // A fault without a place.
  void add(std::string message, std::vector<std::string> notes = {});
  // Once for each name of a field, and not for very many names.
  void warn_of_unknown(JsonString key, const JsonSubject& subject, std::string_view suggestion);

  bool empty() const { return faults_.empty(); }
  bool is_full() const { return faults_.size() >= kMost; }
  // "3:12", for notes that point elsewhere.
  std::string place_of(std::uint64_t offset) const;
  // In order of their places, at most kMost.
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

// Which field came after which in the objects that were read before: files keep an order.
class JsonFieldOrder {
 public:
  // Behind `field`, or first in the object where there is none.
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
  // The cursor stands on an object. At most 32 known names. `order`, where there is one, is that of
  // objects of this kind, and goes on learning.
  JsonFields(JsonCursor& cursor, JsonFaults& faults, std::span<const std::string_view> known,
             const JsonSubject& subject, JsonFieldOrder* order = nullptr);

  // The number of the next known field, and the cursor stands on its value, which must be taken,
  // entered or skipped; nothing at the object's end. Unknown fields are warned of and skipped; a
  // field that stands twice is a fault, and the second one is skipped.
  std::optional<std::size_t> next() {
    if (order_ == nullptr) return look_for_next();
    const std::size_t likely = order_->after(last_);
    if (has(likely) || !cursor_.pass_key(known_[likely])) return look_for_next();
    key_offset_ = cursor_.end_of_last() - known_[likely].size() - 2;
    seen_ |= 1U << likely;
    last_ = likely;
    return likely;
  }
  bool has(std::size_t field) const { return (seen_ & (1U << field)) != 0; }
  // Where the key of the field that next() gave last stands.
  std::uint64_t key_offset() const { return key_offset_; }

  // True when the value at the cursor is of the type; else that is a fault, and it is skipped.
  bool is(JsonType wanted) { return cursor_.type() == wanted || is_refused(wanted); }
  // The fault that the value at the cursor is not what it must be; skips it.
  void refuse(std::string_view wanted);
  // The same of an item of the list or object that is the field's value.
  void refuse_item(std::string_view wanted);
  // `"shape" of output "y" of node "n"`: the field that next() gave last.
  std::string field_text() const;

 private:
  std::optional<std::size_t> look_for_next();
  std::optional<std::size_t> find(std::string_view key) const;
  bool is_refused(JsonType wanted);

  JsonCursor& cursor_;
  JsonFaults& faults_;
  std::span<const std::string_view> known_;
  const JsonSubject& subject_;
  std::uint32_t seen_ = 0;
  JsonFieldOrder* order_;
  std::optional<std::size_t> last_;  // that next() gave
  std::uint64_t key_offset_ = 0;
};

// Finds keys that stand twice in an object of any keys.
class JsonKeys {
 public:
  void clear() { keys_.clear(); }
  // `text`: the key's characters; must live until the report.
  void add(std::string_view text, std::uint64_t offset) { keys_.push_back({text, offset}); }
  // O(n log n); forgets the order of the keys.
  void report_repeated(JsonFaults& faults, const JsonFields& fields);

 private:
  struct Key {
    std::string_view text;
    std::uint64_t offset;
  };
  std::vector<Key> keys_;
};

}  // namespace cleave
