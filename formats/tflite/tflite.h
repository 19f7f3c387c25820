// TensorFlow Lite: reading and writing flat buffers.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/split/split.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/model.h"

namespace cleave {

// ---- schema ----
//
// The schema of TensorFlow Lite models as tables: the fields of each table, the members of unions,
// the names of enums and operators. Made from the schema's text by scripts/dev/tflite_schema.py, so
// that one walk and one writer handle every table. Lookups by name happen when cleave is compiled.

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

#include "formats/tflite/schema.inc"

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

namespace cleave::tfl {

// ---- fields ----
//
// The fields of the schema that the reader and the writer name, by table.

namespace model {
inline constexpr auto version = schema_field("Model", "version");
inline constexpr auto operator_codes = schema_field("Model", "operator_codes");
inline constexpr auto subgraphs = schema_field("Model", "subgraphs");
inline constexpr auto description = schema_field("Model", "description");
inline constexpr auto buffers = schema_field("Model", "buffers");
inline constexpr auto metadata = schema_field("Model", "metadata");
inline constexpr auto signature_defs = schema_field("Model", "signature_defs");
inline constexpr auto external_buffer_groups = schema_field("Model", "external_buffer_groups");
inline constexpr auto external_buffers = schema_field("Model", "external_buffers");
}  // namespace model

namespace code {
inline constexpr auto deprecated_builtin_code =
    schema_field("OperatorCode", "deprecated_builtin_code");
inline constexpr auto custom_code = schema_field("OperatorCode", "custom_code");
inline constexpr auto version = schema_field("OperatorCode", "version");
inline constexpr auto builtin_code = schema_field("OperatorCode", "builtin_code");
}  // namespace code

namespace buffer {
inline constexpr auto data = schema_field("Buffer", "data");
inline constexpr auto offset = schema_field("Buffer", "offset");
inline constexpr auto size = schema_field("Buffer", "size");
}  // namespace buffer

namespace external {
inline constexpr auto file = schema_field("ExternalBufferGroup", "name");
inline constexpr auto id = schema_field("ExternalBuffer", "id");
inline constexpr auto group = schema_field("ExternalBuffer", "group");
inline constexpr auto offset = schema_field("ExternalBuffer", "offset");
inline constexpr auto length = schema_field("ExternalBuffer", "length");
inline constexpr auto packing = schema_field("ExternalBuffer", "packing");
}  // namespace external

namespace subgraph {
inline constexpr auto tensors = schema_field("SubGraph", "tensors");
inline constexpr auto inputs = schema_field("SubGraph", "inputs");
inline constexpr auto outputs = schema_field("SubGraph", "outputs");
inline constexpr auto operators = schema_field("SubGraph", "operators");
inline constexpr auto name = schema_field("SubGraph", "name");
inline constexpr auto debug_metadata = schema_field("SubGraph", "debug_metadata_index");
}  // namespace subgraph

namespace tensor {
inline constexpr auto shape = schema_field("Tensor", "shape");
inline constexpr auto type = schema_field("Tensor", "type");
inline constexpr auto buffer = schema_field("Tensor", "buffer");
inline constexpr auto name = schema_field("Tensor", "name");
inline constexpr auto quantization = schema_field("Tensor", "quantization");
inline constexpr auto is_variable = schema_field("Tensor", "is_variable");
inline constexpr auto sparsity = schema_field("Tensor", "sparsity");
inline constexpr auto signature = schema_field("Tensor", "shape_signature");
inline constexpr auto external_buffer = schema_field("Tensor", "external_buffer");
}  // namespace tensor

namespace op {
inline constexpr auto opcode_index = schema_field("Operator", "opcode_index");
inline constexpr auto inputs = schema_field("Operator", "inputs");
inline constexpr auto outputs = schema_field("Operator", "outputs");
inline constexpr auto builtin_options = schema_field("Operator", "builtin_options");
inline constexpr auto builtin_options_2 = schema_field("Operator", "builtin_options_2");
inline constexpr auto custom_options = schema_field("Operator", "custom_options");
inline constexpr auto intermediates = schema_field("Operator", "intermediates");
inline constexpr auto large_custom_options_offset =
    schema_field("Operator", "large_custom_options_offset");
inline constexpr auto large_custom_options_size =
    schema_field("Operator", "large_custom_options_size");
inline constexpr auto debug_metadata = schema_field("Operator", "debug_metadata_index");
}  // namespace op

namespace quantization {
inline constexpr auto scale = schema_field("QuantizationParameters", "scale");
inline constexpr auto zero_point = schema_field("QuantizationParameters", "zero_point");
inline constexpr auto details = schema_field("QuantizationParameters", "details");
inline constexpr auto dimension = schema_field("QuantizationParameters", "quantized_dimension");
}  // namespace quantization

namespace signature {
inline constexpr auto inputs = schema_field("SignatureDef", "inputs");
inline constexpr auto outputs = schema_field("SignatureDef", "outputs");
inline constexpr auto key = schema_field("SignatureDef", "signature_key");
inline constexpr auto subgraph_index = schema_field("SignatureDef", "subgraph_index");
inline constexpr auto tensor_name = schema_field("TensorMap", "name");
inline constexpr auto tensor_index = schema_field("TensorMap", "tensor_index");
}  // namespace signature

namespace metadata {
inline constexpr auto name = schema_field("Metadata", "name");
inline constexpr auto buffer = schema_field("Metadata", "buffer");
}  // namespace metadata

namespace variable {
inline constexpr auto container = schema_field("VarHandleOptions", "container");
inline constexpr auto shared_name = schema_field("VarHandleOptions", "shared_name");
}  // namespace variable

namespace composite {
inline constexpr auto name = schema_field("StableHLOCompositeOptions", "name");
inline constexpr auto subgraph =
    schema_field("StableHLOCompositeOptions", "decomposition_subgraph_index");
inline constexpr auto attributes =
    schema_field("StableHLOCompositeOptions", "composite_attributes");
inline constexpr auto version = schema_field("StableHLOCompositeOptions", "version");
}  // namespace composite

inline constexpr auto call_once_subgraph = schema_field("CallOnceOptions", "init_subgraph_index");

}  // namespace cleave::tfl

namespace cleave {

// ---- flat table ----
//
// Views of tables and vectors in the bytes of a FlatBuffers file. They check nothing: the walk
// (walk_flat_table) has seen every byte that they read. Numbers are loaded byte by byte where they lie,
// since files need not be aligned.

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

// ---- model ----
//
// A TensorFlow Lite model as read: views of the file's tables, with what the reader and the writer
// ask for often. Numbers of tensors count within their subgraph.

inline constexpr std::uint32_t kNoTflite = 0xffffffff;

struct TfliteTensor {
  std::string_view name;  // as in the file; in the model's subgraph unique and not empty
  FlatTable table;
  FlatInts shape;
  std::uint32_t buffer = 0;
  std::uint32_t maker = kNoTflite;  // the operator of the subgraph that makes it
  std::uint8_t type = 0;            // TensorType
  std::uint32_t external = 0;       // in TfliteModel.external; 0: its data is in its buffer
  bool is_variable = false;
  bool has_data = false;  // in its buffer or another file, or it has no elements
  bool is_input = false;  // of its subgraph
  // Its shape where options set open dims of it, with -1 for those that stay open; else empty.
  std::vector<std::int32_t> bound = {};
};

struct TfliteOperator {
  std::uint32_t code = 0;  // in TfliteModel.codes
  FlatInts inputs, outputs;
  FlatTable table;
  FlatTable options;  // absent when the file stores none
};

struct TfliteSubgraph {
  FlatTable table;
  std::vector<TfliteTensor> tensors;
  std::vector<TfliteOperator> operators;
  FlatInts inputs, outputs;
};

struct TfliteCode {
  std::string_view name;      // "CONV_2D", or the custom code
  std::uint32_t builtin = 0;  // number of the builtin operator
  std::int64_t version = 1;
  bool is_custom = false;
};

// Bytes of weights: a range of a file, [offset, offset + size).
struct TfliteBytes {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t source = 0;  // 0: the model's file; else 1 + the number in TfliteModel.weight_files
};

// Weights in another file. Those of a packing are in a form of their own, which is not known here.
struct TfliteExternal {
  TfliteBytes bytes;
  std::string_view packing;
};

// A resource variable of the model's subgraph: a value that the model keeps from call to call.
// Operators and tensors are those of that subgraph.
struct TfliteVariable {
  std::string_view container, shared_name;
  std::string_view name;                  // in reports: of the tensor that reads it
  std::uint32_t handle = kNoTflite;       // the operator that makes its handle
  std::uint32_t read = kNoTflite;         // the operator that reads it first
  std::uint32_t assign = kNoTflite;       // the operator that writes it last
  std::uint32_t value = kNoTflite;        // the tensor that `read` makes
  std::uint32_t newest = kNoTflite;       // the tensor that `assign` writes
  std::uint32_t init_call = kNoTflite;    // the CALL_ONCE that sets it up
  std::uint32_t init_assign = kNoTflite;  // the operator of that call's subgraph
};

// What the model keeps. If a body of an operator uses a variable, or a handle goes elsewhere than
// to reads and writes, the operators stay as they are, and must be in one partition.
struct TfliteState {
  bool is_value = true;  // variables are values; else their operators are nodes
  std::vector<TfliteVariable> variables;
  std::vector<std::uint32_t> read_as;   // by tensor: the tensor whose value it has
  std::vector<std::uint8_t> is_hidden;  // by operator: it is no node
  std::vector<std::uint32_t> whole;     // operators that must stay together
};

struct TfliteModel {
  std::string_view bytes;
  FlatWalk walk;
  std::vector<TfliteCode> codes;
  std::vector<TfliteBytes> buffers;
  std::vector<std::string_view> weight_files;                  // as the model names them
  std::unordered_map<std::uint32_t, TfliteExternal> external;  // by id
  std::vector<TfliteSubgraph> subgraphs;
  std::uint32_t main = 0;  // the model's subgraph
  FlatTable signature;     // of the model's subgraph; absent: it has none
  std::string_view name;   // of its subgraph, or of the file where that says nothing
  TfliteState state;
  std::vector<std::uint8_t> is_constant;  // by operator: all that it reads is constant
  StringArena names;
  // Of the graph, see make_tflite_graph(): the operator of each node and constant, the tensor of each
  // value, and back.
  std::vector<std::uint32_t> operators;
  std::vector<std::uint32_t> code_of_node;  // in `codes`; of nodes in bodies, too
  std::vector<std::uint32_t> tensors;
  std::vector<ValueId> values;

