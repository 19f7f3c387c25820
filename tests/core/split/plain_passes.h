// The passes a second time, as simply as possible: sets, searches, loops until nothing changes.
// Quadratic and worse. Property tests compare the real passes with these.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/groups.h"
#include "core/split/options.h"
#include "core/split/split.h"

namespace cleave::plain {

using Nodes = std::set<NodeId>;

// The results of the real passes, as sets.
Nodes nodes_in(const Graph& graph, const NodeSet& nodes);
std::vector<Nodes> groups_in(const cleave::Fusions& fusions);

// Nodes that read any output of the node.
Nodes users_of(const Graph& graph, NodeId node);
// Nodes that make what the node reads.
Nodes producers_of(const Graph& graph, NodeId node);

// The rest of the supported nodes when no non-tensor data may cross.
Nodes find_acc_nodes(const Graph& graph, Nodes supported);

struct Fusions {
  std::vector<Nodes> groups;  // by their first node
  Nodes acc;                  // what is left
};
Fusions find_fusions(const Graph& graph, const Nodes& acc);

struct Subgraph {
  Device device = Device::cpu;
  Nodes nodes;
  bool operator==(const Subgraph&) const = default;
};
std::vector<Subgraph> subgraphs_in(const Subgraphs& subgraphs);

// From that side, or as the reference starts.
std::vector<Subgraph> split_subgraphs(const Graph& graph, const Fusions& fusions, StartSide start);

std::vector<Subgraph> merge_small_subgraphs(const std::vector<Subgraph>& subgraphs,
                                            std::size_t min_acc_size);

// Moves nodes into subgraph `target`; returns them.
Nodes extend_subgraph(const Graph& graph, const Fusions& fusions, std::vector<Subgraph>& subgraphs,
                      std::size_t target);

struct Boundary {
  std::vector<ValueId> inputs, outputs, parameters;
};
std::vector<Boundary> find_boundaries(const Graph& graph, const std::vector<Subgraph>& subgraphs);

// Bytes of tensors that enter and leave accelerator subgraphs.
std::uint64_t link_bytes(const Graph& graph, const std::vector<Subgraph>& subgraphs);

}  // namespace cleave::plain
