#include "formats/models/tflite/flat_table.h"

namespace cleave {
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

}  // namespace cleave
