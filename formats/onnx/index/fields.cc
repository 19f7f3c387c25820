// Fields of an ONNX file: encodings, tensors, types, attributes.

#include <charconv>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/base/faults.h"
#include "formats/base/text.h"
#include "formats/onnx/index/index.h"

namespace cleave {

// ---- encoding ----

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U) out.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
  out.push_back(static_cast<char>(value));
}

void put_number(std::string& out, std::uint32_t field, std::int64_t value) {
  put_varint(out, std::uint64_t{field} << 3U);
  put_varint(out, static_cast<std::uint64_t>(value));
}

void put_header(std::string& out, std::uint32_t field, std::uint64_t length) {
  constexpr std::uint64_t kLengthDelimited = 2;
  put_varint(out, std::uint64_t{field} << 3U | kLengthDelimited);
  put_varint(out, length);
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view payload) {
  put_header(out, field, payload.size());
  out.append(payload);
}

std::string encode_key_value(std::string_view key, std::string_view value) {
  std::string out;
  put_bytes(out, 1, key);
  put_bytes(out, 2, value);
  return out;
}

std::string encode_opset(std::string_view domain, std::int64_t version) {
  std::string out;
  put_bytes(out, 1, domain);
  put_number(out, 2, version);
  return out;
}

std::string encode_ints(std::string_view name, const std::vector<std::int64_t>& numbers) {
  constexpr std::int64_t kIntsType = 7;
  std::string out;
  put_bytes(out, attribute_field::kName, name);
  for (const std::int64_t number : numbers) put_number(out, attribute_field::kInts, number);
  put_number(out, attribute_field::kType, kIntsType);
  return out;
}

std::string encode_value_info(std::string_view name, std::string_view type) {
  std::string out;
  put_bytes(out, 1, name);
  if (!type.empty()) put_bytes(out, 2, type);
  return out;
}

namespace {

std::string encode_dim(const Graph& graph, Dim dim) {
  std::string out;
  if (dim.is_fixed()) put_number(out, 1, dim.size());
  if (dim.is_symbol()) put_bytes(out, 2, graph.text(dim.name()));
  return out;
}

std::string encode_shape(const Graph& graph, Shape shape) {
  std::string out;
  for (const Dim dim : shape) put_bytes(out, 1, encode_dim(graph, dim));
  return out;
}

}  // namespace

std::string encode_tensor_type(const Graph& graph, ValueId value) {
  std::string tensor;
  put_number(tensor, 1, static_cast<std::int64_t>(graph.value(value).dtype));
  if (graph.has_rank(value)) put_bytes(tensor, 2, encode_shape(graph, graph.shape(value)));
  std::string out;
  put_bytes(out, 1, tensor);
  return out;
}

std::string encode_node(const OnnxCall& call) {
  std::string out;
  for (const std::string_view input : call.inputs) put_bytes(out, node_field::kInput, input);
  for (const std::string_view output : call.outputs) put_bytes(out, node_field::kOutput, output);
  if (!call.name.empty()) put_bytes(out, node_field::kName, call.name);
  put_bytes(out, node_field::kOpType, call.op);
  if (!call.domain.empty()) put_bytes(out, node_field::kDomain, call.domain);
  return out;
}

// ---- fields ----

void refuse_beyond_limit(OnnxWalk& walk, std::string_view whose,
                         std::uint64_t ModelLimits::*limit) {
  const std::string place = walk.at == nullptr || walk.begin == nullptr
                                ? ""
                                : " at byte " + std::to_string(walk.at - walk.begin);
  walk.refuse(std::string(whose) + place + " has " + beyond_limit(walk.limits, limit));
}

OnnxDepthGuard::OnnxDepthGuard(OnnxWalk& walk) : walk_(walk) {
  const std::uint64_t asked = walk_.limits.depth;
  if (walk_.depth >= kMaxDepth && asked >= kMaxDepth) {
    walk_.refuse("nested deeper than " + std::to_string(kMaxDepth) +
                 " messages, the most that protobuf reads");
  } else if (walk_.depth >= asked) {
    walk_.refuse("nested deeper than " + std::to_string(asked) + " messages; " +
                 limit_hint(&ModelLimits::depth));
  }
  ++walk_.depth;
}

void OnnxFields::refuse(std::string message) {
  walk_.refuse(std::move(message));
  at_ = end_;
}

void OnnxFields::refuse_damage(const char* what_happened) {
  refuse(std::string("truncated or damaged: ") + what_ + " " + what_happened + " at byte " +
         std::to_string(walk_.at - walk_.begin));
}

