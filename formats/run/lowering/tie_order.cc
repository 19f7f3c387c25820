#include "formats/run/lowering/tie_order.h"

#include <algorithm>

#include "formats/run/backend/tensor_compare.h"

namespace cleave {
namespace {

bool names_indices(std::string_view op) { return op == "TopK" || op == "ArgMax" || op == "ArgMin"; }

// Strides around the axis.
struct Strides {
  std::uint64_t axis = 1;   // size of the axis in the data
  std::uint64_t inner = 1;  // elements from one index to the next
};

Strides strides_of(const Tensor& data, std::size_t axis) {
  Strides strides{.axis = static_cast<std::uint64_t>(data.dims[axis])};
  for (std::size_t i = axis + 1; i < data.dims.size(); ++i) {
    strides.inner *= static_cast<std::uint64_t>(data.dims[i]);
  }
  return strides;
}

}  // namespace

bool is_tie_order(const IndexOutput& output) {
  const Tensor& data = output.data;
  if (!names_indices(output.op) || data.dims.empty()) return false;
  if (output.wants.dims != output.is.dims || output.is.dtype != DType::int64) return false;
  const auto rank = static_cast<std::int64_t>(data.dims.size());
  const std::int64_t axis = output.axis < 0 ? output.axis + rank : output.axis;
  if (axis < 0 || axis >= rank) return false;
  const Strides strides = strides_of(data, static_cast<std::size_t>(axis));
  const std::uint64_t slices = data.count() / std::max<std::uint64_t>(strides.axis, 1);
  const std::uint64_t count = output.is.count();
  if (slices == 0 || count % slices != 0) return false;
  const std::uint64_t kept = count / slices;  // along the axis
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t outer = i / (kept * strides.inner), inner = i % strides.inner;
    const auto element = [&](const Tensor& indices) {
      const double at = element_at(indices, i);
      if (at < 0 || at >= static_cast<double>(strides.axis)) return std::uint64_t{0} - 1;
      return (outer * strides.axis + static_cast<std::uint64_t>(at)) * strides.inner + inner;
    };
    const std::uint64_t wants = element(output.wants), is = element(output.is);
    if (wants >= data.count() || is >= data.count()) return false;
    if (element_at(data, wants) != element_at(data, is)) return false;
  }
  return true;
}

}  // namespace cleave
