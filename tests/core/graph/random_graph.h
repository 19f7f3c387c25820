// Random graphs for property tests: any wiring, every type of value, constants, captures, nodes
// without inputs, nodes without users, several outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "core/graph/graph.h"
#include "core/lists/support.h"

namespace cleave {

struct RandomGraph {
  std::string text;         // what it was made from: show it with INFO
  std::string unsupported;  // names
  Graph graph;
  Support support;
};

// 1 to `most_nodes` nodes. The same seed gives the same graph everywhere.
RandomGraph random_graph(std::uint32_t seed, std::size_t most_nodes);

// The same with choices from `below`: below(n) is any number from 0 to n-1.
RandomGraph random_graph(std::function<std::size_t(std::size_t)> below, std::size_t most_nodes);

// The graph with state: inputs that outputs are the next values of, whatever their types.
Graph with_some_state(const Graph& graph, std::uint32_t seed);

}  // namespace cleave
