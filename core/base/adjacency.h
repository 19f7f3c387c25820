// Adjacency: for each item a list of others, as CSR. What graph algorithms that do not need a Graph
// work on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cleave {

struct Adjacency {
  std::vector<std::uint32_t> begin = {0};  // one more than there are items
  std::vector<std::uint32_t> items;        // one may stand in a list more than once

  std::size_t count() const { return begin.size() - 1; }
  std::span<const std::uint32_t> of(std::uint32_t item) const {
    return std::span(items).subspan(begin[item], begin[item + 1] - begin[item]);
  }
  // Appends to the list of the item being filled; end_list() goes on to the next item.
  void add(std::uint32_t other) { items.push_back(other); }
  void end_list() { begin.push_back(static_cast<std::uint32_t>(items.size())); }
};

// The same edges the other way round; lists in ascending order. Linear.
Adjacency reversed(const Adjacency& edges);
// The same where the lists are of other things than the items in them, of which there are
// `item_count`.
Adjacency reversed(const Adjacency& edges, std::size_t item_count);

// Groups 0..count-1 of items: for each item its group -> for each group its items, ascending.
// Linear.
Adjacency members_of(std::span<const std::uint32_t> group_of, std::size_t group_count);

struct Components {
  std::vector<std::uint32_t> of;  // by item
  std::size_t count = 0;
};

// Strongly connected components, numbered in reverse topological order. Linear, no recursion.
// Method: Tarjan 1972.
Components strongly_connected_components(const Adjacency& edges);

}  // namespace cleave
