#include "formats/tflite/tflite.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace cleave {

namespace {

// The schema forces 16 bytes on the data of a buffer; offsets of a flatbuffer are signed, with 32
// bits.
constexpr std::uint64_t kAlignment = 16;         // of weights
constexpr std::uint64_t kMostFlat = 0x7fffffff;  // bytes of a flatbuffer
constexpr std::uint32_t kLargeBytes = 4096;  // vectors of bytes from here on are not held in memory
// Strings and vectors that are shared. Readers, cleave's own among them, refuse files that describe
// many times their own size, so they are short, and few tables share one.
constexpr std::size_t kMostShared = 64;  // bytes
constexpr std::size_t kMostSharing = 3;  // tables

std::uint64_t aligned(std::uint64_t at, std::uint64_t to) { return (at + to - 1) / to * to; }

// Weights whose place is known when all tables are.
struct Weights {
  std::uint64_t field;       // the place that leads to them
  std::uint64_t size_field;  // of weights outside: that of their size; 0 for others
  TfliteBytes bytes;
};

// A string or a vector of numbers, written behind all tables that refer to it.
struct Leaf {
  std::string bytes;                  // with its length in front
  std::uint64_t alignment = 0;        // of what follows the length
  std::vector<std::uint64_t> places;  // that lead to it
};

class Encoder {
 public:
  Encoder(const TfliteModel& source, bool outside) : source_(source), outside_(outside) {}

  Result<OutFile> encode(const OutTable& model) {
    block_.assign(8, '\0');
    std::memcpy(block_.data() + 4, "TFL3", 4);
    store(0, static_cast<std::uint32_t>(table(model)));
    if (!fault_.empty()) return Error{.message = fault_};
    put_leaves();
    return lay_out();
  }
  bool is_too_large() const { return is_too_large_; }

 private:
  // A field of a table that is being written.
  struct Entry {
    SchemaFieldId id;
    std::uint16_t slot;
    std::uint8_t width;
    bool is_tag = false;
    const OutTable::Value* value = nullptr;  // null: as in the base
    std::uint64_t place = 0;
  };

  template <class T>
  void store(std::uint64_t at, T number) {
    std::memcpy(block_.data() + at, &number, sizeof number);
  }
  void align(std::uint64_t to, std::uint64_t ahead = 0) {
    block_.resize(aligned(block_.size() + ahead, to) - ahead, '\0');
  }
  void lead_here(std::uint64_t place) {
    store(place, static_cast<std::uint32_t>(block_.size() - place));
  }

  // Writes the table, and behind it all that it refers to. Recursion is bounded by the schema, and
  // for copies by the depth that the walk allowed.
  std::uint64_t table(const OutTable& table) {
    check_known(table.base());
    std::vector<Entry> entries = entries_of(table);
    std::ranges::stable_sort(entries,
                             [](const Entry& a, const Entry& b) { return a.width > b.width; });
    const std::uint64_t alignment =
        entries.empty() ? 4 : std::max<std::uint64_t>(4, entries[0].width);
    std::uint64_t size = 4;
    std::uint16_t slots = 0;
    for (Entry& entry : entries) {
      entry.place = aligned(size, entry.width);
      size = entry.place + entry.width;
      slots = std::max<std::uint16_t>(slots, static_cast<std::uint16_t>(entry.slot + 1));
    }
    const std::uint64_t vtable = vtable_of(entries, slots, size);
    align(alignment);
    const std::uint64_t at = block_.size();
    block_.resize(at + size, '\0');
    store(at, static_cast<std::int32_t>(at - vtable));
    for (Entry& entry : entries) entry.place += at;
    for (const Entry& entry : entries) scalar(table, entry);
    for (const Entry& entry : entries) child(table, entry);
    return at;
  }

  void check_known(const FlatTable& base) {
    if (base.is_absent() || !fault_.empty()) return;
    const auto& unknown = source_.walk.unknown;
    const auto found = std::lower_bound(
        unknown.begin(), unknown.end(), base.at(),
        [](const UnknownField& field, std::uint64_t at) { return field.table < at; });
    if (found == unknown.end() || found->table != base.at()) return;
    fault_ = "field " + std::to_string(found->slot) + " of " +
             std::string(kSchemaTables[base.type()].name) +
             " is newer than this cleave, so that no partition can have it";
  }

