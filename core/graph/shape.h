// Dimensions and shapes. A dimension is fixed, named (symbolic) or unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/ids.h"
#include "core/graph/dtype.h"

namespace cleave {

// One dimension: a size of 0 or more, a symbol ("batch"), or unknown. A symbol may also know its
// *traced size*, the size it had when the model was exported. Counts of elements, bytes and FLOPs
// use it; rules and shape inference do not, since the model may be run at other sizes.
class Dim {
 public:
  constexpr Dim() = default;  // unknown
  static constexpr Dim fixed(std::int64_t size) { return Dim(size); }
  static constexpr Dim symbol(NameId name) { return Dim(-2 - std::int64_t{index(name)}); }
  // A traced size of 2^30 or more does not fit beside the name and is dropped, as is one below 0.
  static constexpr Dim symbol(NameId name, std::int64_t traced) {
    const bool is_kept = traced >= 0 && traced < kTracedEnd;
    return Dim(symbol(name).code_ - (is_kept ? (traced + 1) << kNameBits : 0));
  }

  constexpr bool is_fixed() const { return code_ >= 0; }
  constexpr bool is_symbol() const { return code_ <= -2; }
  constexpr bool is_unknown() const { return code_ == -1; }
  constexpr std::int64_t size() const { return code_; }  // only when is_fixed()
  constexpr NameId name() const {                        // only when is_symbol()
    return static_cast<NameId>(static_cast<std::uint32_t>((-2 - code_) & 0xFFFFFFFF));
  }
  // The size, or a symbol's traced size; -1 when there is neither.
  constexpr std::int64_t counted_size() const {
    if (is_fixed()) return size();
    return is_symbol() ? ((-2 - code_) >> kNameBits) - 1 : -1;
  }
  constexpr bool operator==(const Dim&) const = default;

 private:
  static constexpr int kNameBits = 32;
  static constexpr std::int64_t kTracedEnd = std::int64_t{1} << 30U;
  explicit constexpr Dim(std::int64_t code) : code_(code) {}
  std::int64_t code_ = -1;
};

using Shape = std::span<const Dim>;

// The axis counted from the front: -1 is the last of `rank`. nullopt when the axis does not exist.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);

// The number of elements, symbols at their traced size; nullopt when a dim has no size or the
// product overflows 63 bits. A shape with a zero dim has 0 elements, whether the other dims are
// known or not.
std::optional<std::uint64_t> element_count(Shape shape);

// Bytes of a dense tensor: 4-bit and 2-bit types are packed, the last byte rounded up. nullopt when
// the count or the size of an element is unknown, or the product overflows.
std::optional<std::uint64_t> tensor_bytes(DType dtype, Shape shape);

}  // namespace cleave
