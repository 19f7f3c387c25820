#include "formats/models/onnx/index/type_pool.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace cleave {

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

const OnnxType* OnnxTypePool::keep(OnnxType type) {
  if (type == *unknown()) return unknown();
  return &*types_.insert(std::move(type)).first;
}

}  // namespace cleave
