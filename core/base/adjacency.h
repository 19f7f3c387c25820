// Adjacency: for each item a list of other items, stored as CSR. Graph algorithms that do not need
// a Graph work on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cleave {

struct Adjacency {
  std::vector<std::uint32_t> begin = {0};  // one more than there are items
  std::vector<std::uint32_t> items;        // may contain an item more than once

  std::size_t count() const { return begin.size() - 1; }
  std::span<const std::uint32_t> of(std::uint32_t item) const {
    return std::span(items).subspan(begin[item], begin[item + 1] - begin[item]);
  }
  // Appends to the list of the item being filled; end_list() starts the next item's list.
  void add(std::uint32_t other) { items.push_back(other); }
  void end_list() { begin.push_back(static_cast<std::uint32_t>(items.size())); }

  bool operator==(const Adjacency&) const = default;
};

// The same edges in the other direction; each list is ascending. Linear.
Adjacency reversed(const Adjacency& edges);
// As above, for lists whose entries index something other than the lists; `item_count` is the
// number of those things.
Adjacency reversed(const Adjacency& edges, std::size_t item_count);

// Turns the group of each item into the items of each group 0..group_count-1, ascending. Linear.
Adjacency members_of(std::span<const std::uint32_t> group_of, std::size_t group_count);

struct Components {
  std::vector<std::uint32_t> of;  // by item
  std::size_t count = 0;
};

// Strongly connected components, numbered in reverse topological order. Linear, no recursion.
// Method: Tarjan 1972.
Components strongly_connected_components(const Adjacency& edges);

// A stable topological order of nodes: of the nodes that are ready, the first in the source goes
// first.
struct TopologicalOrder {
  std::vector<std::uint32_t> order;  // all nodes; fewer when there is a cycle
  std::vector<std::uint32_t> cycle;  // each waits for the one before it, the first for the last
};

// `waits_for` lists for each node the nodes that it waits for. O(edges + nodes log nodes).
TopologicalOrder topological_order(const Adjacency& waits_for);

}  // namespace cleave
