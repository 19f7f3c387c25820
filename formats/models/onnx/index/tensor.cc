// Tensors in the index of an ONNX file: name, dims, dtype, and the position of the elements.
#include <charconv>
#include <string>
#include <utility>

#include "core/graph/dtype.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/onnx/index/fields.h"

namespace cleave {

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
  std::uint64_t number = 0;
  const char* end = entry.value.data() + entry.value.size();
  const auto [stop, error] = std::from_chars(entry.value.data(), end, number);
  if (error != std::errc() || stop != end) {
    walk.refuse("external data with " + std::string(entry.key) + " " +
                escaped_in_quotes(entry.value) + ", which is not a number of bytes");
  }
  return number;
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
  const OnnxDeeper deeper(walk);
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
  const OnnxDeeper deeper(walk);
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

}  // namespace cleave
