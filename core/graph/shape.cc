#include "core/graph/shape.h"

#include <algorithm>
#include <limits>

namespace cleave {

std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) return std::nullopt;
  return static_cast<std::size_t>(axis < 0 ? axis + signed_rank : axis);
}

std::optional<std::uint64_t> element_count(Shape shape) {
  const auto is_zero = [](Dim dim) { return dim.counted_size() == 0; };
  if (std::any_of(shape.begin(), shape.end(), is_zero)) return 0;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t count = 1;
  for (const Dim dim : shape) {
    if (dim.counted_size() < 0) return std::nullopt;
    const auto size = static_cast<std::uint64_t>(dim.counted_size());
    if (count > kMost / size) return std::nullopt;
    count *= size;
  }
  return count;
}

std::optional<std::uint64_t> tensor_bytes(DType dtype, Shape shape) {
  const auto bits = static_cast<std::uint64_t>(dtype_bits(dtype));
  if (bits == 0) return std::nullopt;
  const auto count = element_count(shape);
  if (!count) return std::nullopt;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (bits >= 8) {
    const std::uint64_t bytes = bits / 8;
    if (*count > kMost / bytes) return std::nullopt;
    return *count * bytes;
  }
  const std::uint64_t per_byte = 8 / bits;
  return *count / per_byte + (*count % per_byte != 0 ? 1 : 0);
}

}  // namespace cleave
