// A set of types: element types of tensors, and types of values that are not tensors.
#pragma once

#include <cstdint>
#include <optional>

#include "core/graph/graph.h"

namespace cleave {

// The element types of tensors, and the types of other values, that a rule accepts.
struct TypeSet {
  std::uint32_t dtypes = 0;       // bit per DType
  std::uint16_t value_types = 0;  // bit per ValueType
  void add(DType dtype) { dtypes |= 1U << static_cast<unsigned>(dtype); }
  void add(ValueType type) {
    value_types = static_cast<std::uint16_t>(value_types | 1U << static_cast<unsigned>(type));
  }
  // A tensor is judged by its dtype, any other value by its type.
  bool accepts(const Value& value) const;
  bool operator==(const TypeSet&) const = default;
};
using MaybeTypes = std::optional<TypeSet>;  // nullopt: any type

}  // namespace cleave