  std::vector<Entry> entries_of(const OutTable& table) const {
    std::vector<Entry> entries;
    const SchemaTable& schema = kSchemaTables[table.type()];
    for (SchemaFieldId f = schema.first; f < schema.first + schema.count; ++f) {
      const SchemaField& field = kSchemaFields[f];
      const OutTable::Value* const value = table.find(f);
      if (value != nullptr && std::holds_alternative<OutTable::Dropped>(*value)) continue;
      if (value == nullptr ? !table.base().has(f) : is_default(field, *value)) continue;
      if (f == tfl::buffer::data && outside_) {
        entries.push_back(
            {tfl::buffer::offset, kSchemaFields[tfl::buffer::offset].slot, 8, false, value});
        entries.push_back(
            {tfl::buffer::size, kSchemaFields[tfl::buffer::size].slot, 8, true, value});
        continue;
      }
      const bool is_variant = field.kind == SchemaKind::variant;
      if (is_variant) {
        entries.push_back({f, static_cast<std::uint16_t>(field.slot - 1), 1, true, value});
      }
      entries.push_back(
          {f, field.slot, field.is_vector ? std::uint8_t{4} : field.width, false, value});
    }
    return entries;
  }

  static bool is_default(const SchemaField& field, const OutTable::Value& value) {
    const auto* const number = std::get_if<std::int64_t>(&value);
    return number != nullptr && *number == static_cast<std::int64_t>(field.default_value);
  }

  std::uint64_t vtable_of(const std::vector<Entry>& entries, std::uint16_t slots,
                          std::uint64_t size) {
    std::vector<std::uint16_t> words(2U + slots, 0);
    words[0] = static_cast<std::uint16_t>(2 * words.size());
    words[1] = static_cast<std::uint16_t>(size);
    for (const Entry& entry : entries)
      words[2U + entry.slot] = static_cast<std::uint16_t>(entry.place);
    std::string text(2 * words.size(), '\0');
    std::memcpy(text.data(), words.data(), text.size());
    const auto [known, is_new] = vtables_.try_emplace(std::move(text), 0);
    if (is_new) {
      align(2);
      known->second = block_.size();
      block_ += known->first;
    }
    return known->second;
  }

  static bool is_outside_entry(const Entry& entry) {
    return entry.id == tfl::buffer::offset || entry.id == tfl::buffer::size;
  }

  void scalar(const OutTable& table, const Entry& entry) {
    const SchemaField& field = kSchemaFields[entry.id];
    if (entry.is_tag && field.kind == SchemaKind::variant) {
      return store(entry.place, tag_of(table, entry));
    }
    if (field.is_vector || field.kind >= SchemaKind::string || is_outside_entry(entry)) return;
    if (entry.value == nullptr) {
      std::memcpy(block_.data() + entry.place,
                  table.base().file().data() + table.base().place_of(entry.id), entry.width);
      return;
    }
    const std::int64_t number = std::get<std::int64_t>(*entry.value);
    std::memcpy(block_.data() + entry.place, &number, entry.width);  // little-endian
  }

  std::uint8_t tag_of(const OutTable& table, const Entry& entry) const {
    if (entry.value == nullptr) return table.base().tag(entry.id);
    const SchemaUnion& members = kSchemaUnions[kSchemaFields[entry.id].type];
    const SchemaTableId wanted = std::get<std::vector<OutTable>>(*entry.value).front().type();
    std::uint8_t tag = 1;
    while (kSchemaMembers[members.first + tag - 1] != wanted) ++tag;
    return tag;
  }

