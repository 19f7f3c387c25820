// The index of an ONNX file: what lies where, without its weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "core/base/min_cut.h"
#include "core/graph/graph.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"

namespace cleave {

// ---- field numbers ----
//
// The field numbers of ONNX's messages, for readers and writers. Names and numbers are those of
// onnx.proto up to IR version 13.

namespace model_field {
enum : std::uint32_t {
  kIrVersion = 1,
  kProducerName = 2,
  kProducerVersion = 3,
  kDomain = 4,
  kModelVersion = 5,
  kDocString = 6,
  kGraph = 7,
  kOpsetImport = 8,
  kMetadataProps = 14,
  kTrainingInfo = 20,
  kFunctions = 25,
  kConfiguration = 26,
};
}  // namespace model_field

namespace graph_field {
enum : std::uint32_t {
  kNode = 1,
  kName = 2,
  kInitializer = 5,
  kDocString = 10,
  kInput = 11,
  kOutput = 12,
  kValueInfo = 13,
  kQuantizationAnnotation = 14,
  kSparseInitializer = 15,
  kMetadataProps = 16,
};
}  // namespace graph_field

namespace function_field {
enum : std::uint32_t {
  kName = 1,
  kInput = 4,
  kOutput = 5,
  kNode = 7,
  kOpsetImport = 9,
  kDomain = 10,
  kAttributeProto = 11,  // attributes with a default
  kValueInfo = 12,
  kOverload = 13,
};
}  // namespace function_field

namespace node_field {
enum : std::uint32_t {
  kInput = 1,
  kOutput = 2,
  kName = 3,
  kOpType = 4,
  kAttribute = 5,
  kDomain = 7,
  kOverload = 8,
  kMetadataProps = 9,
  kDeviceConfigurations = 10,
};
}  // namespace node_field

namespace attribute_field {
enum : std::uint32_t {
  kName = 1,
  kFloat = 2,
  kInt = 3,
  kString = 4,
  kTensor = 5,
  kGraph = 6,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kTensors = 10,
  kGraphs = 11,
  kDocString = 13,
  kTypeProto = 14,
  kTypeProtos = 15,
  kType = 20,
  kRefAttrName = 21,
  kSparseTensor = 22,
  kSparseTensors = 23,
};
}  // namespace attribute_field

// AttributeProto.AttributeType
namespace attribute_type {
enum : std::int32_t {
  kUndefined = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
  kSparseTensor = 11,
  kSparseTensors = 12,
  kTypeProto = 13,
  kTypeProtos = 14,
};
}  // namespace attribute_type

namespace tensor_field {
enum : std::uint32_t {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kDocString = 12,
  kExternalData = 13,
  kDataLocation = 14,
};
}  // namespace tensor_field

namespace sparse_tensor_field {
enum : std::uint32_t { kValues = 1, kDims = 3 };
}  // namespace sparse_tensor_field

namespace value_info_field {
enum : std::uint32_t { kName = 1, kType = 2 };
}  // namespace value_info_field

namespace type_field {
enum : std::uint32_t {
  kTensor = 1,
  kSequence = 4,
  kMap = 5,
  kOpaque = 7,
  kSparseTensor = 8,
  kOptional = 9,
};
}  // namespace type_field

// TypeProto.Tensor and TypeProto.SparseTensor
namespace tensor_type_field {
enum : std::uint32_t { kElemType = 1, kShape = 2 };
}  // namespace tensor_type_field

// TypeProto.Sequence and TypeProto.Optional
namespace element_type_field {
enum : std::uint32_t { kElemType = 1 };
}  // namespace element_type_field

namespace shape_field {
enum : std::uint32_t { kDim = 1 };
}  // namespace shape_field

namespace dim_field {
enum : std::uint32_t { kValue = 1, kParam = 2 };
}  // namespace dim_field

namespace key_value_field {
enum : std::uint32_t { kKey = 1, kValue = 2 };
}  // namespace key_value_field

namespace opset_field {
enum : std::uint32_t { kDomain = 1, kVersion = 2 };
}  // namespace opset_field

namespace annotation_field {
enum : std::uint32_t { kTensorName = 1, kQuantParameters = 2 };
}  // namespace annotation_field

// ---- encoding ----
//
// Protobuf encoding for writers: fields appended to a string, and the few ONNX messages that cleave
// makes itself. All other messages are copied from the model.

void put_varint(std::string& out, std::uint64_t value);
// Fields of type int32, int64 and enum.
void put_number(std::string& out, std::uint32_t field, std::int64_t value);
// Fields of type string, bytes, and messages.
void put_bytes(std::string& out, std::uint32_t field, std::string_view payload);
// Writes what precedes a payload of `length` bytes that is written separately.
void put_header(std::string& out, std::uint32_t field, std::uint64_t length);

// A StringStringEntryProto and an OperatorSetIdProto.
std::string encode_key_value(std::string_view key, std::string_view value);
std::string encode_opset(std::string_view domain, std::int64_t version);
// An AttributeProto that is a list of integers.
std::string encode_ints(std::string_view name, const std::vector<std::int64_t>& numbers);

// A ValueInfoProto; without a type when `type` is empty.
std::string encode_value_info(std::string_view name, std::string_view type);
// The TypeProto of a tensor. Without a shape when the rank is unknown: an empty one would mean
// scalar.
std::string encode_tensor_type(const Graph& graph, ValueId value);

struct OnnxCall {
  std::string_view name, op, domain;
  std::vector<std::string_view> inputs, outputs;
};
// A NodeProto without attributes.
std::string encode_node(const OnnxCall& call);

// ---- records ----
//
// The records of an ONNX file as the index has them: views of the mapped file, so that writers can copy
// them byte for byte.

// Bytes of a message's payload (without tag and length) and of the whole field (with them).
struct OnnxRecord {
  std::string_view payload;
  std::string_view field;
};

struct OnnxKeyValue {
  std::string_view key, value;
};

// An initializer, or the tensor of a Constant or an attribute.
struct OnnxTensor {
  OnnxRecord record;
  std::string_view name;  // for a sparse tensor the name of its values
  DType dtype = DType::unknown;
  std::int32_t dtype_number = 0;  // as in the file, also when cleave does not know it
  std::vector<std::int64_t> dims;
  // The elements as consecutive little-endian bytes: raw_data, or a packed float_data or
  // double_data with exactly these bytes. Empty: no elements, or in another form.
  std::string_view raw;
  bool has_typed_data = false;  // the elements are in a *_data field other than raw_data
  bool is_sparse = false;
  bool is_external = false;
  std::string_view location;  // external: as written in the file
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // 0: to the end of the file
};

struct OnnxGraph;

struct OnnxAttribute {
  OnnxRecord record;
  std::string_view name;
  std::string_view reference;  // ref_attr_name, inside functions
  std::int32_t type = 0;       // AttributeProto.AttributeType, derived when the file leaves it out
  std::vector<OnnxTensor> tensors;  // t, tensors, sparse_tensor
  std::vector<OnnxGraph> graphs;    // g, graphs
  // Scalars and lists are decoded on demand, from the record.
};

struct OnnxNode {
  OnnxRecord record;
  std::string_view name;  // as in the file; may be empty or repeated
  std::string_view op_type;
  std::string_view domain;  // as in the file ("ai.onnx" is not folded into "")
  std::string_view overload;
  std::vector<std::string_view> inputs, outputs;  // "" where left out
  std::vector<OnnxAttribute> attributes;
  std::vector<OnnxKeyValue> metadata;  // metadata_props
};

struct OnnxValueInfo {
  OnnxRecord record;
  std::string_view name;
  std::string_view type;  // payload of the TypeProto; empty when there is none
};

// The fields of a graph other than its nodes.
struct OnnxGraphFields {
  OnnxRecord record;
  std::string_view name, doc_string;
  std::vector<OnnxTensor> initializers;  // dense and sparse, in file order
  std::vector<OnnxValueInfo> inputs, outputs, value_infos;
  std::vector<OnnxRecord> quantization_annotations;
  std::vector<OnnxRecord> metadata_props;
};

// The body of a node's attribute.
struct OnnxGraph : OnnxGraphFields {
  std::vector<OnnxNode> nodes;
};

// ---- fields ----
//
// The wire format of ONNX files: the fields of one protobuf message at a time, as views of the
// bytes. No bytes are copied, and every length is checked against the bytes present.
//
// Damage ends a walk: the first fault is noted in the OnnxWalk, and from then on each message of
// the walk is at its end and each value is 0 or empty. Code that starts a walk must check
// is_refused() after it.

// The position of a walk over a file, for the message when the file is damaged.
struct OnnxWalk {
  const char* begin = nullptr;     // of the file; null where only one record of it is walked
  const char* what = "the model";  // the message whose field is being read
  const char* at = nullptr;        // the start of that field
  std::uint64_t depth = 0;
  ModelLimits limits{.names = NameBytes::any};  // the index sets the user's
  std::uint64_t odd_names = 0;                  // names that are not UTF-8, where limits allow them
  std::string_view first_odd_name = {};
  std::string fault = {};  // the first fault; empty: none

