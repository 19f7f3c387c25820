// Flat buffers, checked, and the schema.

#include <algorithm>
#include <array>

#include "core/base/words.h"
#include "formats/tflite/internal.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- flat table ----

namespace {

std::uint64_t vtable_of(std::string_view bytes, std::uint64_t table) {
  const auto back = std::int64_t{load_flat<std::int32_t>(bytes, table)};
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(table) - back);
}

}  // namespace

std::uint32_t FlatTable::size() const {
  return is_absent() ? 0 : load_flat<std::uint16_t>(bytes_, vtable_of(bytes_, at_) + 2);
}

std::uint64_t FlatTable::place_of_slot(std::uint32_t slot) const {
  if (is_absent()) return 0;
  const std::uint64_t vtable = vtable_of(bytes_, at_);
  const std::uint32_t entry = 4 + 2 * slot;
  if (entry >= load_flat<std::uint16_t>(bytes_, vtable)) return 0;
  const auto offset = load_flat<std::uint16_t>(bytes_, vtable + entry);
  return offset == 0 ? 0 : at_ + offset;
}

std::int64_t FlatTable::integer(SchemaFieldId field) const {
  const SchemaField& row = kSchemaFields[field];
  const std::uint64_t at = place_of(field);
  if (at == 0) return static_cast<std::int64_t>(row.default_value);
  switch (row.width) {
    case 1:
      return row.is_signed ? load_flat<std::int8_t>(bytes_, at)
                           : load_flat<std::uint8_t>(bytes_, at);
    case 2:
      return row.is_signed ? load_flat<std::int16_t>(bytes_, at)
                           : load_flat<std::uint16_t>(bytes_, at);
    case 4:
      return row.is_signed ? load_flat<std::int32_t>(bytes_, at)
                           : std::int64_t{load_flat<std::uint32_t>(bytes_, at)};
    default:
      return load_flat<std::int64_t>(bytes_, at);
  }
}

double FlatTable::real(SchemaFieldId field) const {
  const std::uint64_t at = place_of(field);
  if (at == 0) return kSchemaFields[field].default_value;
  return kSchemaFields[field].width == 8 ? load_flat<double>(bytes_, at)
                                         : double{load_flat<float>(bytes_, at)};
}

std::uint64_t FlatTable::target_of(SchemaFieldId field) const {
  const std::uint64_t at = place_of(field);
  return at == 0 ? 0 : at + load_flat<std::uint32_t>(bytes_, at);
}

std::string_view FlatTable::bytes(SchemaFieldId field) const {
  const std::uint64_t at = target_of(field);
  return at == 0 ? std::string_view{} : bytes_.substr(at + 4, load_flat<std::uint32_t>(bytes_, at));
}

std::uint8_t FlatTable::tag(SchemaFieldId field) const {
  const std::uint64_t at = place_of_slot(slot_of(field) - 1);
  return at == 0 ? std::uint8_t{0} : load_flat<std::uint8_t>(bytes_, at);
}

FlatTable FlatTable::table(SchemaFieldId field) const {
  const SchemaField& row = kSchemaFields[field];
  const std::uint64_t at = target_of(field);
  if (at == 0) return {};
  if (row.kind != SchemaKind::variant) return {bytes_, at, row.type};
  const std::uint8_t number = tag(field);
  if (number == 0) return {};
  return {bytes_, at, kSchemaMembers[kSchemaUnions[row.type].first + number - 1]};
}

FlatTables FlatTable::tables(SchemaFieldId field) const {
  const std::uint64_t at = target_of(field);
  if (at == 0) return {};
  return {bytes_, at + 4, load_flat<std::uint32_t>(bytes_, at), kSchemaFields[field].type};
}

namespace {

// The default of FlatBuffers' own verifier.
constexpr int kMostDepth = 64;

// What lies at a place, for messages: a table, or a field of it.
struct What {
  SchemaTableId type;
  const SchemaField* field = nullptr;
  std::string_view part = "";  // "the vtable of "

