#include "formats/models/onnx/index/limits.h"

#include <algorithm>

namespace cleave {
namespace {

void check_dim(std::string_view dim, OnnxWalk& walk) {
  for (OnnxFields field(dim, "a dimension", walk); field.next();) {
    if (field.key() == bytes_field(dim_field::kParam)) {
      field.name();
    } else {
      field.skip();
    }
  }
}

void check_shape(std::string_view shape, OnnxWalk& walk) {
  std::uint64_t dims = 0;
  for (OnnxFields field(shape, "a shape", walk); field.next();) {
    if (field.key() == bytes_field(shape_field::kDim)) {
      ++dims;
      check_dim(field.text(), walk);
    } else {
      field.skip();
    }
  }
  if (dims > walk.limits.dims) refuse_beyond_limit(walk, "a type", &ModelLimits::dims);
}

}  // namespace

void check_onnx_dims(std::string_view type, OnnxWalk& walk) {
  const bool is_short = type.size() <= walk.limits.dims;  // a dim takes two bytes
  const bool is_ascii =
      std::none_of(type.begin(), type.end(), [](char byte) { return (byte & 0x80) != 0; });
  if (is_short && is_ascii) return;
  for (OnnxFields field(type, "a value's type", walk); field.next();) {
    if (field.key() != bytes_field(type_field::kTensor) &&
        field.key() != bytes_field(type_field::kSparseTensor)) {
      field.skip();
      continue;
    }
    for (OnnxFields inner(field.text(), "a tensor's type", walk); inner.next();) {
      if (inner.key() == bytes_field(tensor_type_field::kShape)) {
        check_shape(inner.text(), walk);
      } else {
        inner.skip();
      }
    }
  }
}

}  // namespace cleave