  // Whether the walk is over the whole file, which is the first; later ones need not check names.
  bool is_first() const { return begin != nullptr; }
  bool is_refused() const { return !fault.empty(); }
  void refuse(std::string message) {
    if (fault.empty()) fault = std::move(message);
  }
};

// Refuses the file because `whose` exceeds a limit.
void refuse_beyond_limit(OnnxWalk& walk, std::string_view whose, std::uint64_t ModelLimits::*limit);

// Enters one more level of messages while it lives. Counts as protobuf does: a graph in a node's
// attribute is three levels deeper than the node's graph.
class OnnxDepthGuard : Pinned {
 public:
  static constexpr std::uint64_t kMaxDepth = 100;
  explicit OnnxDepthGuard(OnnxWalk& walk);
  ~OnnxDepthGuard() { --walk_.depth; }

 private:
  OnnxWalk& walk_;
};

// A field's key as in the file: its number and its wire type combined.
constexpr std::uint32_t varint_field(std::uint32_t number) { return number << 3U; }
constexpr std::uint32_t bytes_field(std::uint32_t number) { return number << 3U | 2U; }
constexpr std::uint32_t double_field(std::uint32_t number) { return number << 3U | 1U; }
constexpr std::uint32_t float_field(std::uint32_t number) { return number << 3U | 5U; }

// The fields of one message, in file order. After next() has returned true, call skip() or the
// getter that fits the wire type of key(), once.
class OnnxFields {
 public:
  OnnxFields(std::string_view payload, const char* what, OnnxWalk& walk)
      : at_(payload.data()), end_(at_ + payload.size()), what_(what), walk_(walk) {}