  std::string text() const {
    if (type == kNoSchema) return "the root";
    std::string name = std::string(part) + std::string(kSchemaTables[type].name);
    if (field != nullptr) name += "." + std::string(field->name);
    return name;
  }
};

class Walker {
 public:
  explicit Walker(std::string_view bytes)
      : bytes_(bytes),
        // A table takes four bytes at least, so more visits than that mean tables that are shared.
        // Writers do share short strings and vectors, hence four times the size; and small files
        // may share much of what they have, hence the constants. Without limits, a file of a
        // kilobyte could describe gigabytes.
        visits_left_(bytes.size() / 4 + 16),
        bytes_left_(4 * std::uint64_t{bytes.size()} + 65'536) {}

  Result<FlatWalk, std::string> walk(SchemaTableId root) {
    std::uint64_t at = 0;
    if (follow(0, {kNoSchema}, at) && table(at, root, 0)) {
      walk_.root = FlatTable(bytes_, at, root);
      std::ranges::stable_sort(walk_.unknown, [](const UnknownField& a, const UnknownField& b) {
        return a.table < b.table;
      });
      return std::move(walk_);
    }
    return std::move(fault_);
  }

 private:
  bool fail(std::uint64_t at, const std::string& what) {
    if (fault_.empty()) fault_ = what + " (at byte " + count_text(at) + ")";
    return false;
  }

  // Whether `size` bytes at `at` are in the file. Counts them as reached.
  bool reach(std::uint64_t at, std::uint64_t size, const What& what) {
    if (at > bytes_.size() || size > bytes_.size() - at) {
      return fail(std::min<std::uint64_t>(at, bytes_.size()),
                  what.text() + " lies beyond the file's end");
    }
    if (size > bytes_left_) {
      return fail(at,
                  "the same bytes are used again and again: what the file describes is more "
                  "than four times as large as the file");
    }
    bytes_left_ -= size;
    walk_.end = std::max(walk_.end, at + size);
    return true;
  }

  bool follow(std::uint64_t place, const What& what, std::uint64_t& target) {
    if (!reach(place, 4, what)) return false;
    target = place + load_flat<std::uint32_t>(bytes_, place);
    return true;
  }

  bool visit(std::uint64_t at) {
    if (visits_left_ == 0) {
      return fail(at, "more tables are described than a file of this size can hold");
    }
    --visits_left_;
    return true;
  }

  // Recursion is bounded by kMostDepth.
  bool table(std::uint64_t at, SchemaTableId type, int depth) {
    const What what{type}, vtable_of_it{type, nullptr, "the vtable of "};
    if (!visit(at)) return false;
    if (depth > kMostDepth) return fail(at, "tables are nested more than 64 deep");
    if (!reach(at, 4, what)) return false;
    const std::int64_t vtable = static_cast<std::int64_t>(at) - load_flat<std::int32_t>(bytes_, at);
    if (vtable < 0) return fail(at, vtable_of_it.text() + " lies before the file");
    const auto v = static_cast<std::uint64_t>(vtable);
    if (!reach(v, 4, vtable_of_it)) return false;
    const auto vtable_size = load_flat<std::uint16_t>(bytes_, v);
    const auto table_size = load_flat<std::uint16_t>(bytes_, v + 2);
    if (vtable_size < 4 || vtable_size % 2 != 0 || table_size < 4) {
      return fail(v, vtable_of_it.text() + " is malformed");
    }
    if (!reach(v, vtable_size, vtable_of_it) || !reach(at, table_size, what)) return false;
    return fields(FlatTable(bytes_, at, type), (vtable_size - 4U) / 2, table_size, depth);
  }

  bool fields(const FlatTable& table, std::uint32_t slots, std::uint32_t size, int depth) {
    std::uint32_t next = 0;  // the first slot that is not seen yet
    for (const SchemaField& field : fields_of(table.type())) {
      const bool is_variant = field.kind == SchemaKind::variant;
      next = field.slot + 1U;
      const bool is_stored =
          is_inside(table, field, field.slot, is_variant ? 4 : field.width, size);
      if (!fault_.empty()) return false;
      if (is_variant && !is_inside(table, field, field.slot - 1U, 1, size) && !fault_.empty()) {
        return false;
      }
      if (!is_stored || field.slot >= slots) continue;
      if (!value(table, field, depth)) return false;
    }
    for (; next < slots; ++next) {
      if (table.place_of_slot(next) != 0) walk_.unknown.push_back({table.at(), table.type(), next});
    }
    return true;
  }

  // Whether the slot is stored; a fault if its bytes are not those of the table.
  bool is_inside(const FlatTable& table, const SchemaField& field, std::uint32_t slot,
                 std::uint32_t width, std::uint32_t size) {
    const std::uint64_t place = table.place_of_slot(slot);
    if (place == 0) return false;
    const std::uint32_t bytes = field.is_vector ? 4 : width;
    if (place - table.at() >= 4 && place - table.at() + bytes <= size) return true;
    fail(place, What{table.type(), &field}.text() + " lies outside its table");
    return false;
  }

  bool value(const FlatTable& table, const SchemaField& field, int depth) {
    const std::uint64_t place = table.place_of_slot(field.slot);
    const auto follow_field = [&](std::uint64_t& target) {
      return follow(place, {table.type(), &field}, target);
    };
    std::uint64_t at = 0;
    if (field.is_vector) return follow_field(at) && vector(table, field, at, depth);
    switch (field.kind) {
      case SchemaKind::string:
        return follow_field(at) && string(table, field, at);
      case SchemaKind::table:
        return follow_field(at) && this->table(at, field.type, depth + 1);
      case SchemaKind::variant:
        return follow_field(at) && variant(table, field, at, depth);
      default:
        return true;
    }
  }

  bool string(const FlatTable& table, const SchemaField& field, std::uint64_t at) {
    const What what{table.type(), &field};
    if (!reach(at, 4, what)) return false;
    const auto length = load_flat<std::uint32_t>(bytes_, at);
    if (!reach(at + 4, std::uint64_t{length} + 1, what)) return false;
    if (bytes_[at + 4 + length] != '\0')
      return fail(at, what.text() + " does not end with a zero byte");
    return true;
  }

  bool variant(const FlatTable& table, const SchemaField& field, std::uint64_t at, int depth) {
    const SchemaUnion& members = kSchemaUnions[field.type];
    const std::uint64_t place = table.place_of_slot(field.slot - 1U);
    const std::uint8_t tag = place == 0 ? std::uint8_t{0} : load_flat<std::uint8_t>(bytes_, place);
    if (tag == 0) {
      return fail(at, What{table.type(), &field}.text() + " has a value, but no type");
    }
    if (tag > members.count) {
      return fail(at, What{table.type(), &field}.text() + " is of type " + std::to_string(tag) +
                          " of " + std::string(members.name) + ", which is newer than this cleave");
    }
    return this->table(at, kSchemaMembers[members.first + tag - 1], depth + 1);
  }

  bool vector(const FlatTable& table, const SchemaField& field, std::uint64_t at, int depth) {
    const What what{table.type(), &field};
    if (!reach(at, 4, what)) return false;
    const auto count = load_flat<std::uint32_t>(bytes_, at);
    if (!reach(at + 4, std::uint64_t{count} * field.width, what)) return false;
    if (field.kind != SchemaKind::table) return true;
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::uint64_t place = at + 4 + std::uint64_t{i} * 4;
      if (!this->table(place + load_flat<std::uint32_t>(bytes_, place), field.type, depth + 1)) {
        return false;
      }
    }
    return true;
  }

