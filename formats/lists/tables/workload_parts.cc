#include "formats/lists/tables/workload_parts.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/base/topological_order.h"
#include "formats/base/text/capped_list.h"

namespace cleave {
namespace {

constexpr double kSameCost = 1e-6;
constexpr std::size_t kMostShown = 12;  // nodes of a cycle

std::string id_text(std::int64_t id) { return escaped_in_quotes(std::to_string(id)); }

class WorkloadMaker {
 public:
  WorkloadMaker(const WorkloadParts& parts, JsonFaults& faults) : parts_(parts), faults_(faults) {}

  Workload make() && {
    number_nodes();
    resolve_edges();
    if (!faults_.empty()) return {};
    check_order();
    check_directions();
    add_items();
    add_nets();
    add_successors();
    workload_.devices = parts_.devices;
    workload_.edge_count = ends_.size();
    return std::move(workload_);
  }

 private:
  struct Ends {
    std::uint32_t source, target;  // items
    auto operator<=>(const Ends&) const = default;
  };

  void number_nodes() {
    for (const WorkloadNode& node : parts_.nodes) {
      const auto item = static_cast<std::uint32_t>(item_of_.size());
      if (item_of_.emplace(node.id, item).second) continue;
      faults_.add(node.offset, "node " + id_text(node.id) + " is given twice");
    }
  }

  std::optional<std::uint32_t> find(const WorkloadEdge& edge, std::int64_t id) {
    const auto found = item_of_.find(id);
    if (found != item_of_.end()) return found->second;
    faults_.add(edge.offset, "edge " + id_text(edge.source) + " -> " + id_text(edge.target) +
                                 ": there is no node " + id_text(id));
    return std::nullopt;
  }

  void resolve_edges() {
    cost_of_.assign(parts_.nodes.size(), -1);
    for (const WorkloadEdge& edge : parts_.edges) {
      const auto source = find(edge, edge.source);
      const auto target = find(edge, edge.target);
      if (!source || !target) continue;
      ends_.push_back({*source, *target});
      double& cost = cost_of_[*source];
      if (cost < 0) {
        cost = edge.cost;
      } else if (std::abs(cost - edge.cost) > kSameCost) {
        faults_.add(edge.offset, "edge " + id_text(edge.source) + " -> " + id_text(edge.target) +
                                     " costs " + std::to_string(edge.cost) +
                                     ", another edge out of " + id_text(edge.source) + " " +
                                     std::to_string(cost) +
                                     ": they move one output and must cost the same");
      }
    }
    std::sort(ends_.begin(), ends_.end());
  }

  // Sources by target.
  Adjacency sources_of() const {
    Adjacency targets;
    std::size_t next = 0;
    for (std::uint32_t item = 0; item < parts_.nodes.size(); ++item) {
      for (; next < ends_.size() && ends_[next].source == item; ++next) {
        targets.add(ends_[next].target);
      }
      targets.end_list();
    }
    return reversed(targets);
  }

  void check_order() {
    const std::vector<std::uint32_t> cycle = topological_order(sources_of()).cycle;
    if (cycle.empty()) return;
    const auto id = [&](std::uint32_t node) { return id_text(parts_.nodes[node].id); };
    faults_.add(parts_.nodes[cycle.front()].offset,
                "the nodes form a cycle: " + capped_list(cycle, kMostShown, id, " -> ...", " -> ") +
                    " -> " + id(cycle.front()));
  }

  void check_directions() {
    for (const WorkloadEdge& edge : parts_.edges) {
      const bool from_backward = parts_.nodes[item_of_.at(edge.source)].is_backward;
      const bool to_backward = parts_.nodes[item_of_.at(edge.target)].is_backward;
      if (!from_backward || to_backward) continue;
      faults_.add(edge.offset, "edge " + id_text(edge.source) + " -> " + id_text(edge.target) +
                                   " goes from a backward node to a forward one");
    }
  }

  void add_items() {
    std::unordered_map<std::int64_t, std::uint32_t> colours;
    for (const WorkloadNode& node : parts_.nodes) {
      BalanceItem item{.time = node.accelerator_time,
                       .host_time = node.host_time,
                       .bytes = node.bytes,
                       .runs_on_accelerator = node.runs_on_accelerator};
      if (node.colour) {
        const auto next = static_cast<std::uint32_t>(colours.size());
        item.colour = colours.emplace(*node.colour, next).first->second;
      }
      workload_.problem.items.push_back(item);
      workload_.names.push_back(std::to_string(node.id));
    }
    has_forward_.assign(colours.size(), 0);
    for (std::size_t i = 0; i < parts_.nodes.size(); ++i) {
      const std::uint32_t colour = workload_.problem.items[i].colour;
      if (colour != kNoItem && !parts_.nodes[i].is_backward) has_forward_[colour] = 1;
    }
  }

  // One net for each node that has readers.
  void add_nets() {
    for (std::size_t next = 0; next < ends_.size();) {
      const std::uint32_t producer = ends_[next].source;
      workload_.problem.nets.push_back({.producer = producer, .cost = cost_of_[producer]});
      for (; next < ends_.size() && ends_[next].source == producer; ++next) {
        workload_.problem.consumers.add(ends_[next].target);
      }
      workload_.problem.consumers.end_list();
    }
  }

  // Whether a forward node decides the item's place in the order.
  bool stands_by_forward_node(std::uint32_t item) const {
    const std::uint32_t colour = workload_.problem.items[item].colour;
    return colour != kNoItem && has_forward_[colour] != 0;
  }

  void add_successors() {
    std::vector<Ends> order;
    for (const Ends& edge : ends_) {
      const bool from_backward = parts_.nodes[edge.source].is_backward;
      const bool to_backward = parts_.nodes[edge.target].is_backward;
      if (!from_backward && !to_backward) order.push_back(edge);
      if (!from_backward || !to_backward) continue;
      if (stands_by_forward_node(edge.source) && stands_by_forward_node(edge.target)) continue;
      order.push_back({edge.target, edge.source});
    }
    std::sort(order.begin(), order.end());
    std::size_t next = 0;
    for (std::uint32_t item = 0; item < parts_.nodes.size(); ++item) {
      for (; next < order.size() && order[next].source == item; ++next) {
        workload_.problem.successors.add(order[next].target);
      }
      workload_.problem.successors.end_list();
    }
  }

  const WorkloadParts& parts_;
  JsonFaults& faults_;
  Workload workload_;
  std::unordered_map<std::int64_t, std::uint32_t> item_of_;  // by id
  std::vector<Ends> ends_;                                   // of the edges, sorted
  std::vector<double> cost_of_;                              // by item; below 0: no node reads it
  std::vector<std::uint8_t> has_forward_;                    // by colour
};

}  // namespace

Workload make_workload(const WorkloadParts& parts, JsonFaults& faults) {
  return WorkloadMaker(parts, faults).make();
}

}  // namespace cleave
