// Maximum flow in small networks, many times over: Dinic's algorithm on arrays that are kept.
//
// Our own and not a library's: core includes the standard library only; and the lower bound of
// balanced stages solves thousands of networks of some dozen nodes, each twice, the second time
// from the flow of the first after arcs were added, which Boost.Graph's and LEMON's do not offer.
#pragma once

#include <cstdint>
#include <vector>

namespace cleave {

class FlowNetwork {
 public:
  // Forgets everything; memory stays. Nodes 0 and 1 are source and sink.
  void clear();
  std::uint32_t add_node();
  // An arc, and one back with its own capacity. May be called between flows.
  void add_arc(std::uint32_t from, std::uint32_t to, double capacity, double back = 0);
  // Adds flow until there is no more way, or it is `limit` in all; gives the flow of all calls.
  double augment(double limit);
  double flow() const { return flow_; }
  // Arcs looked at since the network was made: the work done.
  std::uint64_t steps() const { return steps_; }

 private:
  struct Arc {
    std::uint32_t to;
    std::uint32_t next;  // arc out of the same node
    double room;
  };
  bool find_levels();
  double push_along_levels(double most);

  std::vector<Arc> arcs_;             // an arc and its reverse stand side by side
  std::vector<std::uint32_t> first_;  // arc out of each node
  std::vector<std::uint32_t> level_;
  std::vector<std::uint32_t> current_;
  std::vector<std::uint32_t> queue_;
  std::vector<std::uint32_t> path_;  // arcs
  double flow_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace cleave