  std::string_view bytes_;
  std::uint64_t visits_left_, bytes_left_;
  FlatWalk walk_;
  std::string fault_;
};

}  // namespace

Result<FlatWalk, std::string> walk_flatbuffer(std::string_view bytes, SchemaTableId root) {
  return Walker(bytes).walk(root);
}

// ---- schema ----

std::string_view enumerator_name(std::uint16_t enumeration, std::int64_t value) {
  const SchemaEnum& row = kSchemaEnums[enumeration];
  for (const SchemaEnumerator& one : std::span(kSchemaEnumerators).subspan(row.first, row.count)) {
    if (one.value == value) return one.name;
  }
  return {};
}

// ---- tensor type ----

DType tflite_dtype(std::uint8_t type) {
  constexpr std::array<DType, kTfliteTypeCount> kTypes = {
      DType::float32, DType::float16,       DType::int32,      DType::uint8,     DType::int64,
      DType::string,  DType::boolean,       DType::int16,      DType::complex64, DType::int8,
      DType::float64, DType::complex128,    DType::uint64,     DType::unknown,   DType::unknown,
      DType::uint32,  DType::uint16,        DType::int4,       DType::bfloat16,  DType::int2,
      DType::uint4,   DType::float8_e4m3fn, DType::float8_e5m2};
  return type < kTypes.size() ? kTypes[type] : DType::unknown;
}

std::uint64_t tflite_type_bits(std::uint8_t type) {
  return static_cast<std::uint64_t>(dtype_bits(tflite_dtype(type)));
}

bool is_tensor_type(std::uint8_t type) { return type != kTfliteResource && type != kTfliteVariant; }

}  // namespace cleave
