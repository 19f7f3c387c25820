// Steps:
// 1. find the edges between partitions;
// 2. order the partitions by them, or refuse a cycle or a wrong order, naming the nodes to blame;
// 3. number the partitions in that order.
#include "core/stages/assignment.h"

#include <cstdint>
#include <unordered_set>
#include <utility>

#include "core/base/adjacency.h"

namespace cleave {
namespace {

// A part needs another because of this edge, the first such edge in model order.
struct PartEdge {
  std::uint32_t from, to;
  NodeId producer, reader;
  std::string memory = {};  // "": the reader reads a value; else what both use
};

// Each pair of parts once, in the order in which a walk over all nodes' operands first meets it;
// then those that only `ties` order.
std::vector<PartEdge> find_part_edges(const Graph& graph, const PerNode<PartId>& part_of,
                                      const NodeTies& ties) {
  std::vector<PartEdge> edges;
  std::unordered_set<std::uint64_t> met;
  for (const NodeId reader : graph.nodes()) {
    const std::uint32_t to = index(part_of[reader]);
    for (const Operand& operand : graph.operands(reader)) {
      const Value& value = graph.value(operand.value);
      if (value.kind != ValueKind::node_output) continue;
      const std::uint32_t from = index(part_of[value.producer]);
      if (from == to || !met.insert(std::uint64_t{from} << 32U | to).second) continue;
      edges.push_back({from, to, value.producer, reader});
    }
  }
  for (const auto& [before, after, memory] : ties.order) {
    const std::uint32_t from = index(part_of[before]), to = index(part_of[after]);
    if (from == to || !met.insert(std::uint64_t{from} << 32U | to).second) continue;
    edges.push_back(
        {from, to, before, after, memory.empty() ? "memory that is written in place" : memory});
  }
  return edges;
}

// For each part the parts that need it, in the order of the edges.
Adjacency dependents_of(const std::vector<PartEdge>& edges, std::size_t part_count) {
  std::vector<std::uint32_t> makers;
  makers.reserve(edges.size());
  for (const PartEdge& edge : edges) makers.push_back(edge.from);
  Adjacency dependents = members_of(makers, part_count);
  for (std::uint32_t& item : dependents.items) item = edges[item].to;
  return dependents;
}

class PartOrder {
 public:
  PartOrder(const Graph& graph, const Assignment& assignment, const NodeTies& ties)
      : graph_(graph),
        names_(assignment.names),
        edges_(find_part_edges(graph, assignment.part_of, ties)),
        dependents_(dependents_of(edges_, assignment.names.size())) {}

  Result<std::vector<std::uint32_t>> sorted() const {
    std::vector<std::uint32_t> waits(names_.size(), 0);
    for (const PartEdge& edge : edges_) ++waits[edge.to];
    std::vector<std::uint32_t> ready, order;
    for (std::uint32_t part = 0; part < waits.size(); ++part) {
      if (waits[part] == 0) ready.push_back(part);
    }
    while (!ready.empty()) {
      const std::uint32_t part = ready.back();
      ready.pop_back();
      order.push_back(part);
      for (const std::uint32_t dependent : dependents_.of(part)) {
        if (--waits[dependent] == 0) ready.push_back(dependent);
      }
    }
    if (order.size() < names_.size()) return cycle_error();
    return order;
  }

  Result<std::vector<std::uint32_t>> as_met() const {
    auto order = sorted();
    if (!order) return order;
    for (const PartEdge& edge : edges_) {
      if (edge.from > edge.to) return backward_error(edge);
    }
    for (std::uint32_t part = 0; part < names_.size(); ++part) (*order)[part] = part;
    return order;
  }

 private:
  std::string part_text(std::uint32_t part) const { return '"' + names_[part] + '"'; }
  std::string node_text(NodeId node) const {
    return "node \"" + std::string(graph_.node(node).name) + '"';
  }
  std::string step_text(const PartEdge& edge) const {
    return part_text(edge.to) + " needs " + part_text(edge.from) + ": " + reason_text(edge);
  }
  std::string reason_text(const PartEdge& edge) const {
    if (edge.memory.empty()) return node_text(edge.reader) + " reads " + node_text(edge.producer);
    return node_text(edge.reader) + " uses " + edge.memory + ", after " + node_text(edge.producer);
  }
  const PartEdge& edge_between(std::uint32_t from, std::uint32_t to) const {
    std::size_t i = 0;
    while (edges_[i].from != from || edges_[i].to != to) ++i;
    return edges_[i];
  }

  Error cycle_error() const {
    constexpr std::size_t kMostShown = 20;
    const std::vector<std::uint32_t> cycle = topological_order(reversed(dependents_)).cycle;
    Error error{"the partitions form a cycle: "};
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const std::uint32_t next = cycle[(i + 1) % cycle.size()];
      if (i < kMostShown) error.message += part_text(cycle[i]) + " -> ";
      error.notes.push_back(step_text(edge_between(cycle[i], next)));
    }
    if (cycle.size() > kMostShown) error.message += "... -> ";
    error.message += part_text(cycle.front());
    error.notes.emplace_back(
        "put the nodes of one step into the same partition, or into one of their own");
    error.node = edge_between(cycle[0], cycle[1]).reader;
    return error;
  }

  Error backward_error(const PartEdge& edge) const {
    return {"the partitions cannot keep the order of first appearance: " + part_text(edge.to) +
                ", which appears before " + part_text(edge.from) + ", needs it",
            edge.reader,
            {node_text(edge.reader) + " of " + part_text(edge.to) + " reads " +
                 node_text(edge.producer) + " of " + part_text(edge.from),
             "without --keep-original-order there is an order that runs"}};
  }

  const Graph& graph_;
  const std::vector<std::string>& names_;
  std::vector<PartEdge> edges_;
  Adjacency dependents_;
};

}  // namespace

Result<Partition> order_parts(const Graph& graph, const Assignment& assignment,
                              const AssignmentOptions& options, const NodeTies& ties) {
  const PartOrder parts(graph, assignment, ties);
  const auto order = options.keep_original_order ? parts.as_met() : parts.sorted();
  if (!order) return order.error();
  std::vector<PartId> place(order->size());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < order->size(); ++i) {
    place[(*order)[i]] = id_at<PartId>(i);
    names.push_back(assignment.names[(*order)[i]]);
  }
  PerNode<PartId> part_of = assignment.part_of;
  for (const NodeId node : graph.nodes()) part_of[node] = place[index(part_of[node])];
  Partition partition = make_partition(std::move(part_of), std::move(names), {});
  if (auto is_whole = check_whole(graph, partition, ties); !is_whole) return is_whole.error();
  return partition;
}

}  // namespace cleave
