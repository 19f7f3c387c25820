// The fields of a JSON object for a reader: known fields by number, each once, with the type asked
// for; and the faults of a JSON file, with names for the objects they are in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/io/source_file.h"
#include "formats/base/json/cursor.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

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
    key_offset_ = cursor_.end_of_last() - known_[likely].size() - 2;
    seen_ |= 1U << likely;
    last_ = likely;
    return likely;
  }
  bool has(std::size_t field) const { return (seen_ & (1U << field)) != 0; }
  // Offset of the key of the last field that next() returned.
  std::uint64_t key_offset() const { return key_offset_; }

  // True when the value at the cursor has that type; otherwise reports a fault and skips it.
  bool is(JsonType wanted) { return cursor_.type() == wanted || is_refused(wanted); }
  // Reports that the value at the cursor is not what is wanted, and skips it.
  void refuse(std::string_view wanted);
  // The same for an item of the list or object that is the field's value.
  void refuse_item(std::string_view wanted);
  // `"shape" of output "y" of node "n"`: the last field that next() returned.
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
  std::optional<std::size_t> last_;  // returned by next()
  std::uint64_t key_offset_ = 0;
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

}  // namespace cleave
