#include "core/graph/shape_overlay.h"

namespace cleave {

void ShapeOverlay::add(ValueId value, std::span<const std::int64_t> sizes) {
  of_values_.push_back(
      {value, static_cast<std::uint32_t>(dims_.size()), static_cast<std::uint32_t>(sizes.size())});
  for (const std::int64_t size : sizes) dims_.push_back(Dim::fixed(size));
}

}  // namespace cleave
