// How a tensor is laid out in memory, for rules that ask for it. One tensor may have several
// layouts: with one channel, contiguous and channels_last are the same.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace cleave {

enum class LayoutName : std::uint8_t {
  contiguous,        // row-major without gaps
  channels_last,     // rank 4, dim 1 innermost: NHWC
  channels_last_3d,  // rank 5, dim 1 innermost: NDHWC
  strided,           // any tensor with strides
  sparse,            // COO, CSR, CSC, BSR, BSC
};
inline constexpr std::array<std::string_view, 5> kLayoutNames = {
    "contiguous", "channels_last", "channels_last_3d", "strided", "sparse"};

class LayoutSet {
 public:
  void add(LayoutName name) { bits_ |= bit(name); }
  bool contains(LayoutName name) const { return (bits_ & bit(name)) != 0; }
  bool meets(LayoutSet other) const { return (bits_ & other.bits_) != 0; }
  bool operator==(const LayoutSet&) const = default;

 private:
  static constexpr unsigned bit(LayoutName name) { return 1U << static_cast<unsigned>(name); }
  unsigned bits_ = 0;
};

struct TensorLayout {
  LayoutSet layouts;                                 // all that it has
  std::vector<std::optional<std::int64_t>> strides;  // in elements, by dim; nullopt: unknown
  bool operator==(const TensorLayout&) const = default;
};

// The layouts of a tensor with these sizes and strides, as torch decides them: the stride of a dim
// of size 1 does not count, and an empty tensor is contiguous. `strides` has one number for each
// size. Linear in the dims.
LayoutSet strided_layouts(std::span<const std::int64_t> sizes,
                          std::span<const std::int64_t> strides);

}  // namespace cleave
