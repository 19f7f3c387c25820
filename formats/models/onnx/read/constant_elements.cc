#include "formats/models/onnx/read/constant_elements.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "formats/models/onnx/index/attributes.h"
#include "formats/models/onnx/infer/elements.h"

namespace cleave {
namespace {

using Elements = std::optional<std::vector<Literal>>;

template <class T>
T read_as(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

double half_value(std::uint16_t bits) {
  const double sign = (bits & 0x8000U) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>(bits >> 10U & 0x1FU);
  const int fraction = static_cast<int>(bits & 0x3FFU);
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

double bfloat_value(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(std::uint32_t{bits} << 16U));
}

template <class T>
Literal literal_at(const char* at) {
  const T value = read_as<T>(at);
  if constexpr (std::is_floating_point_v<T>) return static_cast<double>(value);
  return static_cast<std::int64_t>(value);
}

// One element of `width` bytes; nullptr: the dtype is not read.
struct ElementReader {
  std::size_t width;
  Literal (*read)(const char* at);
};

ElementReader reader_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::uint8:
      return {1, literal_at<std::uint8_t>};
    case DType::int8:
      return {1, literal_at<std::int8_t>};
    case DType::uint16:
      return {2, literal_at<std::uint16_t>};
    case DType::int16:
      return {2, literal_at<std::int16_t>};
    case DType::uint32:
      return {4, literal_at<std::uint32_t>};
    case DType::int32:
      return {4, literal_at<std::int32_t>};
    case DType::int64:
      return {8, literal_at<std::int64_t>};
    case DType::float32:
      return {4, literal_at<float>};
    case DType::float64:
      return {8, literal_at<double>};
    case DType::float16:
      return {2, [](const char* at) { return Literal(half_value(read_as<std::uint16_t>(at))); }};
    case DType::bfloat16:
      return {2, [](const char* at) { return Literal(bfloat_value(read_as<std::uint16_t>(at))); }};
    default:
      return {0, nullptr};
  }
}

// Reads the elements from raw_data, or from typed data with the same bytes.
Elements raw_elements(const OnnxTensor& tensor) {
  const ElementReader reader = reader_of(tensor.dtype);
  if (reader.read == nullptr) return std::nullopt;
  std::size_t count = 1;
  for (const std::int64_t dim : tensor.dims) {
    if (dim < 0 || static_cast<std::uint64_t>(dim) > kMostElementsRead) return std::nullopt;
    count *= static_cast<std::size_t>(dim);
    if (count > kMostElementsRead) return std::nullopt;
  }
  if (tensor.raw.size() != count * reader.width) return std::nullopt;
  std::vector<Literal> elements;
  elements.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    elements.push_back(reader.read(tensor.raw.data() + i * reader.width));
  }
  return elements;
}

// Reads the elements from the fields for typed data; only small tensors are read from these.
Elements typed_elements(const OnnxTensor& tensor) {
  const auto found = read_onnx_elements(tensor);
  if (!found) return std::nullopt;
  std::vector<Literal> elements;
  for (const double real : found->reals) elements.emplace_back(real);
  for (const OnnxElement& element : found->integers) {
    if (!element.value) return std::nullopt;
    elements.emplace_back(*element.value);
  }
  return elements;
}

Elements tensor_elements(const OnnxTensor& tensor) {
  if (tensor.is_external || tensor.is_sparse) return std::nullopt;
  if (tensor.raw.empty() && tensor.has_typed_data) return typed_elements(tensor);
  return raw_elements(tensor);
}

// The elements in the attribute of a Constant: value, value_int, value_ints, value_float or
// value_floats.
Elements attribute_elements(const OnnxAttribute& attribute) {
  if (attribute.name == "value" && !attribute.tensors.empty()) {
    return tensor_elements(attribute.tensors.front());
  }
  const OnnxAttributeValue value = decode_onnx_attribute(attribute);
  std::vector<Literal> elements(value.integers.begin(), value.integers.end());
  elements.insert(elements.end(), value.reals.begin(), value.reals.end());
  if (elements.empty() || elements.size() > kMostElementsRead) return std::nullopt;
  return elements;
}

}  // namespace

std::optional<std::vector<Literal>> onnx_constant_elements(const OnnxModel& model,
                                                           const Graph& graph, ValueId parameter) {
  const NodeId maker = graph.value(parameter).producer;
  if (maker == kNone<NodeId>) {
    if (index(parameter) >= model.tensor_index.size()) return std::nullopt;
    const std::uint32_t at = model.tensor_index[index(parameter)];
    if (at >= model.graph.initializers.size()) return std::nullopt;
    return tensor_elements(model.graph.initializers[at]);
  }
  if (graph.op(maker) != "Constant" || index(maker) >= model.node_index.size()) return std::nullopt;
  OnnxNode room;
  const OnnxNode& node = model.graph.nodes.read(model.node_index[index(maker)], room);
  if (node.attributes.size() != 1) return std::nullopt;
  return attribute_elements(node.attributes.front());
}

}  // namespace cleave
