#include "core/study/comparison.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "core/split/split.h"

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

namespace {

// The names of partitions move no node. What makes a subgraph valuable, the link included, matters
// only when not all of them are kept; times matter only when something is chosen by them.
bool split_alike(const Origin& before, const Present& now) {
  SplitOptions a = before.options;
  const SplitOptions& b = now.options;
  a.partition = b.partition;
  constexpr std::size_t kAll = KeepOptions::kUnlimited;
  if (!asks_for_latency(a) && !asks_for_latency(b)) a.latency = b.latency;
  if (a.keep.most == kAll && b.keep.most == kAll && !a.keep.only_gaining && !b.keep.only_gaining) {
    a.keep = b.keep;
    return a == b;
  }
  return a == b && before.link.bytes_per_second == now.link.bytes_per_second;
}

// Where the present nodes run with everything as in `before` except for the lists, which are
// `lists`.
PerNode<Place> places_under(const Present& now, const Origin& before,
                            const std::vector<SupportList>& lists) {
  const Graph& graph = before.graph != nullptr ? *before.graph : now.graph;
  SplitOptions options = before.options;
  const SplitInput input{.graph = graph,
                         .lists = lists,
                         .facts = now.facts,
                         .link = before.link,
                         .times = before.graph == nullptr ? now.times : nullptr};
  auto split = split_graph(input, options);
  if (!split) {
    options.extend = {};
    split = split_graph(input, options);
  }
  if (!split) {  // its times are not known
    options.place = {};
    options.keep = {};
    options.subgraphs.is_min_automatic = false;
    split = split_graph(input, options);
  }
  if (before.graph == nullptr) return places(graph, split.value().partition);
  const NamedPlaces named = named_places(graph, split.value().partition);
  PerNode<Place> places(now.graph.node_count(), Place::absent);
  for (const NodeId node : now.graph.nodes()) {
    const auto found = named.find(std::string(now.graph.node(node).name));
    if (found != named.end()) places[node] = found->second;
  }
  return places;
}

// The times of the earlier result are not known. Where nodes are placed by times, and nothing else
// differs that is known, they are the likely cause.
bool may_times_differ(const Origin& before, const Present& now) {
  return before.is_same_model.value_or(false) && before.are_same_lists &&
         asks_for_latency(before.options) && asks_for_latency(now.options);
}

// The change that the first step, which still has the earlier lists and settings, is blamed on.
Change first_change(const Origin& before, const Present& now) {
  const bool is_same_model = before.is_same_model.value_or(false);
  if (may_times_differ(before, now)) return Change::settings;
  if (before.are_same_lists || before.lists) {
    return is_same_model ? Change::program : Change::model;
  }
  return is_same_model ? Change::list : Change::model_or_list;
}

}  // namespace

std::vector<Step> make_trail(const Present& now, const Origin& before) {
  const bool same_settings = before.graph == nullptr && split_alike(before, now);
  std::vector<Step> trail;
  const auto add = [&](Change change, const std::vector<SupportList>& lists, bool is_present) {
    trail.push_back(
        {change, is_present ? places(now.graph, now.partition) : places_under(now, before, lists)});
  };
  const bool lists_differ = !before.are_same_lists && before.lists.has_value();
  add(first_change(before, now), lists_differ ? *before.lists : now.lists,
      !lists_differ && same_settings);
  if (lists_differ) add(Change::list, now.lists, same_settings);
  if (!same_settings) add(Change::settings, now.lists, true);
  return trail;
}

}  // namespace cleave