  bool next() {
    start_ = at_;
    walk_.what = what_;
    walk_.at = start_;
    if (at_ == end_ || walk_.is_refused()) return false;
    const std::uint64_t key = varint();
    const std::uint64_t wire_type = key & 7U;
    const bool is_known = wire_type <= 2 || wire_type == 5;
    if (!is_known || key > UINT32_MAX || key >> 3U == 0) {
      refuse_damage("has bytes that are not protobuf");
      return false;
    }
    key_ = static_cast<std::uint32_t>(key);
    return true;
  }
  std::uint32_t key() const { return key_; }
  std::uint32_t field_number() const { return key_ >> 3U; }
  bool has_bytes() const { return (key_ & 7U) == 2U; }

  void skip() {
    switch (key_ & 7U) {
      case 0:
        varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        text();
        break;
      default:
        take(4);
        break;
    }
  }
  std::int64_t number() { return static_cast<std::int64_t>(varint()); }
  // For type int32 or enum: drops the upper bits of larger values, as protobuf does.
  std::int32_t number32() { return static_cast<std::int32_t>(number()); }
  float real();          // of a float_field
  double double_real();  // of a double_field
  std::string_view text() {
    const std::uint64_t size = varint();
    if (size > UINT32_MAX) {
      refuse_long(size);
      return {end_, 0};
    }
    return take(size);
  }
  // A text that is a name, and so subject to the limits: on its size, and on its bytes.
  std::string_view name();
  OnnxRecord record() {
    const std::string_view payload = text();
    return {payload, whole()};
  }
  // The whole field with key and length. Only after its value was taken or skipped.
  std::string_view whole() const { return {start_, static_cast<std::size_t>(at_ - start_)}; }
  // Appends varints that are packed in one bytes field.
  void append_packed(std::vector<std::int64_t>& out);

 private:
  // Nearly all are keys and lengths of one byte.
  std::uint64_t varint() {
    if (at_ == end_ || static_cast<unsigned char>(*at_) >= 0x80) return long_varint();
    return static_cast<unsigned char>(*at_++);
  }
  std::uint64_t long_varint();
  template <class Real>
  Real fixed();
  std::string_view take(std::size_t size) {
    if (size > static_cast<std::size_t>(end_ - at_)) {
      refuse_damage("ends early");
      return {end_, 0};
    }
    const std::string_view taken(at_, size);
    at_ += size;
    return taken;
  }
  void refuse_long(std::uint64_t size);
  void refuse(std::string message);  // ends this message, too
  void refuse_damage(const char* what_happened);
  void note_odd_name(std::string_view name);

