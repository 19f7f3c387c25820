#include "formats/models/onnx/infer/dims.h"

#include <algorithm>

namespace cleave {

OnnxDim fixed_dim(std::int64_t size) { return {.size = size < 0 ? -1 : size, .name = {}}; }

OnnxDim dim_at(const OnnxType* type, std::size_t axis) {
  return type != nullptr && type->has_shape && axis < type->rank() ? type->dims[axis] : OnnxDim{};
}

OnnxDim dim_plus(const OnnxDim& dim, std::int64_t more) {
  if (more == 0) return dim;
  std::int64_t sum = 0;
  if (!dim.is_fixed() || __builtin_add_overflow(dim.size, more, &sum)) return {};
  return fixed_dim(sum);
}

OnnxDim dim_times(const OnnxDim& dim, std::int64_t factor) {
  return product_of(dim, fixed_dim(factor));
}

OnnxDim product_of(const OnnxDim& a, const OnnxDim& b) {
  if (a.size == 1) return b;
  if (b.size == 1) return a;
  if (a.size == 0 || b.size == 0) return fixed_dim(0);
  std::int64_t product = 0;
  if (!a.is_fixed() || !b.is_fixed() || __builtin_mul_overflow(a.size, b.size, &product)) return {};
  return fixed_dim(product);
}

OnnxDim sum_of(const OnnxDim& a, const OnnxDim& b) {
  if (a.is_fixed()) return dim_plus(b, a.size);
  return b.is_fixed() ? dim_plus(a, b.size) : OnnxDim{};
}

OnnxDim dim_over(const OnnxDim& dim, std::int64_t divisor) {
  if (divisor == 1) return dim;
  if (!dim.is_fixed() || divisor <= 0 || dim.size % divisor != 0) return {};
  return fixed_dim(dim.size / divisor);
}

OnnxDim broadcast_dim(const OnnxDim& a, const OnnxDim& b) {
  if (a == b || b.size == 1) return a;
  if (a.size == 1) return b;
  if (a.is_fixed() && b.is_fixed()) return {};
  if (a.is_fixed()) return a;
  return b.is_fixed() ? b : OnnxDim{};
}

std::vector<OnnxDim> broadcast_shape(const std::vector<OnnxDim>& a, const std::vector<OnnxDim>& b) {
  std::vector<OnnxDim> out(std::max(a.size(), b.size()), fixed_dim(1));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t from_end = out.size() - i;
    if (from_end <= a.size()) out[i] = a[a.size() - from_end];
    if (from_end <= b.size()) out[i] = broadcast_dim(out[i], b[b.size() - from_end]);
  }
  return out;
}

}  // namespace cleave
