// Large graphs in native JSON, for benchmarks: about 1.3 edges and 210 bytes a node, op types and
// shapes as in real models. The same arguments give the same bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cleave::bench {

enum class GraphKind {
  chain,        // residual blocks, one after the other; now and then a reshape by sizes
  wide,         // a node read by hundreds of branches, which one node joins again
  transformer,  // attention and feed-forward layers with their size, view and transpose
};

std::optional<GraphKind> parse_graph_kind(std::string_view name);

// The graph with `nodes` nodes, or a few more: blocks are complete.
std::string make_graph(GraphKind kind, std::size_t nodes);

// A support list for them: one node in about 60 is left to the CPU.
std::string make_support_list();

}  // namespace cleave::bench
