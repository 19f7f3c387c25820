#include "core/balance/ideals.h"

#include <algorithm>

namespace cleave::balance {

Ideals::Ideals(const Instance& instance)
    : instance_(instance), words_(instance.size() / 64 + 1), table_(1024, kNoItem) {
  std::uint64_t code = 0x243F6A8885A308D3U;
  for (std::size_t group = 0; group < instance.size(); ++group) {
    code = (code ^ (code >> 29U)) * 0xBF58476D1CE4E5B9U + 0x9E3779B97F4A7C15U;
    code_.push_back(code ^ (code >> 31U));
  }
  made_.assign(words_, 0);
  find_or_add(0);
}

std::optional<Ideals> Ideals::enumerate(const Instance& instance, std::size_t most) {
  Ideals ideals(instance);
  for (std::uint32_t ideal = 0; ideal < ideals.hash_.size(); ++ideal) {
    if (!ideals.expand(ideal, most)) return std::nullopt;
  }
  ideals.sets_ = {};
  ideals.table_ = {};
  ideals.hash_ = {};
  return ideals;
}

// Ideals are found in order of size, so every ideal that leads to one comes before it.
bool Ideals::expand(std::uint32_t ideal, std::size_t most) {
  find_ready(ideal);
  for (const std::uint32_t group : ready_) {
    const auto first = sets_.begin() + static_cast<std::ptrdiff_t>(ideal * words_);
    std::copy(first, first + static_cast<std::ptrdiff_t>(words_), made_.begin());
    made_[group / 64] |= std::uint64_t{1} << (group % 64);
    next_.push_back({group, find_or_add(hash_[ideal] + code_[group])});
    if (hash_.size() > most) return false;
  }
  next_begin_.push_back(next_.size());
  return true;
}

// A group is ready when it is outside and all its predecessors are inside. Searches word by word:
// groups ascend along edges, so except in wide graphs no ready group is far beyond the first one
// outside.
void Ideals::find_ready(std::uint32_t ideal) {
  ready_.clear();
  const std::span<const std::uint64_t> set(&sets_[ideal * words_], words_);
  for (std::uint32_t group = 0; group < instance_.size(); ++group) {
    if (group % 64 == 0 && set[group / 64] == ~std::uint64_t{0}) {
      group += 63;
      continue;
    }
    if (holds(set, group)) continue;
    const auto before = instance_.predecessors.of(group);
    const bool is_ready = std::all_of(before.begin(), before.end(),
                                      [&](std::uint32_t other) { return holds(set, other); });
    if (is_ready) ready_.push_back(group);
  }
}

std::uint32_t Ideals::find_or_add(std::uint64_t hash) {
  if (hash_.size() * 2 >= table_.size()) grow_table();
  std::size_t slot = hash & (table_.size() - 1);
  while (table_[slot] != kNoItem) {
    const std::uint32_t ideal = table_[slot];
    const auto first = sets_.begin() + static_cast<std::ptrdiff_t>(ideal * words_);
    if (hash_[ideal] == hash && std::equal(made_.begin(), made_.end(), first)) return ideal;
    slot = (slot + 1) & (table_.size() - 1);
  }
  const auto ideal = static_cast<std::uint32_t>(hash_.size());
  table_[slot] = ideal;
  hash_.push_back(hash);
  sets_.insert(sets_.end(), made_.begin(), made_.end());
  return ideal;
}

void Ideals::grow_table() {
  table_.assign(table_.size() * 2, kNoItem);
  for (std::uint32_t ideal = 0; ideal < hash_.size(); ++ideal) {
    std::size_t slot = hash_[ideal] & (table_.size() - 1);
    while (table_[slot] != kNoItem) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = ideal;
  }
}

}  // namespace cleave::balance
