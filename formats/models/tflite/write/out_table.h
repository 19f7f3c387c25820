// Tables to be written, and their encoding. A table is a copy of one of the model's, with fields
// replaced or left out, or is made from nothing. Offsets of FlatBuffers point forward, so the file
// is laid out in one pass:
//
//   [offset of the root] TFL3 | tables, parents before their children | short strings and vectors |
//   weights, at multiples of 16
//
// Short strings and vectors that are equal are stored once for up to three tables: a name is that of a
// tensor and that in a signature. Only the tables are in memory; weights are ranges of the model's
// file, or of the files beside it that the model keeps them in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "formats/base/io/byte_pieces.h"
#include "formats/models/tflite/model.h"

namespace cleave {

class OutTable {
 public:
  struct Dropped {};
  using Value = std::variant<Dropped, std::int64_t, std::string, std::vector<std::int32_t>,
                             std::vector<OutTable>, TfliteBytes>;
  struct Field {
    SchemaFieldId id;
    Value value;
  };

  explicit OutTable(SchemaTableId type) : type_(type) {}
  // Has all that `base` stores.
  explicit OutTable(const FlatTable& base) : base_(base), type_(base.type()) {}

  void set(SchemaFieldId field, std::int64_t number) { put(field, number); }
  void set(SchemaFieldId field, std::vector<std::int32_t> numbers) {
    put(field, std::move(numbers));
  }
  void set(SchemaFieldId field, std::vector<OutTable> tables) { put(field, std::move(tables)); }
  void set(SchemaFieldId field, OutTable table);
  // A string, or the elements of a vector of numbers as they lie in the file.
  void set(SchemaFieldId field, std::string_view text) { put(field, std::string(text)); }
  // A vector of bytes, copied from a file.
  void set(SchemaFieldId field, TfliteBytes bytes) { put(field, bytes); }
  void drop(SchemaFieldId field) { put(field, Dropped{}); }

  SchemaTableId type() const { return type_; }
  const FlatTable& base() const { return base_; }
  // What replaces the base's field; null: nothing does.
  const Value* find(SchemaFieldId field) const;

 private:
  void put(SchemaFieldId field, Value value);
  FlatTable base_;
  SchemaTableId type_;
  std::vector<Field> fields_;
};

struct OutFile {
  BytePieces pieces;        // sources are numbered as in TfliteBytes
  bool is_outside = false;  // the weights are behind the flatbuffer, since it would pass 2 GiB
};

// Encodes the root table `model`. Fails when a table that is copied has fields that the schema does
// not know. The same tables give the same bytes. Linear.
Result<OutFile> encode_tflite(const OutTable& model, const TfliteModel& source);

}  // namespace cleave
