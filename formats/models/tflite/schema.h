// The schema of TensorFlow Lite models as tables: the fields of each table, the members of unions,
// the names of enums and operators. Made from the schema's text by scripts/dev/tflite_schema.py, so
// that one walk and one writer handle every table. Lookups by name happen when cleave is compiled.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace cleave {

enum class SchemaKind : std::uint8_t {
  boolean,
  integer,
  enumeration,
  real,
  string,
  table,
  variant,  // a table of one of a union's types; the field before it, hidden, tells which
};

inline constexpr std::uint16_t kNoSchema = 0xffff;

struct SchemaField {
  std::string_view name;
  std::uint16_t slot;  // number in the vtable; a variant's tag is in the slot before
  SchemaKind kind;
  bool is_vector;
  std::uint8_t width;  // bytes of a scalar, or of an offset
  bool is_signed;
  std::uint16_t type;  // of an enum, table or union: its number
  double default_value;
};

struct SchemaTable {
  std::string_view name;
  std::uint16_t first, count;  // in kSchemaFields
};

struct SchemaUnion {
  std::string_view name;
  std::uint16_t first, count;  // in kSchemaMembers; tag 1 is the first
};

struct SchemaEnumerator {
  std::string_view name;
  std::int64_t value;
};

struct SchemaEnum {
  std::string_view name;
  std::uint16_t first, count;  // in kSchemaEnumerators
};

struct SchemaOperator {
  std::string_view name;
  std::uint16_t options;  // the table of its options; kNoSchema: it has none
};

#include "formats/models/tflite/schema.inc"

inline constexpr std::size_t kSchemaOperatorCount = std::size(kSchemaOperators);

using SchemaTableId = std::uint16_t;  // in kSchemaTables
using SchemaFieldId = std::uint16_t;  // in kSchemaFields

// The table with that name. A name that does not exist does not compile.
consteval SchemaTableId schema_table(std::string_view name) {
  SchemaTableId number = 0;
  while (kSchemaTables[number].name != name) ++number;
  return number;
}

// The field of that table.
consteval SchemaFieldId schema_field(std::string_view table, std::string_view field) {
  SchemaFieldId number = kSchemaTables[schema_table(table)].first;
  while (kSchemaFields[number].name != field) ++number;
  return number;
}

// The operator with that name: the number that files have for it.
consteval std::uint32_t schema_operator(std::string_view name) {
  std::uint32_t number = 0;
  while (kSchemaOperators[number].name != name) ++number;
  return number;
}

inline std::span<const SchemaField> fields_of(SchemaTableId table) {
  return {kSchemaFields + kSchemaTables[table].first, kSchemaTables[table].count};
}

// The name of a value of an enum; empty when the schema has none.
std::string_view enumerator_name(std::uint16_t enumeration, std::int64_t value);

}  // namespace cleave