std::uint64_t OnnxFields::long_varint() {
  try {
    return protozero::decode_varint(&at_, end_);
  } catch (const protozero::end_of_buffer_exception&) {
    refuse_damage("ends early");
  } catch (const protozero::exception&) {
    refuse_damage("has bytes that are not protobuf");
  }
  return 0;
}

template <class Real>
Real OnnxFields::fixed() {
  Real out = 0;
  const std::string_view bytes = take(sizeof out);
  std::memcpy(&out, bytes.data(), bytes.size());
  return out;
}

float OnnxFields::real() { return fixed<float>(); }
double OnnxFields::double_real() { return fixed<double>(); }

void OnnxFields::refuse_long(std::uint64_t size) {
  if (size > static_cast<std::uint64_t>(end_ - at_)) return refuse_damage("ends early");
  refuse(std::string(what_) + " has a field of " + std::to_string(size) +
         " bytes; above 4 GiB none is read: keep the weights of such a model as external data");
}

std::string_view OnnxFields::name() {
  const std::string_view name = text();
  if (name.size() > walk_.limits.name_bytes) {
    refuse_beyond_limit(walk_, "a name", &ModelLimits::name_bytes);
  } else if (walk_.is_first() && first_invalid_utf8(name) != std::string_view::npos) {
    note_odd_name(name);
  }
  return name;
}

void OnnxFields::note_odd_name(std::string_view name) {
  if (walk_.limits.names == NameBytes::utf8) {
    refuse("a name in " + std::string(what_) + ", at byte " + std::to_string(start_ - walk_.begin) +
           ", is not UTF-8: " + escaped_in_quotes(name) +
           "; --limit utf8=lenient reads such names, other tools may not");
  } else if (++walk_.odd_names == 1) {
    walk_.first_odd_name = name;
  }
}

void OnnxFields::append_packed(std::vector<std::int64_t>& out) {
  const char* end_of_message = end_;
  const std::string_view packed = text();
  at_ = packed.data();
  end_ = at_ + packed.size();
  while (at_ != end_) out.push_back(number());
  end_ = end_of_message;
}

std::vector<MessageField> message_fields(std::string_view message) {
  std::vector<MessageField> fields;
  protozero::pbf_reader reader(message.data(), message.size());
  const char* begin = message.data();
  while (reader.next()) {
    MessageField field{reader.tag(), {}, {}};
    if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      const protozero::data_view payload = reader.get_view();
      field.payload = {payload.data(), payload.size()};
    } else {
      reader.skip();
    }
    const char* const end = message.data() + message.size() - reader.length();
    field.bytes = {begin, static_cast<std::size_t>(end - begin)};
    begin = end;
    fields.push_back(field);
  }
  return fields;
}

std::string_view field_of(std::string_view message, std::uint32_t number) {
  for (const MessageField& field : message_fields(message)) {
    if (field.number == number) return field.payload;
  }
  return {};
}

// ---- tensor ----
//
// Tensors in the index of an ONNX file: name, dims, dtype, and the position of the elements.

OnnxKeyValue index_onnx_key_value(std::string_view payload, OnnxWalk& walk) {
  OnnxKeyValue out;
  for (OnnxFields field(payload, "a key and value", walk); field.next();) {
    switch (field.key()) {
      case bytes_field(key_value_field::kKey):
        out.key = field.text();
        break;
      case bytes_field(key_value_field::kValue):
        out.value = field.text();
        break;
      default:
        field.skip();
    }
  }
  return out;
}

namespace {

std::uint64_t external_number(const OnnxKeyValue& entry, OnnxWalk& walk) {
  const auto number = parse_number<std::uint64_t>(entry.value);
  if (!number) {
    walk.refuse("external data with " + std::string(entry.key) + " " +
                escaped_in_quotes(entry.value) + ", which is not a number of bytes");
  }
  return number.value_or(0);
}

void add_external_data(const OnnxKeyValue& entry, OnnxTensor& out, OnnxWalk& walk) {
  if (entry.key == "location") out.location = entry.value;
  if (entry.key == "offset") out.offset = external_number(entry, walk);
  if (entry.key == "length") out.length = external_number(entry, walk);
}

// True when packed float_data or double_data of this type has the same bytes as raw_data.
bool is_raw(DType dtype, std::uint32_t field_number) {
  if (field_number == tensor_field::kFloatData) {
    return dtype == DType::float32 || dtype == DType::complex64;
  }
  if (field_number == tensor_field::kDoubleData) {
    return dtype == DType::float64 || dtype == DType::complex128;
  }
  return false;
}

}  // namespace