  void child(const OutTable& table, const Entry& entry) {
    const SchemaField& field = kSchemaFields[entry.id];
    if (is_outside_entry(entry)) {
      if (entry.id == tfl::buffer::offset) add_outside(table, entry);
      return;
    }
    if (entry.is_tag || (!field.is_vector && field.kind < SchemaKind::string)) return;
    if (entry.value == nullptr) return copy(table.base(), entry);
    if (const auto* const text = std::get_if<std::string>(entry.value)) {
      return leaf(entry.place, *text, text->size() / element_width(field), form_of(field));
    }
    if (const auto* const numbers = std::get_if<std::vector<std::int32_t>>(entry.value)) {
      const std::string_view bytes(reinterpret_cast<const char*>(numbers->data()),
                                   numbers->size() * sizeof(std::int32_t));
      return leaf(entry.place, bytes, numbers->size(), form_of(field));
    }
    if (const auto* const bytes = std::get_if<TfliteBytes>(entry.value)) {
      weights_.push_back({entry.place, 0, *bytes});
      return;
    }
    const auto& tables = std::get<std::vector<OutTable>>(*entry.value);
    if (!field.is_vector) {
      const std::uint64_t at = this->table(tables.front());
      return store(entry.place, static_cast<std::uint32_t>(at - entry.place));
    }
    const std::uint64_t begin = begin_tables(entry.place, tables.size());
    for (std::size_t i = 0; i < tables.size(); ++i) put_table(begin + 4 * i, tables[i]);
  }

  // How the elements of a leaf lie: at multiples of `alignment`; a string is ended by a zero byte.
  struct LeafForm {
    std::uint64_t alignment;
    bool is_string = false;
  };
  static LeafForm form_of(const SchemaField& field) {
    if (field.kind == SchemaKind::string) return {4, true};
    return {field.width == 1 ? kAlignment : std::max<std::uint64_t>(4, field.width)};
  }
  static std::uint64_t element_width(const SchemaField& field) {
    return field.kind == SchemaKind::string ? 1 : field.width;
  }

  static std::string with_length(std::string_view bytes, std::size_t count) {
    const auto number = static_cast<std::uint32_t>(count);
    std::string text(reinterpret_cast<const char*>(&number), sizeof number);
    text += bytes;
    return text;
  }

  void leaf(std::uint64_t place, std::string_view bytes, std::size_t count, LeafForm form) {
    std::string text = with_length(bytes, count);
    if (form.is_string) text += '\0';
    if (text.size() > kMostShared) return add_leaf(std::move(text), form.alignment, place);
    const auto [known, is_new] =
        shared_.try_emplace(static_cast<char>(form.alignment) + text, leaves_.size());
    if (!is_new && leaves_[known->second].places.size() < kMostSharing) {
      leaves_[known->second].places.push_back(place);
      return;
    }
    known->second = leaves_.size();
    add_leaf(std::move(text), form.alignment, place);
  }

  void add_leaf(std::string&& bytes, std::uint64_t alignment, std::uint64_t place) {
    Leaf& leaf = leaves_.emplace_back();
    leaf.bytes.swap(bytes);  // g++ 12 warns wrongly of a text that is moved
    leaf.alignment = alignment;
    leaf.places.push_back(place);
  }

  void put_leaves() {
    for (const Leaf& leaf : leaves_) {
      align(leaf.alignment, 4);
      for (const std::uint64_t place : leaf.places) lead_here(place);
      block_ += leaf.bytes;
    }
  }

  std::uint64_t begin_tables(std::uint64_t place, std::size_t count) {
    align(4);
    lead_here(place);
    block_ += with_length({}, count);
    const std::uint64_t begin = block_.size();
    block_.resize(begin + 4 * count, '\0');
    return begin;
  }

  void put_table(std::uint64_t place, const OutTable& one) {
    const std::uint64_t at = table(one);
    store(place, static_cast<std::uint32_t>(at - place));
  }