  const char* at_;
  const char* end_;
  const char* start_ = nullptr;  // of the current field
  std::uint32_t key_ = 0;
  const char* what_;
  OnnxWalk& walk_;
};

// Indexes a TensorProto or SparseTensorProto of an attribute or initializer. Skips the elements;
// checks the dims against the limits.
OnnxTensor index_onnx_tensor(OnnxRecord record, OnnxWalk& walk);
OnnxTensor index_onnx_sparse_tensor(OnnxRecord record, OnnxWalk& walk);
// Indexes a StringStringEntryProto.
OnnxKeyValue index_onnx_key_value(std::string_view payload, OnnxWalk& walk);

// The fields of one protobuf message as they are in the file, for code that copies or hashes most of
// a message and looks at little of it. OnnxFields reads values; this keeps bytes.
struct MessageField {
  std::uint32_t number;
  std::string_view bytes;    // the whole field, with key and length
  std::string_view payload;  // of a length-delimited one; else empty
};

// In file order. Throws protozero::exception when the message is damaged.
std::vector<MessageField> message_fields(std::string_view message);
// The payload of the first field with that number; empty if the message has none.
std::string_view field_of(std::string_view message, std::uint32_t number);

// ---- type ----
//
// Types of ONNX values for inference and the reader: read from and written as TypeProto.

// One dimension in ONNX: a size, else a name, else unknown.
struct OnnxDim {
  std::int64_t size = -1;
  std::string name;

  bool is_fixed() const { return size >= 0; }
  bool is_unknown() const { return size < 0 && name.empty(); }
  bool operator==(const OnnxDim&) const = default;
};

struct OnnxType {
  // tensor, sequence, map, optional; or unknown.
  ValueType type = ValueType::unknown;
  DType dtype = DType::unknown;  // tensors
  bool has_shape = false;
  std::vector<OnnxDim> dims;
  // Serialized TypeProto of a type that needs more than a dtype and a shape: sequences, maps,
  // optionals, sparse tensors. Empty for a plain tensor.
  std::string full;

  bool is_tensor() const { return type == ValueType::tensor; }
  bool is_known() const { return type != ValueType::unknown || !full.empty(); }
  std::size_t rank() const { return dims.size(); }  // only if has_shape
  // The size of a dim, -1 when unknown.
  std::int64_t size(std::size_t axis) const { return dims[axis].size; }
  void set_shape(std::vector<OnnxDim> shape) {
    dims = std::move(shape);
    has_shape = true;
  }
  bool operator==(const OnnxType&) const = default;
};

// A tensor of unknown rank, or with these dims.
OnnxType onnx_tensor_type(DType dtype);
OnnxType onnx_tensor_type(DType dtype, std::vector<OnnxDim> dims);

// Parses the payload of a TypeProto. A damaged one gives an unknown type, and a dim below 0 an
// unknown dim.
OnnxType parse_onnx_type(std::string_view type_proto);

// The element type of a sequence or optional; unknown when it is not given.
OnnxType onnx_element_type(const OnnxType& type);

// The inferred and the declared type merged. A declared dtype wins, since no runtime accepts a
// model in which it is wrong. A declared shape may be wrong: if shapes disagree, neither is used.
struct OnnxMergedType {
  OnnxType type;
  bool agree = true;
};
OnnxMergedType merged_onnx_type(OnnxType inferred, const OnnxType& declared);

// "float32[N,3,?]", "float32 of unknown rank", "sequence", "unknown".
std::string onnx_type_text(const OnnxType& type);

// A pool of ONNX types, each stored once: a model with a million values has a few hundred types.
class OnnxTypePool {
 public:
  // The unknown type.
  static const OnnxType* unknown();
  // The stored type: equal types have the same address, which stays valid as long as the pool
  // lives, also when it is moved.
  const OnnxType* keep(const OnnxType& type);
  const OnnxType* keep(OnnxType&& type);

 private:
  struct Hash {
    std::size_t operator()(const OnnxType& type) const;
  };
  std::unordered_set<OnnxType, Hash> types_;
};

// ---- nodes ----
//
// The nodes of a main graph, of which a model may have millions. Their bytes are walked once, by the
// index: what a node reads and makes is kept as numbers of names, and what it is as the number of a
// kind, so that linking, inference and the maker of the graph compare numbers and decode nothing.

// The names of values and nodes of a main graph, each once: a name is hashed when its record is
// indexed, and is a number from then on. Names stay where they are, in the file or in OnnxModel::made.
class OnnxNames {
  auto text_of() const {
    return [this](std::uint32_t number) { return texts_[number]; };
  }

