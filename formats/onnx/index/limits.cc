#include "formats/onnx/index/limits.h"

namespace cleave {
namespace {

void check_shape(std::string_view shape, OnnxWalk& walk) {
  std::uint64_t dims = 0;
  for (OnnxFields field(shape, "a shape", walk); field.next(); field.skip()) {
    if (field.key() == bytes_field(shape_field::kDim)) ++dims;
  }
  if (dims > walk.limits.dims) refuse_beyond_limit(walk, "a type", &ModelLimits::dims);
}

}  // namespace

void check_onnx_dims(std::string_view type, OnnxWalk& walk) {
  if (type.size() <= walk.limits.dims) return;  // a dim takes two bytes
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
