// ByteMemo: what was computed for sequences of bytes, such as placements, so that a search which comes
// back to one does not compute it again. Of two that share a slot the later one stays: memory is
// bounded, and a result never depends on what is still known.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace cleave {

template <class T>
class ByteMemo {
 public:
  // For keys of this many bytes. Keeps at most 8,192 keys, and 16 MB of them.
  explicit ByteMemo(std::size_t key_size)
      : slots_(std::bit_floor(std::clamp<std::size_t>(kMostBytes / (key_size + 1), 1, kMostKeys))) {
  }

  // The entry of this key; T() if it is not known. Linear in the key's size.
  T& of(std::span<const std::uint8_t> key) {
    const std::string_view text(reinterpret_cast<const char*>(key.data()), key.size());
    Slot& slot = slots_[std::hash<std::string_view>()(text) & (slots_.size() - 1)];
    if (!std::equal(key.begin(), key.end(), slot.key.begin(), slot.key.end())) {
      slot.key.assign(key.begin(), key.end());
      slot.value = T();
    }
    return slot.value;
  }

 private:
  static constexpr std::size_t kMostKeys = 8192;
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20U;
  struct Slot {
    std::vector<std::uint8_t> key = {};
    T value = {};
  };
  std::vector<Slot> slots_;
};

}  // namespace cleave
