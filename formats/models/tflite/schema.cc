#include "formats/models/tflite/schema.h"

namespace cleave {

std::string_view enumerator_name(std::uint16_t enumeration, std::int64_t value) {
  const SchemaEnum& row = kSchemaEnums[enumeration];
  for (const SchemaEnumerator& one : std::span(kSchemaEnumerators).subspan(row.first, row.count)) {
    if (one.value == value) return one.name;
  }
  return {};
}

}  // namespace cleave
