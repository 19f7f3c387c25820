// Each dense layout is an order of the dims, innermost first, in which each stride is the product
// of the sizes before it.
#include "core/condition/tensor_layout.h"

#include <algorithm>
#include <numeric>

namespace cleave {
namespace {

using Numbers = std::span<const std::int64_t>;

// Whether the strides are those of a dense tensor whose dims are in this order, innermost first.
bool is_dense_in(Numbers sizes, Numbers strides, const std::vector<std::size_t>& order) {
  std::int64_t stride = 1;
  for (const std::size_t dim : order) {
    if (sizes[dim] != 1 && strides[dim] != stride) return false;
    if (__builtin_mul_overflow(stride, sizes[dim], &stride)) return false;
  }
  return true;
}

std::vector<std::size_t> row_major(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  return order;
}

// Dim 1 is innermost, the others stay in row-major order.
std::vector<std::size_t> channels_innermost(std::size_t rank) {
  std::vector<std::size_t> order = row_major(rank);
  std::rotate(order.begin(), order.end() - 2, order.end() - 1);
  return order;
}

}  // namespace

LayoutSet strided_layouts(Numbers sizes, Numbers strides) {
  const std::size_t rank = sizes.size();
  const bool is_empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  LayoutSet layouts;
  layouts.add(LayoutName::strided);
  if (is_empty || is_dense_in(sizes, strides, row_major(rank))) {
    layouts.add(LayoutName::contiguous);
  }
  const bool has_channels = rank == 4 || rank == 5;
  if (has_channels && is_dense_in(sizes, strides, channels_innermost(rank))) {
    layouts.add(rank == 4 ? LayoutName::channels_last : LayoutName::channels_last_3d);
  }
  return layouts;
}

}  // namespace cleave
