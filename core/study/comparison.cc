#include "core/study/comparison.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace cleave {
namespace {

// The last change that put the node where it is now. A list or a setting adds no node.
Change change_to_blame(const std::vector<Step>& trail, NodeId node, Place from) {
  std::size_t i = trail.size() - 1;
  while (i > 0 && trail[i - 1].places[node] == trail[i].places[node]) --i;
  const Change change = trail[i].change;
  return from == Place::absent && change == Change::model_or_list ? Change::model : change;
}

std::vector<Comparison::Removed> removed_nodes(const Graph& graph, const NamedPlaces& before) {
  NamedPlaces left = before;
  for (const NodeId node : graph.nodes()) left.erase(std::string(graph.node(node).name));
  std::vector<Comparison::Removed> removed;
  removed.reserve(left.size());
  for (const auto& [name, place] : left) removed.push_back({name, place});
  std::sort(removed.begin(), removed.end(),
            [](const auto& a, const auto& b) { return a.node < b.node; });
  return removed;
}

}  // namespace

std::string_view place_name(Place place) {
  static constexpr std::array<std::string_view, 3> kNames = {"absent", "cpu", "acc"};
  return kNames[static_cast<std::size_t>(place)];
}

std::string_view change_name(Change change) {
  static constexpr std::array<std::string_view, 5> kNames = {"model", "list", "settings",
                                                             "model_or_list", "program"};
  return kNames[static_cast<std::size_t>(change)];
}

PerNode<Place> places(const Graph& graph, const Partition& partition) {
  PerNode<Place> places(graph.node_count(), Place::cpu);
  for (const NodeId node : graph.nodes()) {
    if (partition.is_acc(partition.part_of[node])) places[node] = Place::acc;
  }
  return places;
}

NamedPlaces named_places(const Graph& graph, const Partition& partition) {
  NamedPlaces places;
  places.reserve(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    places.emplace(graph.node(node).name,
                   partition.is_acc(partition.part_of[node]) ? Place::acc : Place::cpu);
  }
  return places;
}

Comparison compare(const Graph& graph, const NamedPlaces& before, const std::vector<Step>& trail) {
  assert(!trail.empty());
  Comparison comparison;
  std::size_t kept = 0;
  for (const NodeId node : graph.nodes()) {
    const auto found = before.find(std::string(graph.node(node).name));
    const Place from = found == before.end() ? Place::absent : found->second;
    const Place to = trail.back().places[node];
    if (from != Place::absent) ++kept;
    if (from != to) {
      comparison.moves.push_back({node, from, to, change_to_blame(trail, node, from)});
    }
  }
  if (kept < before.size()) comparison.removed = removed_nodes(graph, before);
  return comparison;
}

}  // namespace cleave
