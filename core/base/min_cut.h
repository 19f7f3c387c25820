// Minimum cut between two terminals of a network with real capacities, made for large sparse
// networks: a million nodes take seconds, whatever their depth.
//
// Method: push-relabel (Goldberg and Tarjan 1988), highest label first, with global relabelling and
// the gap heuristic (Cherkassky and Goldberg 1997); the first phase alone, which is enough for a
// cut. Capacities are scaled to 60-bit integers, so that the result is exact but for that rounding
// and does not depend on a tolerance. FlowNetwork is the simpler choice for small networks whose
// flow is raised step by step.
#pragma once

#include <cstdint>
#include <vector>

namespace cleave {

// Capacity of an arc that no minimum cut goes through.
inline constexpr double kUncut = -1;

class MinCut {
 public:
  // Room for so many nodes and arcs; more may be added.
  void reserve(std::size_t nodes, std::size_t arcs);

  std::uint32_t add_node();
  std::size_t node_count() const { return from_source_.size(); }
  // Add to the capacities between the terminals and a node, which are finite.
  void add_source_arc(std::uint32_t node, double capacity);
  void add_sink_arc(std::uint32_t node, double capacity);
  // `back` is the capacity from `to` to `from`.
  void add_arc(std::uint32_t from, std::uint32_t to, double capacity, double back = 0);

  // For each node whether it is on the source's side, which is the largest of any minimum cut. The
  // network is used up. O(nodes^2 sqrt(arcs)) at worst, close to linear on graphs of models.
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
