// What flows between the boxes of a drawing: values from box to box, and those with the same ends as one
// edge.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// The drawing says what its boxes and their numbers are.
struct Flow {
  std::uint32_t from, to;
  ValueId value;
  bool crosses = true;  // from one part into another, or in or out of the graph

  auto ends() const { return std::tie(from, to); }
  auto key() const { return std::tie(from, to, value); }
};

// All that flows along one edge.
struct FlowSum {
  std::size_t values = 0;
  std::uint64_t bytes = 0;
  bool is_known = true;  // false: the bytes are at least these

  // "3.06 MiB", "at least 588 KiB", "size unknown"
  std::string bytes_words() const;
};
FlowSum sum_of(const Graph& graph, std::span<const Flow> flows);

class FlowGraph {
 public:
  void add(const Flow& flow) { flows_.push_back(flow); }

  // Puts the flows in the order of their ends, then of their values, each once.
  void arrange();

  // For arranged flows: visits those of each edge, as a span.
  template <class Visit>
  void each_edge(const Visit& visit) const {
    for (std::size_t begin = 0; begin < flows_.size();) {
      std::size_t end = begin;
      while (end < flows_.size() && flows_[end].ends() == flows_[begin].ends()) ++end;
      visit(std::span(flows_).subspan(begin, end - begin));
      begin = end;
    }
  }
  std::size_t edge_count() const;

  std::vector<Flow>& flows() { return flows_; }

 private:
  std::vector<Flow> flows_;
};

}  // namespace cleave