 public:
  static constexpr std::uint32_t kNone = NameTable::kAbsent;
  static constexpr std::uint32_t kEmpty = 0;  // of "", the name of what is left out

  OnnxNames() { number(""); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(texts_.size()); }
  std::string_view text(std::uint32_t number) const { return texts_[number]; }
  // The number of the name, a new one if it has none.
  std::uint32_t number(std::string_view name) { return number(name, NameTable::hash_of(name)); }
  // The same for a name whose hash is known, by NameTable; announced, the lookup is faster.
  void fetch(std::uint32_t hash) const { table_.fetch_hash(hash); }
  std::uint32_t number(std::string_view name, std::uint32_t hash) {
    const std::uint32_t known = table_.find_or_insert(name, hash, count(), text_of());
    if (known != kNone) return known;
    texts_.push_back(name);
    return count() - 1;
  }
  // kNone for a name that has no number.
  std::uint32_t find(std::string_view name) const { return table_.find(name, text_of()); }
  // Frees what finds names: from then on numbers have texts, but texts have no numbers.
  void forget_numbers() { table_ = NameTable::dense(); }

 private:
  std::vector<std::string_view> texts_;
  NameTable table_ = NameTable::dense();
};

// What many nodes have in common: operator, attributes, and how many inputs and outputs are listed.
// Whatever is asked of one node but for its names and its place has the same answer for all of its kind.
struct OnnxNodeKind {
  std::string_view op_type;
  std::string_view domain;  // as in the file
  std::string_view overload;
  std::uint32_t inputs = 0, outputs = 0;
  // The attributes are not compared, as they hold tensors or bodies or are long: nodes of the kind
  // have attributes of their own.
  bool has_own_attributes = false;
};

class OnnxNodeKinds {
 public:
  static constexpr std::uint32_t kNone = NameTable::kAbsent;

  std::uint32_t count() const { return static_cast<std::uint32_t>(kinds_.size()); }
  const OnnxNodeKind& operator[](std::uint32_t kind) const { return kinds_[kind]; }

  // The number of the attribute with this payload; kNone when none before had it.
  std::uint32_t find_attribute(std::string_view payload) const;
  // Gives the attribute a number; kNone for one that is not compared.
  std::uint32_t add_attribute(const OnnxAttribute& attribute);
  // The kind of a node with these attributes, by number; with any kNone they are its own.
  std::uint32_t kind_of(const OnnxNode& node, std::span<const std::uint32_t> attributes);

 private:
  // Skips long lists and stops after that many kinds: repeats are rare there.
  static constexpr std::size_t kMostBytes = 128;
  static constexpr std::size_t kMostAttributes = 1U << 16U;

  std::vector<std::string_view> attributes_;  // payloads
  NameTable attribute_table_;
  std::vector<OnnxNodeKind> kinds_;
  std::vector<std::string> keys_;  // by kind: its parts in one string
  NameTable table_;                // over keys_
  std::string key_;                // reused for its memory
};

// An attribute of more bytes, such as the lists of a tree ensemble, is walked once, by the index, and its value is
// not read: no rule asks for it, and a writer copies its bytes.
constexpr std::size_t kMostAttributeBytes = std::size_t{1} << 18U;

// 24 bytes a node, and 4 for its name and each value that it lists. A node with bodies is stored decoded, so that
// the address of a body identifies it, and so is one with a long attribute, which is not walked again. What is asked
// of few nodes, or of each at most once, such as its bytes for a writer, is decoded anew.
class OnnxNodes {
 public:
  OnnxNodes() : names_(std::make_shared<OnnxNames>()), kinds_(std::make_shared<OnnxNodeKinds>()) {}
  // The same nodes; changes to one do not show in the other. Bodies have other addresses.
  OnnxNodes(const OnnxNodes& other);
  OnnxNodes(OnnxNodes&&) = default;
  OnnxNodes& operator=(OnnxNodes&&) = default;
  // No nodes, for some of these and others beside them: the same names and kinds have the same numbers.
  OnnxNodes emptied() const { return OnnxNodes(names_, kinds_); }

  std::size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }

