// NameTable: maps a name to the index of the item that has it. Open addressing over indices, 16 to
// 32 bytes a name; the names stay where they are, and the caller says how to reach them. With
// millions of names every lookup misses the cache; announcing a lookup early (a prefetch) hides
// that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

namespace cleave {

class NameTable {
 public:
  static constexpr std::uint32_t kAbsent = std::numeric_limits<std::uint32_t>::max();

  NameTable() = default;
  // A table of at most three quarters instead of half of its slots taken: for very many names, whose
  // memory counts more than a few more steps of a search.
  static NameTable dense() {
    NameTable table;
    table.most_eighths_ = 6;
    return table;
  }

  // Announces a lookup of the name. Always inlined: as a function of its own it has no visible
  // effect, and the compiler would drop the calls.
  [[gnu::always_inline]] void fetch(std::string_view name) const { fetch_hash(hash_of(name)); }
  // The same for who keeps the hash for the lookup.
  [[gnu::always_inline]] void fetch_hash(std::uint32_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }

  // The index of the item with that name, or kAbsent. `name_of(index)` returns an item's name.
  template <class NameOf>
  std::uint32_t find(std::string_view name, const NameOf& name_of) const {
    return slots_.empty() ? kAbsent : slots_[slot_of(name, hash_of(name), name_of)].index;
  }

  // The index of the item with that name; if there is none, enters `fresh` under the name and
  // returns kAbsent.
  template <class NameOf>
  std::uint32_t find_or_insert(std::string_view name, std::uint32_t fresh, const NameOf& name_of) {
    return find_or_insert(name, hash_of(name), fresh, name_of);
  }
  // The same for a name whose hash_of() is known.
  template <class NameOf>
  std::uint32_t find_or_insert(std::string_view name, std::uint32_t hash, std::uint32_t fresh,
                               const NameOf& name_of) {
    if (count_ == most_) grow();
    const std::size_t slot = slot_of(name, hash, name_of);
    if (slots_[slot].index != kAbsent) return slots_[slot].index;
    slots_[slot] = {fresh, hash};
    ++count_;
    return kAbsent;
  }

  // The last step's bytes may overlap the bytes before. The final multiplication takes the upper
  // half, so every bit of a word must have reached it: a step only moves bits upwards.
  static std::uint32_t hash_of(std::string_view name) {
    constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ULL;
    const char* const text = name.data();
    const std::size_t size = name.size();
    std::uint64_t hash = size * kOdd;
    const auto mix = [&hash](std::uint64_t word) {
      hash = (hash ^ word) * kOdd;
      hash ^= hash >> 32U;
    };
    for (std::size_t at = 0; at + 8 < size; at += 8) mix(word_at(text + at, 8));
    if (size >= 8) {
      mix(word_at(text + size - 8, 8));
    } else if (size >= 4) {
      mix(word_at(text, 4) << 32U | word_at(text + size - 4, 4));
    } else if (size > 0) {
      mix(word_at(text, 1) << 16U | word_at(text + size / 2, 1) << 8U |
          word_at(text + size - 1, 1));
    }
    return static_cast<std::uint32_t>(hash * kOdd >> 32U);
  }

 private:
  static std::uint64_t word_at(const char* at, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, bytes);
    return word;
  }

  // The hash next to each index rules out most other names without reading them: names are anywhere
  // in the file, and reading one costs a cache miss.
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

  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 2 * slots_.size()));
    old.swap(slots_);
    most_ = slots_.size() / 8 * most_eighths_;
    const std::size_t mask = slots_.size() - 1;
    for (const Slot& entry : old) {
      if (entry.index == kAbsent) continue;
      std::size_t slot = entry.hash & mask;
      while (slots_[slot].index != kAbsent) slot = (slot + 1) & mask;
      slots_[slot] = entry;
    }
  }

  std::vector<Slot> slots_;  // their number is a power of two
  std::size_t count_ = 0;    // of those that are taken,
  std::size_t most_ = 0;     // and the most of them
  std::size_t most_eighths_ = 4;
};

}  // namespace cleave
