#include "formats/models/onnx/index/type.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "formats/models/onnx/index/fields.h"

namespace cleave {
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

}  // namespace cleave