OnnxTensor index_onnx_tensor(OnnxRecord record, OnnxWalk& walk) {
  const OnnxDepthGuard deeper(walk);
  OnnxTensor out;
  out.record = record;
  std::string_view typed;
  std::uint32_t typed_field = 0;
  std::size_t typed_chunks = 0;
  for (OnnxFields field(record.payload, "a tensor", walk); field.next();) {
    switch (field.key()) {
      case bytes_field(tensor_field::kDims):
        field.append_packed(out.dims);
        break;
      case varint_field(tensor_field::kDims):
        out.dims.push_back(field.number());
        break;
      case varint_field(tensor_field::kDataType):
        out.dtype_number = field.number32();
        break;
      case bytes_field(tensor_field::kName):
        out.name = field.name();
        break;
      case bytes_field(tensor_field::kRawData):
        out.raw = field.text();
        break;
      case bytes_field(tensor_field::kExternalData):
        add_external_data(index_onnx_key_value(field.text(), walk), out, walk);
        break;
      case varint_field(tensor_field::kDataLocation):
        out.is_external = field.number32() == 1;
        break;
      case bytes_field(tensor_field::kFloatData):
      case bytes_field(tensor_field::kDoubleData):
        typed_field = field.field_number();
        typed = field.text();
        ++typed_chunks;
        break;
      default:
        // Elements in a typed field, packed or not.
        switch (field.field_number()) {
          case tensor_field::kFloatData:
          case tensor_field::kInt32Data:
          case tensor_field::kStringData:
          case tensor_field::kInt64Data:
          case tensor_field::kDoubleData:
          case tensor_field::kUint64Data:
            typed_chunks += 2;
            break;
          default:
            break;
        }
        field.skip();
    }
  }
  if (out.dims.size() > walk.limits.dims) {
    refuse_beyond_limit(walk, "a tensor", &ModelLimits::dims);
  }
  out.dtype = dtype_from_onnx(out.dtype_number);
  out.has_typed_data = typed_chunks > 0;
  if (typed_chunks == 1 && is_raw(out.dtype, typed_field)) out.raw = typed;
  return out;
}

OnnxTensor index_onnx_sparse_tensor(OnnxRecord record, OnnxWalk& walk) {
  const OnnxDepthGuard deeper(walk);
  OnnxTensor out;
  std::vector<std::int64_t> dims;
  for (OnnxFields field(record.payload, "a sparse tensor", walk); field.next();) {
    switch (field.key()) {
      case bytes_field(sparse_tensor_field::kValues):
        out = index_onnx_tensor(field.record(), walk);
        break;
      case bytes_field(sparse_tensor_field::kDims):
        field.append_packed(dims);
        break;
      case varint_field(sparse_tensor_field::kDims):
        dims.push_back(field.number());
        break;
      default:
        field.skip();
    }
  }
  if (dims.size() > walk.limits.dims) {
    refuse_beyond_limit(walk, "a sparse tensor", &ModelLimits::dims);
  }
  out.record = record;
  out.dims = std::move(dims);
  out.is_sparse = true;
  return out;
}

// ---- type ----

