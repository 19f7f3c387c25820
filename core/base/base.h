// What every room uses: results, numbered ids, checked arithmetic, tables of names, progress.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cleave {

// What is neither copied nor moved.
struct Pinned {
  Pinned() = default;
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
};

// Each item once, in order.
template <class T>
void sort_unique(std::vector<T>& items) {
  std::ranges::sort(items);
  items.erase(std::unique(items.begin(), items.end()), items.end());
}

template <class Items, class Item>
bool contains(const Items& items, const Item& item) {
  return std::ranges::find(items, item) != std::ranges::end(items);
}

// ---- ids ----
//
// Typed indices, and the dense tables that they index.
//
// A node, a value and a part of a split are each a 32-bit index into their owner's records. Each
// has a type of its own, so that one cannot be taken for another. Facts about nodes live outside
// the graph, in PerNode<T> tables owned by the pass that made them.

enum class NodeId : std::uint32_t {};
enum class ValueId : std::uint32_t {};
enum class PartId : std::uint32_t {};   // a subgraph, partition or stage, in call order
enum class NameId : std::uint32_t {};   // an interned name: op type, domain, scope, attribute
enum class ShapeId : std::uint32_t {};  // an interned shape
enum class GroupId : std::uint32_t {};  // a fusion group

// The id that means "none".
template <class Id>
inline constexpr Id kNone = Id{std::numeric_limits<std::uint32_t>::max()};

template <class Id>
constexpr std::uint32_t index(Id id) {
  return static_cast<std::uint32_t>(id);
}

template <class Id>
constexpr Id id_at(std::size_t i) {
  return static_cast<Id>(static_cast<std::uint32_t>(i));
}

// The ids first, first+1, ..., last-1.
template <class Id>
class IdRange {
 public:
  class Iterator {
   public:
    using value_type = Id;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(std::uint32_t at) : at_(at) {}
    Id operator*() const { return Id{at_}; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++at_;
      return old;
    }
    bool operator==(const Iterator&) const = default;

   private:
    std::uint32_t at_ = 0;
  };

  IdRange() = default;
  IdRange(std::size_t first, std::size_t last)
      : first_(static_cast<std::uint32_t>(first)), last_(static_cast<std::uint32_t>(last)) {}
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(last_); }
  std::size_t size() const { return last_ - first_; }
  bool empty() const { return first_ == last_; }
  bool contains(Id id) const { return index(id) >= first_ && index(id) < last_; }
  Id operator[](std::size_t i) const { return id_at<Id>(first_ + i); }

 private:
  std::uint32_t first_ = 0;
  std::uint32_t last_ = 0;
};

// One T for each id from 0 to size-1.
template <class Id, class T>
class IdTable {
 public:
  IdTable() = default;
  explicit IdTable(std::size_t size, const T& initial = T{}) : items_(size, initial) {}
  T& operator[](Id id) {
    assert(index(id) < items_.size());
    return items_[index(id)];
  }
  const T& operator[](Id id) const {
    assert(index(id) < items_.size());
    return items_[index(id)];
  }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool operator==(const IdTable&) const = default;

 private:
  static_assert(!std::is_same_v<T, bool>, "use IdSet: std::vector<bool> has no references");
  std::vector<T> items_;
};

template <class T>
using PerNode = IdTable<NodeId, T>;
template <class T>
using PerValue = IdTable<ValueId, T>;
template <class T>
using PerPart = IdTable<PartId, T>;

// A set of ids below a fixed bound, one byte each; counts its members.
template <class Id>
class IdSet {
 public:
  IdSet() = default;
  explicit IdSet(std::size_t bound) : member_(bound, 0) {}
  bool contains(Id id) const { return member_[id] != 0; }
  // True when the id was not yet a member.
  bool insert(Id id) {
    if (member_[id] != 0) return false;
    member_[id] = 1;
    ++count_;
    return true;
  }
  // True when the id was a member.
  bool erase(Id id) {
    if (member_[id] == 0) return false;
    member_[id] = 0;
    --count_;
    return true;
  }
  std::size_t count() const { return count_; }
  std::size_t bound() const { return member_.size(); }
  bool operator==(const IdSet&) const = default;

