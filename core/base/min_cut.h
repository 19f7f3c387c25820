// Minimum cut between two terminals of a network with real capacities, made for large sparse
// networks: a million nodes take seconds, whatever their depth.
//
// Method: push-relabel (Goldberg and Tarjan 1988), highest label first, with global relabelling and
// the gap heuristic (Cherkassky and Goldberg 1997). Only the first phase runs, which is enough for
// a cut. Capacities are scaled to 60-bit integers: the result is exact up to that rounding and does
// not depend on a tolerance. For small networks whose flow is raised step by step, FlowNetwork is
// the simpler choice.
#pragma once

#include <cstdint>
#include <vector>

namespace cleave {

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