  // The names that nodes and links have in common; it only grows.
  const std::shared_ptr<OnnxNames>& names() const { return names_; }
  const OnnxNodeKinds& kinds() const { return *kinds_; }

  std::uint32_t kind_number(std::size_t i) const { return places_[i].kind; }
  const OnnxNodeKind& kind(std::size_t i) const { return (*kinds_)[places_[i].kind]; }
  // The node's name as in the file, and its number.
  std::string_view name(std::size_t i) const { return names_->text(name_number(i)); }
  std::uint32_t name_number(std::size_t i) const { return numbers_[places_[i].first]; }
  // Numbers of the names of its values as listed; OnnxNames::kEmpty where one is left out.
  std::span<const std::uint32_t> inputs(std::size_t i) const {
    return std::span(numbers_).subspan(places_[i].first + 1, kind(i).inputs);
  }
  std::span<const std::uint32_t> outputs(std::size_t i) const {
    const OnnxNodeKind& its = kind(i);
    return std::span(numbers_).subspan(places_[i].first + 1 + its.inputs, its.outputs);
  }
  bool has_bodies(std::size_t i) const { return places_[i].has_bodies; }
  bool has_metadata(std::size_t i) const { return places_[i].has_metadata; }
  OnnxRecord record(std::size_t i) const;

  // Node i: decoded into `room`, whose memory is reused, or a stored one. Valid until `room` is
  // used for another node.
  const OnnxNode& read(std::size_t i, OnnxNode& room) const;
  // The same, but with attributes and metadata only if the node has bodies.
  const OnnxNode& read_names(std::size_t i, OnnxNode& room) const;

  // Adds a checked node. Leaves `node` for reuse.
  void add(OnnxNode& node);

  // For the index, which walks each node once: an attribute that a node before had is not decoded again.
  // Its number, or kNone for one that must be.
  std::uint32_t find_attribute(std::string_view payload) const {
    return kinds_->find_attribute(payload);
  }
  std::uint32_t add_attribute(const OnnxAttribute& attribute) {
    return kinds_->add_attribute(attribute);
  }
  // Adds a checked node whose attributes have these numbers; node.attributes has those that have none
  // (kNone), unless there are bodies: then all. Its names are looked up with those of other nodes, by
  // the time of settle(): each lookup is a cache miss, and the processor waits for many at once.
  void add(OnnxNode& node, std::span<const std::uint32_t> attributes);
  void settle();

  // When the graph has been made: frees the names and their numbers, so that nothing is left but what
  // read() and read_names() need.
  void release_names();

  // Adds node i to other nodes, with its label; it cannot be read from these afterwards. The others must
  // be emptied() from these.
  void move_to(std::size_t i, OnnxNodes& to);

  // What a node without a name is called by: its place in the file, whatever was folded before it, so
  // that names in lists hold for every command. Nodes that were put in its place have it before a
  // number of their own: "12_0".
  std::string label(std::size_t i) const;
  // Sets what the node that was added last is called by.
  void set_label(std::string label);

 private:
  struct Place {
    const char* payload;
    std::uint32_t size;
    std::uint32_t kind;
    std::uint32_t first;  // into numbers_: its name, then its inputs, then its outputs
    std::uint16_t head;   // bytes of the field before its payload
    bool has_bodies;
    bool has_metadata;
    bool is_kept;
  };
  OnnxNodes(std::shared_ptr<OnnxNames> names, std::shared_ptr<OnnxNodeKinds> kinds)
      : names_(std::move(names)), kinds_(std::move(kinds)) {}
  void add_name(std::string_view name);
  template <class TakeField>
  const OnnxNode& read_fields(std::size_t i, OnnxNode& room, const TakeField& take) const;

  std::shared_ptr<OnnxNames> names_;
  std::shared_ptr<OnnxNodeKinds> kinds_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> numbers_;
  // Names whose numbers are still to be looked up, in the order of numbers_.
  struct Waiting {
    std::string_view name;
    std::uint32_t hash;
  };
  std::vector<Waiting> waiting_;
  std::unordered_map<std::size_t, std::unique_ptr<OnnxNode>> kept_;
  std::vector<std::string> labels_;  // "" and beyond the end: the node's place
};

// ---- model ----
//
// OnnxModel: an index of an ONNX file. Every record is a view of the mapped file, so that writers
// can copy it byte for byte; weights are never read.
//
//   OnnxModel -> OnnxMainGraph -> OnnxNode -> OnnxAttribute -> OnnxGraph (bodies, nested)
//
// The main graph may have millions of nodes: see OnnxNodes. Nodes of bodies and functions are stored
// decoded.