  // Copies what a field of the model leads to.
  void copy(const FlatTable& base, const Entry& entry) {
    const SchemaField& field = kSchemaFields[entry.id];
    if (field.kind == SchemaKind::table && field.is_vector) {
      const FlatTables tables = base.tables(entry.id);
      const std::uint64_t begin = begin_tables(entry.place, tables.size());
      for (std::uint32_t i = 0; i < tables.size(); ++i) {
        put_table(begin + 4 * std::uint64_t{i}, OutTable(tables[i]));
      }
      return;
    }
    if (field.kind == SchemaKind::table || field.kind == SchemaKind::variant) {
      return put_table(entry.place, OutTable(base.table(entry.id)));
    }
    const std::uint64_t target = base.target_of(entry.id);
    const auto count = load_flat<std::uint32_t>(base.file(), target);
    const std::uint64_t size = std::uint64_t{count} * element_width(field);
    const bool is_bytes = field.is_vector && field.width == 1;
    if (entry.id == tfl::buffer::data || (is_bytes && count >= kLargeBytes)) {
      weights_.push_back({entry.place, 0, {target + 4, size}});
      return;
    }
    leaf(entry.place, base.file().substr(target + 4, size), count, form_of(field));
  }

  void add_outside(const OutTable& table, const Entry& entry) {
    TfliteBytes bytes;
    if (entry.value != nullptr) {
      bytes = std::get<TfliteBytes>(*entry.value);
    } else {
      const std::uint64_t target = table.base().target_of(tfl::buffer::data);
      bytes = {target + 4, load_flat<std::uint32_t>(table.base().file(), target)};
    }
    weights_.push_back({entry.place, entry.place + 8, bytes});
  }

  // Gives weights their places and puts the file together.
  Result<OutFile> lay_out() {
    align(4);
    std::uint64_t end = block_.size();
    std::vector<std::uint64_t> places;
    for (const Weights& weights : weights_) {
      if (weights.size_field != 0) {
        end = aligned(end, kAlignment);
        places.push_back(end);
        store(weights.field, end);
        store(weights.size_field, weights.bytes.size);
        end += weights.bytes.size;
        continue;
      }
      end = aligned(end + 4, kAlignment) - 4;
      places.push_back(end);
      if (end - weights.field <= kMostFlat) {
        store(weights.field, static_cast<std::uint32_t>(end - weights.field));
      }
      end += 4 + weights.bytes.size;
    }
    is_too_large_ = !outside_ && end > kMostFlat;
    OutFile file{.pieces = {}, .is_outside = outside_};
    file.pieces.add(block_);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      file.pieces.add(std::string(places[i] - file.pieces.size(), '\0'));
      if (weights_[i].size_field == 0) {
        const auto size = static_cast<std::uint32_t>(weights_[i].bytes.size);
        file.pieces.add({reinterpret_cast<const char*>(&size), sizeof size});
      }
      const TfliteBytes& bytes = weights_[i].bytes;
      file.pieces.add_range(bytes.source, bytes.offset, bytes.size);
    }
    file.pieces.add(std::string(aligned(end, kAlignment) - file.pieces.size(), '\0'));
    return file;
  }

  const TfliteModel& source_;
  bool outside_;
  bool is_too_large_ = false;
  std::string block_;
  std::unordered_map<std::string, std::uint64_t> vtables_;
  std::vector<Leaf> leaves_;
  std::unordered_map<std::string, std::size_t>
      shared_;  // the leaf that was added last, by its bytes
  std::vector<Weights> weights_;
  std::string fault_;
};

}  // namespace

void OutTable::set(SchemaFieldId field, OutTable table) {
  std::vector<OutTable> one;
  one.push_back(std::move(table));
  put(field, std::move(one));
}

const OutTable::Value* OutTable::find(SchemaFieldId field) const {
  const auto found = std::ranges::find(fields_, field, &Field::id);
  return found == fields_.end() ? nullptr : &found->value;
}

void OutTable::put(SchemaFieldId field, Value value) {
  const auto found = std::ranges::find(fields_, field, &Field::id);
  if (found != fields_.end()) {
    found->value = std::move(value);
  } else {
    fields_.push_back({field, std::move(value)});
  }
}

Result<OutFile> encode_tflite(const OutTable& model, const TfliteModel& source) {
  Encoder encoder(source, false);
  auto file = encoder.encode(model);
  if (!file || !encoder.is_too_large()) return file;
  return Encoder(source, true).encode(model);
}

}  // namespace cleave
