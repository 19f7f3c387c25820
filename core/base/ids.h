// Typed indices, and the dense tables that they index.
//
// A node, a value and a part of a split are each a 32-bit index into their owner's records. Each
// has a type of its own, so that one cannot be taken for another. Facts about nodes live outside
// the graph, in PerNode<T> tables owned by the pass that made them.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace cleave {

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

}  // namespace cleave