  const TfliteSubgraph& subgraph() const { return subgraphs[main]; }
  const TfliteCode& code_of(const TfliteOperator& op) const { return codes[op.code]; }
  bool is_builtin(const TfliteOperator& op, std::uint32_t builtin) const {
    return !codes[op.code].is_custom && codes[op.code].builtin == builtin;
  }
};

// The subgraphs that the operator's options name: its bodies, and the one of CALL_ONCE.
struct TfliteBody {
  FlatTable options;
  SchemaFieldId field;
  std::uint32_t element;  // of a vector; 0 for a number
  std::int64_t subgraph;
};
std::vector<TfliteBody> bodies_of(const TfliteOperator& op);

// ---- model reader ----
//
// From the bytes of a TensorFlow Lite file to its tables, checked.

// True for bytes that have the identifier of TensorFlow Lite, "TFL3".
bool looks_like_tflite(std::string_view bytes);

// The keys of the model's signatures, in the order of the file; and their first few as text.
std::vector<std::string_view> signature_keys(const TfliteModel& model);
std::string key_list(const std::vector<std::string_view>& keys);

// How many scales a tensor has along an axis that it does not have; 0: the axis is one of its own.
// Converters of old wrote such an axis for a single scale, where it means nothing.
std::uint32_t scales_of_no_axis(const TfliteTensor& tensor);

// Reads everything except the state and the graph. Faults, at most 20: offsets that lead beyond the
// file; numbers of tensors, buffers, codes and subgraphs that do not exist; tensors that two
// operators make, or that are read before they are made; data that is shorter than its tensor;
// subgraphs that call themselves. `source` must outlive the result. Linear.
// The model is the subgraph of `signature`; by default of the first one that computes anything from its
// inputs, else of the first one, or else the first subgraph.
Loaded<TfliteModel> read_tflite_model(const SourceFile& source, const ModelLimits& limits,
                                      std::string_view signature = {});

// ---- reader ----
//
// Reads TensorFlow Lite models (.tflite) into graphs, without TensorFlow and without reading
// weights.

struct TfliteLoaded {
  std::unique_ptr<TfliteModel, DeleteTfliteModel> model;
  Graph graph;
  std::vector<Diagnostic> warnings;
  std::vector<std::string> notes;
};

// Linear. The graph's names are views into `source` and the model. An operator's name is that of
// its first output; its op is the builtin's, "CONV_2D", in domain "tflite", or the custom code in
// domain "tflite.custom". `bindings` sets open dims: --dim N=8 the first axis of all values,
// --dim VALUE:AXIS=8 another; those that stay open keep the size in the file for bytes and FLOPs.
Loaded<TfliteLoaded> read_tflite(const SourceFile& source, const ShapeBindings& bindings,
                                 const ModelLimits& limits = {}, const Progress& progress = {});

// Nodes that must be in one partition: those that use variables or tables that cannot cross.
NodeTies tflite_ties(const TfliteModel& model);

// Elements of constants, variables, and nodes that belong together.
OpFacts tflite_op_facts(const TfliteModel& model);

// ---- out table ----
//
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

// ---- writer ----
//
// Writes the split of a TensorFlow Lite model: `<part>.tflite` for each partition, `root.tflite`,
// the whole model with a composite for each partition, and `init.tflite`, which makes the first
// values of state that the caller keeps; or `bundle.tflite` alone, with a signature for each
// partition and one for the first values. Weights are copied from file to file without passing
// through memory.

// Which variables the caller keeps; a partition's file keeps the others.
enum class TfliteLift : std::uint8_t {
  shared,  // those that several partitions use
  all
};

struct TfliteChoices {
  PartFiles files = PartFiles::one_a_part;
  TfliteLift lift = TfliteLift::shared;
};

struct TfliteWritten {
  std::vector<std::string> part_files;  // by part
  std::vector<std::string> notes;       // what the user should know of the files
  std::string chain;                    // JSON: see tflite_chain_json()
};

// Errors: those of plan_tflite_split(), weights in other files that are not there or lead out of the
// model's folder, tables of a newer schema, and system errors. Takes as long
// as copying the bytes written, and a few times the model's tables of memory.
Result<TfliteWritten, Fault> write_tflite_split(const LoadedModel& model,
                                                const Partition& partition,
                                                const TfliteChoices& choices,
                                                const OutputFolder& folder,
                                                const Progress& progress);

// Writes a partition of one piece as a model of its own; with `ends`, its inputs and outputs are as in
// find_piece_boundary().
Status<Fault> write_tflite_piece(const LoadedModel& model, const Partition& piece, TfliteLift lift,
                                 const OutputPath& output, const PieceEnds* ends = nullptr);

}  // namespace cleave
