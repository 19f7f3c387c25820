// Operators whose output has the shape of an input, or the shape that the inputs broadcast to; and
// operators that only change the dtype.
#include <array>
#include <utility>

#include "formats/models/onnx/infer/shape_rules.h"

namespace cleave {
namespace {

// Output 0 with the shape of input 0 and this dtype.
bool as_first(OnnxOpCall& call, DType dtype) {
  call.outputs[0] = onnx_tensor_type(dtype);
  if (const OnnxType* from = call.shaped_input(0)) call.outputs[0].set_shape(from->dims);
  return true;
}

// Output 0 with the shape that all inputs broadcast to, and this dtype.
bool broadcast(OnnxOpCall& call, DType dtype) {
  call.outputs[0] = onnx_tensor_type(dtype);
  std::optional<std::vector<OnnxDim>> shape;
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    const OnnxType* from = call.shaped_input(i);
    if (from == nullptr) return true;
    shape = shape ? broadcast_shape(*shape, from->dims) : from->dims;
  }
  if (shape) call.outputs[0].set_shape(*std::move(shape));
  return true;
}

bool broadcast_same_dtype(OnnxOpCall& call) {
  const OnnxType* from = call.tensor_input(0);
  return from != nullptr && broadcast(call, from->dtype);
}
bool broadcast_to_bool(OnnxOpCall& call) {
  return call.opset() >= 7 && broadcast(call, DType::boolean);
}
bool as_first_to_bool(OnnxOpCall& call) { return as_first(call, DType::boolean); }

// The library's answer would do up to opset 17, but it refuses dtypes that it does not know
// (float8, 4-bit integers).
bool cast(OnnxOpCall& call) {
  const OnnxAttribute* to = call.attribute("to");
  if (to == nullptr || to->type != 2) return false;
  return as_first(call, dtype_from_onnx(call.integer("to", 0)));
}

bool cast_like(OnnxOpCall& call) {
  const OnnxType* like = call.tensor_input(1);
  return like != nullptr && as_first(call, like->dtype);
}

// Both dtypes have the same width.
bool bit_cast(OnnxOpCall& call) { return as_first(call, dtype_from_onnx(call.integer("to", 0))); }

bool quantize_linear(OnnxOpCall& call) {
  DType dtype = DType::uint8;
  const std::int64_t stated = call.integer("output_dtype", 0);
  if (stated != 0) dtype = dtype_from_onnx(stated);
  if (const OnnxType* zero_point = call.tensor_input(2)) {
    dtype = zero_point->dtype;
  } else if (call.has_input(2) && stated == 0) {
    dtype = DType::unknown;
  }
  return as_first(call, dtype);
}

bool dequantize_linear(OnnxOpCall& call) {
  DType dtype = DType::float32;
  const std::int64_t stated = call.integer("output_dtype", 0);
  const OnnxType* scale = call.tensor_input(1);
  if (call.opset() >= 19 || !call.domain().empty()) {
    dtype = scale != nullptr ? scale->dtype : DType::unknown;
  }
  if (stated != 0) dtype = dtype_from_onnx(stated);
  return as_first(call, dtype);
}

bool constant(OnnxOpCall& call) {
  for (const OnnxAttribute& attribute : call.node().attributes) {
    const OnnxAttribute* value = call.attribute(attribute.name);
    if (value == nullptr || value->tensors.empty()) continue;
    std::vector<OnnxDim> dims;
    for (const std::int64_t dim : value->tensors[0].dims) dims.push_back(fixed_dim(dim));
    call.outputs[0] = onnx_tensor_type(value->tensors[0].dtype, std::move(dims));
    return true;
  }
  for (const OnnxAttribute& attribute : call.node().attributes) {
    const OnnxAttribute* bound = call.attribute(attribute.name);
    if (bound == nullptr) continue;
    const OnnxAttributeValue value = decode_onnx_attribute(*bound);
    const auto list_of = [](std::size_t size) {
      return std::vector<OnnxDim>{fixed_dim(static_cast<std::int64_t>(size))};
    };
    switch (value.type) {
      case AttributeType::integer:
        call.outputs[0] = onnx_tensor_type(DType::int64, {});
        return true;
      case AttributeType::integers:
        call.outputs[0] = onnx_tensor_type(DType::int64, list_of(value.integers.size()));
        return true;
      case AttributeType::real:
        call.outputs[0] = onnx_tensor_type(DType::float32, {});
        return true;
      case AttributeType::reals:
        call.outputs[0] = onnx_tensor_type(DType::float32, list_of(value.reals.size()));
        return true;
      case AttributeType::string:
        call.outputs[0] = onnx_tensor_type(DType::string, {});
        return true;
      case AttributeType::strings:
        call.outputs[0] = onnx_tensor_type(DType::string, list_of(value.strings.size()));
        return true;
      default:
        break;
    }
  }
  return false;
}

constexpr std::array<OnnxShapeRuleEntry, 24> kRules = {{
    {"", "BitwiseNot", same_as_first},
    {"", "Celu", same_as_first},
    {"", "CumProd", same_as_first},
    {"", "Gelu", same_as_first},
    {"", "GroupNormalization", same_as_first},
    {"", "MeanVarianceNormalization", same_as_first},
    {"", "Mish", same_as_first},
    {"", "RotaryEmbedding", same_as_first},
    {"", "SwiGLU", same_as_first},
    {"", "Swish", same_as_first},
    {"", "TensorScatter", same_as_first},
    {"", "BitwiseAnd", broadcast_same_dtype},
    {"", "BitwiseOr", broadcast_same_dtype},
    {"", "BitwiseXor", broadcast_same_dtype},
    {"", "StringConcat", broadcast_same_dtype},
    {"", "GreaterOrEqual", broadcast_to_bool},
    {"", "LessOrEqual", broadcast_to_bool},
    {"", "RegexFullMatch", as_first_to_bool},
    {"", "Cast", cast},
    {"", "CastLike", cast_like},
    {"", "BitCast", bit_cast},
    {"", "QuantizeLinear", quantize_linear},
    {"", "DequantizeLinear", dequantize_linear},
    {"", "Constant", constant},
}};

}  // namespace

std::span<const OnnxShapeRuleEntry> onnx_elementwise_rules() { return kRules; }

}  // namespace cleave
