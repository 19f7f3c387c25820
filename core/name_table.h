// NameTable: from a name to the index of what bears it. Open addressing over indices; the names
// stay where they are, and the caller says how to reach them: 8 to 16 bytes a name.
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
    return slots_.empty() ? kAbsent : slots_[slot_of(name, name_of)];
  }

  // The index whose name it is; else enters `fresh` under the name and returns kAbsent.
  template <class NameOf>
  std::uint32_t find_or_insert(std::string_view name, std::uint32_t fresh, const NameOf& name_of) {
    if (2 * (count_ + 1) > slots_.size()) grow(name_of);
    const std::size_t slot = slot_of(name, name_of);
    if (slots_[slot] != kAbsent) return slots_[slot];
    slots_[slot] = fresh;
    ++count_;
    return kAbsent;
  }

 private:
  template <class NameOf>
  std::size_t slot_of(std::string_view name, const NameOf& name_of) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = std::hash<std::string_view>{}(name)&mask;
    while (slots_[slot] != kAbsent && name_of(slots_[slot]) != name) slot = (slot + 1) & mask;
    return slot;
  }
  template <class NameOf>
  void grow(const NameOf& name_of) {
    std::vector<std::uint32_t> old(std::max<std::size_t>(64, 2 * slots_.size()), kAbsent);
    old.swap(slots_);
    for (const std::uint32_t entry : old) {
      if (entry != kAbsent) slots_[slot_of(name_of(entry), name_of)] = entry;
    }
  }

  std::vector<std::uint32_t> slots_;  // a power of two of them, at most half taken
  std::size_t count_ = 0;
};

}  // namespace cleave
