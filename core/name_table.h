// NameTable: from a name to the index of what bears it. Open addressing over indices; the names
// stay where they are, and the caller says how to reach them: 16 to 32 bytes a name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

namespace cleave {

class NameTable {
 public:
  static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();

  // The index whose name it is, or kAbsent. `name_of(index)` gives an index's name.
  template <class NameOf>
  std::uint32_t find(std::string_view name, const NameOf& name_of) const {
    return slots_.empty() ? kAbsent : slots_[slot_of(name, hash_of(name), name_of)].index;
  }

  // The index whose name it is; else enters `fresh` under the name and returns kAbsent.
  template <class NameOf>
  std::uint32_t find_or_insert(std::string_view name, std::uint32_t fresh, const NameOf& name_of) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    const std::uint32_t hash = hash_of(name);
    const std::size_t slot = slot_of(name, hash, name_of);
    if (slots_[slot].index != kAbsent) return slots_[slot].index;
    slots_[slot] = {fresh, hash};
    ++count_;
    return kAbsent;
  }

 private:
  // The hash beside each index tells most other names apart without a look at them: names lie
  // anywhere in the file, and a look costs a cache miss.
  struct Slot {
    std::uint32_t index = kAbsent;
    std::uint32_t hash = 0;
  };

  template <class NameOf>
  std::size_t slot_of(std::string_view name, std::uint32_t hash, const NameOf& name_of) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = hash & mask;
    while (slots_[slot].index != kAbsent &&
           (slots_[slot].hash != hash || name_of(slots_[slot].index) != name)) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }
  static std::uint32_t hash_of(std::string_view name) {
    return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    const std::size_t mask = slots_.size() - 1;
    for (const Slot& entry : old) {
      if (entry.index == kAbsent) continue;
      std::size_t slot = entry.hash & mask;
      while (slots_[slot].index != kAbsent) slot = (slot + 1) & mask;
      slots_[slot] = entry;
    }
  }

  std::vector<Slot> slots_;  // a power of two of them, at most half taken
  std::size_t count_ = 0;
};

}  // namespace cleave
