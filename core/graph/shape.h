// Dimensions and shapes. A dimension is fixed, named (symbolic) or unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/ids.h"
#include "core/graph/dtype.h"

namespace cleave {

// One dimension: a size of 0 or more, a symbol ("batch"), or unknown.
class Dim {
 public:
  constexpr Dim() = default;  // unknown
  static constexpr Dim fixed(std::int64_t size) { return Dim(size); }
  static constexpr Dim symbol(NameId name) { return Dim(-2 - std::int64_t{index(name)}); }

  constexpr bool is_fixed() const { return code_ >= 0; }
  constexpr bool is_symbol() const { return code_ <= -2; }
  constexpr bool is_unknown() const { return code_ == -1; }
  constexpr std::int64_t size() const { return code_; }  // only when is_fixed()
  constexpr NameId name() const {                        // only when is_symbol()
    return static_cast<NameId>(static_cast<std::uint32_t>(-2 - code_));
  }
  constexpr bool operator==(const Dim&) const = default;

 private:
  explicit constexpr Dim(std::int64_t code) : code_(code) {}
  std::int64_t code_ = -1;
};

using Shape = std::span<const Dim>;

// The axis counted from the front: -1 is the last of `rank`. nullopt when the axis does not exist.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);

// The number of elements; nullopt when a dim is not fixed or the product overflows 63 bits. A shape
// with a zero dim has 0 elements, whether the other dims are known or not.
std::optional<std::uint64_t> element_count(Shape shape);

// Bytes of a dense tensor: 4-bit and 2-bit types are packed, the last byte rounded up. nullopt when
// the count or the size of an element is unknown, or the product overflows.
std::optional<std::uint64_t> tensor_bytes(DType dtype, Shape shape);

}  // namespace cleave
