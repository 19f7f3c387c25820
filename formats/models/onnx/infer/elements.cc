#include "formats/models/onnx/infer/elements.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "formats/models/onnx/index/fields.h"

namespace cleave {
namespace {

template <class T>
T read_as(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void append_raw_integers(std::string_view raw, std::vector<OnnxElement>& out) {
  for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
    const auto value = static_cast<std::int64_t>(read_as<T>(raw.data() + at));
    const bool fits = sizeof(T) < 8 || std::is_signed_v<T> || value >= 0;
    out.push_back({.value = fits ? std::optional(value) : std::nullopt, .name = {}});
  }
}

template <class T>
void append_raw_reals(std::string_view raw, std::vector<double>& out) {
  for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
    out.push_back(static_cast<double>(read_as<T>(raw.data() + at)));
  }
}

void append_raw(std::string_view raw, OnnxElements& out) {
  switch (out.dtype) {
    case DType::boolean:
    case DType::uint8:
      return append_raw_integers<std::uint8_t>(raw, out.integers);
    case DType::int8:
      return append_raw_integers<std::int8_t>(raw, out.integers);
    case DType::uint16:
      return append_raw_integers<std::uint16_t>(raw, out.integers);
    case DType::int16:
      return append_raw_integers<std::int16_t>(raw, out.integers);
    case DType::int32:
      return append_raw_integers<std::int32_t>(raw, out.integers);
    case DType::uint32:
      return append_raw_integers<std::uint32_t>(raw, out.integers);
    case DType::int64:
      return append_raw_integers<std::int64_t>(raw, out.integers);
    case DType::uint64:
      return append_raw_integers<std::uint64_t>(raw, out.integers);
    case DType::float32:
      return append_raw_reals<float>(raw, out.reals);
    case DType::float64:
      return append_raw_reals<double>(raw, out.reals);
    default:
      return;
  }
}

// The number of the *_data field for elements of the dtype that are not in raw_data.
std::uint32_t typed_field(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return 4;
    case DType::float64:
      return 10;
    case DType::int64:
      return 7;
    case DType::uint32:
    case DType::uint64:
      return 11;
    default:
      return 5;
  }
}

// False: packed data ends within a number.
bool append_typed(const OnnxTensor& tensor, OnnxElements& out) {
  const std::uint32_t wanted = typed_field(out.dtype);
  std::vector<std::int64_t> numbers;
  OnnxWalk walk{.begin = tensor.record.payload.data()};
  for (OnnxFields field(tensor.record.payload, "a tensor", walk); field.next();) {
    if (field.field_number() != wanted) {
      field.skip();
    } else if (out.is_real()) {
      if (field.has_bytes()) {
        append_raw(field.text(), out);
      } else if (field.key() == float_field(wanted)) {
        out.reals.push_back(static_cast<double>(field.real()));
      } else if (field.key() == double_field(wanted)) {
        out.reals.push_back(field.double_real());
      } else {
        field.skip();
      }
    } else if (field.has_bytes()) {
      field.append_packed(numbers);
    } else if (field.key() == varint_field(wanted)) {
      numbers.push_back(field.number());
    } else {
      field.skip();
    }
  }
  for (const std::int64_t number : numbers) {
    const bool fits = out.dtype != DType::uint64 || number >= 0;
    out.integers.push_back({.value = fits ? std::optional(number) : std::nullopt, .name = {}});
  }
  return !walk.is_refused();
}

}  // namespace

std::optional<std::size_t> small_count(const std::vector<std::int64_t>& dims, std::size_t most) {
  std::size_t count = 1;  // of the dims that are not 0: strides must stay small too
  bool is_empty = false;
  for (const std::int64_t dim : dims) {
    if (dim < 0) return std::nullopt;
    is_empty = is_empty || dim == 0;
    if (static_cast<std::uint64_t>(dim) > most / count) return std::nullopt;
    count *= std::max<std::size_t>(1, static_cast<std::size_t>(dim));
  }
  return is_empty ? 0 : count;
}

std::optional<OnnxElements> unknown_elements(const OnnxType& type) {
  if (!type.is_tensor() || !type.has_shape || !is_integer_dtype(type.dtype)) return std::nullopt;
  OnnxElements out{.dtype = type.dtype, .dims = {}, .integers = {}, .reals = {}};
  for (const OnnxDim& dim : type.dims) out.dims.push_back(dim.size);
  const std::optional<std::size_t> count = small_count(out.dims);
  if (!count) return std::nullopt;
  out.integers.resize(*count);
  return out;
}

std::optional<OnnxElements> read_onnx_elements(const OnnxTensor& tensor, std::size_t most) {
  if (tensor.is_external || tensor.is_sparse) return std::nullopt;
  OnnxElements out{.dtype = tensor.dtype, .dims = tensor.dims, .integers = {}, .reals = {}};
  const std::optional<std::size_t> count = small_count(tensor.dims, most);
  if (!count || !(out.is_real() || is_integer_dtype(out.dtype))) return std::nullopt;
  if (!tensor.has_typed_data) {
    append_raw(tensor.raw, out);
  } else if (!append_typed(tensor, out)) {
    return std::nullopt;
  }
  if (out.count() != *count) return std::nullopt;
  return out;
}

std::optional<std::vector<std::int64_t>> known_integers(const OnnxElements& elements) {
  if (elements.is_real()) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const OnnxElement& element : elements.integers) {
    if (!element.value) return std::nullopt;
    out.push_back(*element.value);
  }
  return out;
}

OnnxElement element_of(const OnnxDim& dim) {
  if (dim.is_fixed()) return {.value = dim.size, .name = {}};
  return {.value = std::nullopt, .name = dim.name};
}

OnnxDim dim_of(const OnnxElement& element) {
  if (!element.value) return {.size = -1, .name = element.name};
  return {.size = *element.value < 0 ? -1 : *element.value, .name = {}};
}

}  // namespace cleave
