#include "formats/models/bind/shape_bindings.h"

#include <array>

namespace cleave {

std::string_view shape_inference_name(ShapeInference inference) {
  static constexpr std::array<std::string_view, 3> kNames = {"off", "file", "full"};
  return kNames[static_cast<std::size_t>(inference)];
}

std::string_view folding_name(Folding folding) {
  static constexpr std::array<std::string_view, 3> kNames = {"off", "report", "write"};
  return kNames[static_cast<std::size_t>(folding)];
}

}  // namespace cleave