namespace {

OnnxDim parse_dim(std::string_view payload, OnnxWalk& walk) {
  OnnxDim dim;
  for (OnnxFields field(payload, "a dimension", walk); field.next();) {
    switch (field.key()) {
      case varint_field(dim_field::kValue):
        dim = {.size = field.number(), .name = {}};
        break;
      case bytes_field(dim_field::kParam):
        dim = {.size = -1, .name = std::string(field.text())};
        break;
      default:
        field.skip();
    }
  }
  if (dim.size < 0) dim.size = -1;
  if (dim.name == "?") dim.name.clear();  // as some exporters write an unknown dim
  return dim;
}

std::vector<OnnxDim> parse_shape(std::string_view payload, OnnxWalk& walk) {
  std::vector<OnnxDim> dims;
  for (OnnxFields field(payload, "a shape", walk); field.next();) {
    if (field.key() == bytes_field(shape_field::kDim)) {
      dims.push_back(parse_dim(field.text(), walk));
    } else {
      field.skip();
    }
  }
  return dims;
}

// TypeProto.Tensor and TypeProto.SparseTensor.
OnnxType parse_tensor_type(std::string_view payload, OnnxWalk& walk) {
  OnnxType type = onnx_tensor_type(DType::unknown);
  for (OnnxFields field(payload, "a tensor's type", walk); field.next();) {
    switch (field.key()) {
      case varint_field(tensor_type_field::kElemType):
        type.dtype = dtype_from_onnx(field.number());
        break;
      case bytes_field(tensor_type_field::kShape):
        type.set_shape(parse_shape(field.text(), walk));
        break;
      default:
        field.skip();
    }
  }
  return type;
}

OnnxType parse_type(std::string_view payload, OnnxWalk& walk) {
  OnnxType type;
  for (OnnxFields field(payload, "a type", walk); field.next();) {
    switch (field.key()) {
      case bytes_field(type_field::kTensor):
        type = parse_tensor_type(field.text(), walk);
        break;
      case bytes_field(type_field::kSparseTensor):
        type = parse_tensor_type(field.text(), walk);
        type.full = payload;
        break;
      case bytes_field(type_field::kSequence):
      case bytes_field(type_field::kMap):
      case bytes_field(type_field::kOpaque):
      case bytes_field(type_field::kOptional):
        type = {.type = field.field_number() == type_field::kSequence   ? ValueType::sequence
                        : field.field_number() == type_field::kMap      ? ValueType::map
                        : field.field_number() == type_field::kOptional ? ValueType::optional
                                                                        : ValueType::unknown,
                .dims = {},
                .full = std::string(payload)};
        field.skip();
        break;
      default:
        field.skip();
    }
  }
  return type;
}

// Merges the two dims. Contradicting ones give an unknown dim.
OnnxDim merged_dim(const OnnxDim& inferred, const OnnxDim& declared, bool& agree) {
  if (inferred.is_fixed() && declared.is_fixed() && inferred.size != declared.size) {
    agree = false;
    return {};
  }
  if (inferred.is_fixed() || (declared.is_unknown() && !inferred.is_unknown())) return inferred;
  if (declared.is_fixed()) return declared;
  return inferred.is_unknown() ? declared : inferred;
}

}  // namespace

OnnxType onnx_tensor_type(DType dtype) {
  return {.type = ValueType::tensor, .dtype = dtype, .dims = {}, .full = {}};
}

OnnxType onnx_tensor_type(DType dtype, std::vector<OnnxDim> dims) {
  OnnxType type = onnx_tensor_type(dtype);
  type.set_shape(std::move(dims));
  return type;
}

OnnxType parse_onnx_type(std::string_view type_proto) {
  OnnxWalk walk{.begin = type_proto.data()};
  OnnxType type = parse_type(type_proto, walk);
  return walk.is_refused() ? OnnxType{} : type;
}

OnnxType onnx_element_type(const OnnxType& type) {
  OnnxWalk walk{.begin = type.full.data()};
  for (OnnxFields field(type.full, "a type", walk); field.next();) {
    if (field.key() != bytes_field(type_field::kSequence) &&
        field.key() != bytes_field(type_field::kOptional)) {
      field.skip();
      continue;
    }
    for (OnnxFields inner(field.text(), "a type", walk); inner.next();) {
      if (inner.key() == bytes_field(element_type_field::kElemType))
        return parse_onnx_type(inner.text());
      inner.skip();
    }
    return {};
  }
  return {};
}

OnnxMergedType merged_onnx_type(OnnxType inferred, const OnnxType& declared) {
  if (!declared.is_known()) return {std::move(inferred)};
  if (!inferred.is_known()) return {declared};
  if (!inferred.is_tensor() || !declared.is_tensor()) {
    const bool agree = inferred.type == declared.type;
    return {std::move(inferred), agree};
  }
  OnnxMergedType out{std::move(inferred)};
  if (declared.dtype != DType::unknown) out.type.dtype = declared.dtype;
  if (!declared.has_shape) return out;
  if (!out.type.has_shape) {
    out.type.set_shape(declared.dims);
    return out;
  }
  if (out.type.rank() != declared.rank()) {
    out.type.has_shape = false;
    out.type.dims.clear();
    out.agree = false;
    return out;
  }
  for (std::size_t i = 0; i < declared.dims.size(); ++i) {
    out.type.dims[i] = merged_dim(out.type.dims[i], declared.dims[i], out.agree);
  }
  return out;
}