struct OnnxMainGraph : OnnxGraphFields {
  OnnxNodes nodes;
};

struct OnnxFunction {
  OnnxRecord record;
  std::string_view domain, name, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxAttribute> default_attributes;  // attribute_proto
  std::vector<OnnxValueInfo> value_infos;
  std::vector<std::pair<std::string_view, std::int64_t>> opsets;
};

struct OnnxModel {
  std::int64_t ir_version = 0;
  std::vector<std::pair<std::string_view, std::int64_t>> opsets;  // domain as in the file, version
  std::vector<OnnxRecord> opset_records;
  std::string_view producer_name, producer_version, domain, doc_string;
  std::int64_t model_version = 0;
  OnnxMainGraph graph;
  std::vector<OnnxFunction> functions;
  std::vector<OnnxRecord> metadata_props;  // of the model
  std::vector<OnnxRecord> training_infos;
  std::vector<OnnxRecord> configurations;  // device configurations, IR 11
  std::vector<OnnxRecord> other_fields;    // fields not listed at the top of this file
  std::uint64_t odd_names = 0;             // names that are not UTF-8, by --limit utf8=lenient
  std::string_view first_odd_name;

  // Folding (formats/onnx/read/fold.cc) replaced nodes: the main graph is no longer what the file has.
  bool is_folded = false;
  std::deque<std::string> made;  // bytes of records and names that are not in the file

  // Maps the graph's ids to the file. Set by the reader.
  std::vector<std::uint32_t> node_index;    // by NodeId (nodes and constants): index in graph.nodes
  std::vector<std::uint32_t> tensor_index;  // by ValueId of a file parameter: index in
                                            // initializers; kNone-like 0xffffffff elsewhere
  // Serialized TypeProto, read or inferred, of values that need more than a dtype and a shape
  // (sequences, maps, optionals, sparse tensors). By ValueId.
  std::unordered_map<std::uint32_t, std::string> full_types;
  // Names given to nodes that have none in the file, or a repeated one, are in Graph.
};

// ---- attributes ----
//
// Values of attributes, decoded from their records on demand.

struct OnnxAttributeValue {
  // integer, real, string, or a list of them; opaque: a tensor, a graph, a type, a reference.
  AttributeType type = AttributeType::opaque;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string_view> strings;
};

// The record was checked when the file was indexed: it is not refused here.
OnnxAttributeValue decode_onnx_attribute(const OnnxAttribute& attribute);
// Decodes into `out`, reusing its memory.
void decode_onnx_attribute(const OnnxAttribute& attribute, OnnxAttributeValue& out);

// ---- external ----
//
// External data of an ONNX model: finds and checks the slice of a file next to the model that holds
// a tensor's elements, before it is copied.

// Bytes [offset, offset + length) of a file, which is an index into a list of sources.
struct ByteRange {
  std::uint32_t source = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

class OnnxExternalFiles {
 public:
  // `folder` is the folder that locations are relative to. New files are appended to `sources`.
  OnnxExternalFiles(std::string folder, std::vector<ByteSource>& sources);

  // The bytes of an external tensor's elements. Refuses a location as WeightFiles does; a slice that
  // extends past the file's end, or whose length does not match dims and type.
  Result<ByteRange, std::string> find(const OnnxTensor& tensor);

