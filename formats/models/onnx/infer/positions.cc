#include "formats/models/onnx/infer/positions.h"

#include <utility>

namespace cleave {

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

OnnxElements picked(const OnnxElements& from, std::vector<std::int64_t> dims,
                    std::span<const std::size_t> picks) {
  OnnxElements out{.dtype = from.dtype, .dims = std::move(dims), .integers = {}, .reals = {}};
  for (const std::size_t pick : picks) {
    if (from.is_real()) {
      out.reals.push_back(from.reals[pick]);
    } else {
      out.integers.push_back(from.integers[pick]);
    }
  }
  return out;
}

OnnxAxisLines lines_along(const std::vector<std::int64_t>& dims, std::size_t axis) {
  OnnxAxisLines lines{.size = static_cast<std::size_t>(dims[axis])};
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i < axis) lines.outer *= static_cast<std::size_t>(dims[i]);
    if (i > axis) lines.inner *= static_cast<std::size_t>(dims[i]);
  }
  return lines;
}

std::vector<std::int64_t> index_at(std::size_t at, const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> index(dims.size(), 0);
  for (std::size_t i = dims.size(); i-- > 0;) {
    const auto size = static_cast<std::size_t>(dims[i]);
    index[i] = static_cast<std::int64_t>(at % size);
    at /= size;
  }
  return index;
}

std::optional<std::size_t> wrapped_index(std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) return std::nullopt;
  return static_cast<std::size_t>(index < 0 ? index + size : index);
}

}  // namespace cleave
