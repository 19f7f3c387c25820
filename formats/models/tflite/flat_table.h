// Views of tables and vectors in the bytes of a FlatBuffers file. They check nothing: the walk
// (walk_flat_table) has seen every byte that they read. Numbers are loaded byte by byte where they lie,
// since files need not be aligned.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "formats/models/tflite/schema.h"

namespace cleave {

// A number of the file, little-endian.
template <class T>
T load_flat(std::string_view bytes, std::uint64_t at) {
  T number;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// A vector of numbers.
template <class T>
class FlatNumbers {
 public:
  FlatNumbers() = default;
  FlatNumbers(std::string_view bytes, std::uint64_t begin, std::uint32_t count)
      : bytes_(bytes), begin_(begin), count_(count) {}
  std::uint32_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  T operator[](std::uint32_t i) const {
    return load_flat<T>(bytes_, begin_ + std::uint64_t{i} * sizeof(T));
  }

 private:
  std::string_view bytes_;
  std::uint64_t begin_ = 0;
  std::uint32_t count_ = 0;
};
using FlatInts = FlatNumbers<std::int32_t>;

class FlatTables;

// A table; one that is absent has only defaults.
class FlatTable {
 public:
  FlatTable() = default;
  FlatTable(std::string_view bytes, std::uint64_t at, SchemaTableId type)
      : bytes_(bytes), at_(at), type_(type) {}

  bool is_absent() const { return type_ == kNoSchema; }
  SchemaTableId type() const { return type_; }
  std::uint64_t at() const { return at_; }  // its place in the file
  std::uint32_t size() const;               // bytes, without vtable and children
  // Whether the file stores the field.
  bool has(SchemaFieldId field) const { return place_of(field) != 0; }

  // The stored value or the default; booleans are 0 and 1.
  std::int64_t integer(SchemaFieldId field) const;
  double real(SchemaFieldId field) const;
  // A string, or a vector of bytes; empty when it is not stored.
  std::string_view bytes(SchemaFieldId field) const;
  template <class T>
  FlatNumbers<T> numbers(SchemaFieldId field) const {
    const std::uint64_t at = target_of(field);
    if (at == 0) return {};
    return {bytes_, at + 4, load_flat<std::uint32_t>(bytes_, at)};
  }
  FlatInts ints(SchemaFieldId field) const { return numbers<std::int32_t>(field); }
  // The table that the field refers to, of a variant the one that its tag names.
  FlatTable table(SchemaFieldId field) const;
  FlatTables tables(SchemaFieldId field) const;
  // The number of a variant's member; 0: none.
  std::uint8_t tag(SchemaFieldId field) const;

  // Where the field's value lies, from the file's start; 0 when it is not stored.
  std::uint64_t place_of(SchemaFieldId field) const { return place_of_slot(slot_of(field)); }
  std::uint64_t place_of_slot(std::uint32_t slot) const;
  // Where the vector, string or table that the field refers to lies; 0 when there is none.
  std::uint64_t target_of(SchemaFieldId field) const;
  std::string_view file() const { return bytes_; }

 private:
  static std::uint32_t slot_of(SchemaFieldId field) { return kSchemaFields[field].slot; }
  std::string_view bytes_;
  std::uint64_t at_ = 0;
  SchemaTableId type_ = kNoSchema;
};

// A vector of tables.
class FlatTables {
 public:
  FlatTables() = default;
  FlatTables(std::string_view bytes, std::uint64_t begin, std::uint32_t count, SchemaTableId type)
      : bytes_(bytes), begin_(begin), count_(count), type_(type) {}
  std::uint32_t size() const { return count_; }
  FlatTable operator[](std::uint32_t i) const {
    const std::uint64_t at = begin_ + std::uint64_t{i} * 4;
    return {bytes_, at + load_flat<std::uint32_t>(bytes_, at), type_};
  }

 private:
  std::string_view bytes_;
  std::uint64_t begin_ = 0;
  std::uint32_t count_ = 0;
  SchemaTableId type_ = kNoSchema;
};

// The walk that makes a FlatBuffers file safe to read: every offset, table, vector and string that
// can be reached from the root lies inside the file.

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
