// The walk that makes a FlatBuffers file safe to read: every offset, table, vector and string that
// can be reached from the root lies inside the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "formats/models/tflite/flat_table.h"

namespace cleave {

// A field that a table stores and the schema does not have: the file is newer than cleave.
struct UnknownField {
  std::uint64_t table;  // its place in the file
  SchemaTableId type;
  std::uint32_t slot;
};

struct FlatWalk {
  FlatTable root;
  std::uint64_t end = 0;              // behind the last byte that the walk reached
  std::vector<UnknownField> unknown;  // by table
};

// Walks the table of type `root` that the first four bytes lead to. A few bytes can describe any
// number of tables, since several offsets may lead to one: a file may have a quarter as many visits
// as bytes, tables nested 64 deep, and reach four times its bytes. Linear in the file at worst; the
// data of vectors of bytes is not read. The error says what is wrong at which byte.
Result<FlatWalk, std::string> walk_flatbuffer(std::string_view bytes, SchemaTableId root);

}  // namespace cleave