 private:
  WeightFiles files_;
};

// Bytes of the tensor's elements, dense, as in raw_data. nullopt when the dtype has no fixed size
// or a dim is negative.
std::optional<std::uint64_t> onnx_tensor_bytes(const OnnxTensor& tensor);

// ---- compiled nodes ----
//
// Nodes that a provider of ONNX Runtime compiled before: EPContext of com.microsoft. With embed_mode 0
// a node names a file beside the model that holds what was compiled. Nodes with main_context 0 have
// none: they run in the context of a node of the same source with main_context 1, in the same file.

// The files that these nodes of the main graph name, also in their bodies, and all functions; each
// once, relative to the model's folder. `nodes` are records. Linear.
std::vector<std::string_view> context_files(const OnnxModel& model,
                                            std::span<const std::uint32_t> nodes);
// Those of the whole model.
std::vector<std::string_view> context_files(const OnnxModel& model);

// Sets of nodes that share contexts, and so must be in one file. Linear.
std::vector<std::vector<NodeId>> nodes_of_contexts(const OnnxModel& model, const Graph& graph);

struct MissingContext {
  NodeId node, context;  // `node` runs in the context of `context`
};
// The first of these nodes whose context is not among them. Linear in the model.
std::optional<MissingContext> missing_context(const OnnxModel& model, const Graph& graph,
                                              std::span<const NodeId> nodes);

// ---- links ----
//
// Links: which node makes each value that the nodes of an ONNX graph read, with names resolved
// through scopes.
//
// A body (of If, Loop, Scan) sees its own values and, by name, those of the graphs around it. A
// value that it takes from there is a *capture*: an input of the node that owns the body, though
// not listed.

// Numbers the values of the main graph: initializers in the order of the file, then the other
// inputs, then the outputs of each node. A name that has a number among the nodes' names is not hashed again.
class OnnxValueNumbers {
 public:
  static constexpr std::uint32_t kNone = OnnxNames::kNone;

  OnnxValueNumbers() = default;
  explicit OnnxValueNumbers(std::shared_ptr<OnnxNames> names)
      : names_(std::move(names)), value_of_(names_->count(), kNone) {}

  std::uint32_t count() const { return static_cast<std::uint32_t>(name_of_.size()); }
  std::string_view name(std::uint32_t number) const { return names_->text(name_of_[number]); }
  // kNone for an unknown name.
  std::uint32_t find(std::string_view name) const {
    return names_ == nullptr ? kNone : named(names_->find(name));
  }
  // The value with this name, by the number of the name.
  std::uint32_t named(std::uint32_t name) const {
    return name < value_of_.size() ? value_of_[name] : kNone;
  }
  // The number of the value with this name if it is known; otherwise returns kNone and gives it the
  // next number.
  std::uint32_t add(std::string_view name) { return add_named(names_->number(name)); }
  std::uint32_t add_named(std::uint32_t name) {
    if (name >= value_of_.size()) value_of_.resize(names_->count(), kNone);
    if (value_of_[name] != kNone) return value_of_[name];
    value_of_[name] = count();
    name_of_.push_back(name);
    return kNone;
  }

 private:
  std::shared_ptr<OnnxNames> names_;
  std::vector<std::uint32_t> value_of_;  // by number of the name
  std::vector<std::uint32_t> name_of_;   // by number of the value
};

struct OnnxLinks {
  std::vector<std::uint32_t> order;  // indices of the main graph's nodes, makers before readers
  bool was_sorted = true;
  OnnxValueNumbers values;
  // For node i of the main graph: the numbers of its listed inputs, kNone for one that is left out.
  // Its outputs that have a name are numbered from first_output[i] on.
  Adjacency reads;
  std::vector<std::uint32_t> first_output;  // one more entry than nodes
  // Names of outer values that a node's bodies read, each once, in order of first use, without
  // those that are also plain inputs of the node.
  std::vector<std::uint32_t> capture_begin;  // empty when no node has any
  std::vector<std::string_view> captures;
  std::vector<Diagnostic> warnings;

  std::span<const std::string_view> captures_of(std::size_t node) const {
    if (capture_begin.empty()) return {};
    return std::span(captures).subspan(capture_begin[node],
                                       capture_begin[node + 1] - capture_begin[node]);
  }
};

// Refuses a value made twice, one that is read but not made, and a cycle; at most 20 of them. Warns
// of a body's value with the name of an outer one, which it hides. Linear, plus sorting if needed.
Loaded<OnnxLinks> link_onnx_graph(const std::string& file, const OnnxModel& model);

// `node "conv1"`, or `node 17 (Conv)` when it has no name.
std::string onnx_node_text(const OnnxNode& node, std::size_t index);

// ---- index ----
//
// The index of an ONNX file: one walk over its protobuf that keeps views of the records.

// Refuses truncated or malformed protobuf, nesting deeper than 100, records above 4 GiB, a model
// without a graph, and anything beyond a limit. Linear in the records; does not read weights.
Loaded<OnnxModel> index_onnx(const SourceFile& source, const ModelLimits& limits = {});

// A node of a record that was made of checked ones: no limit applies.
OnnxNode index_onnx_node(OnnxRecord record);

// Whether a file may be ONNX, judged by its first fields.

// True when the bytes may be an ONNX model: a protobuf whose first fields are a model's.
bool looks_like_onnx(std::string_view bytes);

}  // namespace cleave