 private:
  IdTable<Id, std::uint8_t> member_;
  std::size_t count_ = 0;
};

using NodeSet = IdSet<NodeId>;
using ValueSet = IdSet<ValueId>;

// ---- result ----
//
// Result<T>: a value, or why there is none. Shaped like std::expected, which g++ 12 lacks.
//
// Core uses Result only where the request itself can be impossible; what the user did wrong in a
// file is a diagnostic (formats/base/faults.h), which knows files and lines.

// What was asked and why it is impossible: lower case, names quoted. Notes are further lines.
struct Error {
  std::string message;
  std::optional<NodeId> node = std::nullopt;
  std::vector<std::string> notes = {};
};

template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: as std::expected
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: as std::expected

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return checked<0>(state_); }
  const T& value() const& { return checked<0>(state_); }
  T&& value() && { return std::move(checked<0>(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  E& error() & { return checked<1>(state_); }
  const E& error() const& { return checked<1>(state_); }
  E&& error() && { return std::move(checked<1>(state_)); }

 private:
  template <std::size_t I, class State>
  static auto& checked(State& state) {
    assert(state.index() == I);
    return *std::get_if<I>(&state);
  }
  std::variant<T, E> state_;
};

// A result without a value: done, or why it could not be.
struct Done {};
template <class E = Error>
using Status = Result<Done, E>;

// ---- checked ----
//
// Arithmetic on whole numbers that never wraps round.

// Addition that stops at the greatest value of its type instead of wrapping round.

constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  return a > kMost - b ? kMost : a + b;
}

// nullopt when the sum is outside the type.
inline std::optional<std::int64_t> checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

// nullopt when the product is outside the type.
inline std::optional<std::int64_t> checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}

// ---- append ----

template <class T>
void append(std::vector<T>& to, const std::vector<T>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

template <class T>
void append(std::vector<T>& to, std::vector<T>&& more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// ---- byte memo ----
//
// ByteMemo: what was computed for sequences of bytes, such as placements, so that a search which comes
// back to one does not compute it again. Of two that share a slot the later one stays: memory is
// bounded, and a result never depends on what is still known.

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

// ---- string arena ----
//
// StringArena: keeps copies of strings at fixed addresses for as long as it lives.

class StringArena {
 public:
  // A copy of `text`; its address does not change, also when the arena is moved.
  std::string_view keep(std::string_view text);

 private:
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t used_ = 0;      // of the last block
  std::size_t capacity_ = 0;  // of the last block
};

// ---- name table ----
//
// NameTable: maps a name to the index of the item that has it. Open addressing over indices, 16 to
// 32 bytes a name; the names stay where they are, and the caller says how to reach them. With
// millions of names every lookup misses the cache; announcing a lookup early (a prefetch) hides
// that.

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

// ---- dice ----
//
// Pseudo-random numbers for searches that must give the same result on every machine.

// A linear congruential generator with Knuth's constants for MMIX. The standard library's
// distributions may differ between implementations, so none is used.
class Dice {
 public:
  // From 0 to `bound` - 1; `bound` is at least 1 and fits 32 bits.
  std::uint32_t below(std::size_t bound) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>((state_ >> 33U) % bound);
  }

 private:
  std::uint64_t state_ = 1;
};

// ---- progress ----
//
// Progress: reports how far long work has come. Core prints nothing: the caller hands in a
// function, which is called every few thousand items, never in the innermost loop.

struct WorkDone {
  std::string_view task;  // "reading"; a new name starts a new task
  std::string_view unit;  // what is counted: "bytes", "nodes"
  std::uint64_t done = 0;
  std::uint64_t total = 0;  // an estimate; the work may turn out to be less or more
};

// Empty when nobody wants reports.
using Progress = std::function<void(const WorkDone&)>;

inline void tell(const Progress& progress, const WorkDone& work) {
  if (progress) progress(work);
}

// As above, through a pointer that may be null.
inline void tell(const Progress* progress, const WorkDone& work) {
  if (progress != nullptr) tell(*progress, work);
}

}  // namespace cleave