std::string onnx_type_text(const OnnxType& type) {
  if (!type.is_tensor()) return std::string(value_type_name(type.type));
  std::string text(dtype_name(type.dtype));
  if (!type.has_shape) return text + " of unknown rank";
  text += '[';
  for (std::size_t i = 0; i < type.dims.size(); ++i) {
    const OnnxDim& dim = type.dims[i];
    if (i > 0) text += ',';
    text += dim.is_fixed() ? std::to_string(dim.size) : dim.name.empty() ? "?" : dim.name;
  }
  return text + ']';
}

std::size_t OnnxTypePool::Hash::operator()(const OnnxType& type) const {
  std::size_t hash =
      static_cast<std::size_t>(type.type) * 64 + static_cast<std::size_t>(type.dtype);
  const auto mix = [&hash](std::size_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32U;
  };
  mix(type.has_shape ? type.dims.size() : SIZE_MAX);
  for (const OnnxDim& dim : type.dims) {
    mix(static_cast<std::size_t>(dim.size));
    if (!dim.name.empty()) mix(std::hash<std::string>()(dim.name));
  }
  if (!type.full.empty()) mix(std::hash<std::string>()(type.full));
  return hash;
}

const OnnxType* OnnxTypePool::unknown() {
  static const OnnxType kUnknown;
  return &kUnknown;
}

const OnnxType* OnnxTypePool::keep(const OnnxType& type) {
  if (type == *unknown()) return unknown();
  return &*types_.insert(type).first;
}

const OnnxType* OnnxTypePool::keep(OnnxType&& type) {
  if (type == *unknown()) return unknown();
  return &*types_.insert(std::move(type)).first;
}

// ---- attributes ----

namespace {

// The type for a number of AttributeProto.AttributeType.
AttributeType type_of(std::int32_t number) {
  switch (number) {
    case attribute_type::kFloat:
      return AttributeType::real;
    case attribute_type::kInt:
      return AttributeType::integer;
    case attribute_type::kString:
      return AttributeType::string;
    case attribute_type::kFloats:
      return AttributeType::reals;
    case attribute_type::kInts:
      return AttributeType::integers;
    case attribute_type::kStrings:
      return AttributeType::strings;
    default:
      return AttributeType::opaque;
  }
}

void append_packed_reals(std::string_view packed, std::vector<double>& out) {
  for (; packed.size() >= sizeof(float); packed.remove_prefix(sizeof(float))) {
    float real = 0;
    std::memcpy(&real, packed.data(), sizeof real);
    out.push_back(static_cast<double>(real));
  }
}

void decode_field(OnnxFields& field, OnnxAttributeValue& out) {
  switch (field.key()) {
    case varint_field(attribute_field::kInt):
    case varint_field(attribute_field::kInts):
      out.integers.push_back(field.number());
      break;
    case bytes_field(attribute_field::kInts):
      field.append_packed(out.integers);
      break;
    case float_field(attribute_field::kFloat):
    case float_field(attribute_field::kFloats):
      out.reals.push_back(static_cast<double>(field.real()));
      break;
    case bytes_field(attribute_field::kFloats):
      append_packed_reals(field.text(), out.reals);
      break;
    case bytes_field(attribute_field::kString):
    case bytes_field(attribute_field::kStrings):
      out.strings.push_back(field.text());
      break;
    default:
      field.skip();
  }
}

// A scalar has one element, the last in the file; 0 or "" if there is none.
template <class T>
void keep_last(std::vector<T>& elements) {
  if (elements.empty()) elements.emplace_back();
  elements.erase(elements.begin(), elements.end() - 1);
}

}  // namespace

void decode_onnx_attribute(const OnnxAttribute& attribute, OnnxAttributeValue& out) {
  out.type = AttributeType::opaque;
  out.integers.clear();
  out.reals.clear();
  out.strings.clear();
  if (!attribute.reference.empty()) return;
  out.type = type_of(attribute.type);
  OnnxWalk walk{.begin = attribute.record.payload.data()};
  for (OnnxFields field(attribute.record.payload, "an attribute", walk); field.next();) {
    decode_field(field, out);
  }
  if (out.type == AttributeType::integer) keep_last(out.integers);
  if (out.type == AttributeType::real) keep_last(out.reals);
  if (out.type == AttributeType::string) keep_last(out.strings);
}

OnnxAttributeValue decode_onnx_attribute(const OnnxAttribute& attribute) {
  OnnxAttributeValue out;
  decode_onnx_attribute(attribute, out);
  return out;
}

}  // namespace cleave
