// Graph algorithms that know no model: adjacency lists and the minimum cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace cleave {

// ---- adjacency ----
//
// Adjacency: for each item a list of other items, stored as CSR. Graph algorithms that do not need
// a Graph work on it.

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

// The lists of 0..count-1, from edges in any order: a list keeps the order of its own. `each_edge` is called twice,
// with a function (from, to) that it calls for each edge. Linear.
template <class EachEdge>
Adjacency adjacency_of(std::size_t count, const EachEdge& each_edge) {
  Adjacency result;
  result.begin.assign(count + 1, 0);
  each_edge([&](std::uint32_t from, std::uint32_t) { ++result.begin[from + 1]; });
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  result.items.resize(result.begin.back());
  std::vector<std::uint32_t> next(result.begin.begin(), result.begin.end() - 1);
  each_edge([&](std::uint32_t from, std::uint32_t to) { result.items[next[from]++] = to; });
  return result;
}

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

// ---- min cut ----
//
// Minimum cuts between two terminals: FlowNetwork for small networks whose flow grows step by step, min_cut() for
// large ones.

// Maximum flow in small networks, many times over: Dinic's algorithm on arrays that are reused.
//
// It is our own, since core includes the standard library only. Also, the lower bound of balanced
// stages solves thousands of networks of some dozen nodes, each twice, the second time from the
// flow of the first after arcs were added; Boost.Graph and LEMON do not offer that.
class FlowNetwork {
 public:
  // Forgets the network but keeps the memory. Nodes 0 and 1 are the source and the sink.
  void clear();
  std::uint32_t add_node();
  // Adds an arc, and one back with its own capacity. May be called between flows.
  void add_arc(std::uint32_t from, std::uint32_t to, double capacity, double back = 0);
  // Adds flow until no path is left or the flow reaches `limit`; returns the flow of all calls so
  // far.
  double augment(double limit);
  double flow() const { return flow_; }
  // The work done: arcs visited since the network was made.
  std::uint64_t steps() const { return steps_; }

 private:
  struct Arc {
    std::uint32_t to;
    std::uint32_t next;  // arc out of the same node
    double room;
  };
  bool find_levels();
  double push_along_levels(double most);

  std::vector<Arc> arcs_;             // an arc and its reverse are neighbours
  std::vector<std::uint32_t> first_;  // arc out of each node
  std::vector<std::uint32_t> level_;
  std::vector<std::uint32_t> current_;
  std::vector<std::uint32_t> queue_;
  std::vector<std::uint32_t> path_;  // arcs
  double flow_ = 0;
  std::uint64_t steps_ = 0;
};

// The capacity of an arc that no minimum cut goes through.
inline constexpr double kUncut = -1;

class MinCut {
 public:
  // Reserves memory for that many nodes and arcs; more may be added.
  void reserve(std::size_t nodes, std::size_t arcs);

  std::uint32_t add_node();
  std::size_t node_count() const { return from_source_.size(); }
  // Add to the capacity between a terminal and a node. Capacities are finite.
  void add_source_arc(std::uint32_t node, double capacity);
  void add_sink_arc(std::uint32_t node, double capacity);
  // `back` is the capacity from `to` to `from`.
  void add_arc(std::uint32_t from, std::uint32_t to, double capacity, double back = 0);

  // Returns for each node whether it is on the source's side; of all minimum cuts, the one with the
  // largest source side is taken. Uses up the network. O(nodes^2 sqrt(arcs)) at worst, close to
  // linear on graphs of models.
  std::vector<bool> solve() &&;

 private:
  struct PlainArc {
    std::uint32_t from;
    std::uint32_t to;
    double capacity;
    double back;
  };

  std::vector<double> from_source_;
  std::vector<double> to_sink_;
  std::vector<PlainArc> arcs_;
};

}  // namespace cleave
