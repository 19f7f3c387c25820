#include "core/check/comparison.h"

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

std::string_view place_name(Place place, std::span<const std::string> targets) {
  static constexpr std::array<std::string_view, 3> kNames = {"absent", "cpu", "acc"};
  if (!is_on_acc(place) || targets.empty()) return kNames[static_cast<std::size_t>(place)];
  return targets[static_cast<std::size_t>(place) - static_cast<std::size_t>(Place::acc)];
}

ComparedTargets compare_targets(std::span<const std::string> before,
                                std::span<const std::string> now) {
  ComparedTargets compared;
  if (before.empty() || now.empty()) return compared;
  const auto place_of = [&](const std::string& name) {
    std::vector<std::string>& names = compared.names;
    const auto found = std::find(names.begin(), names.end(), name);
    const auto at = static_cast<std::size_t>(found - names.begin());
    if (found == names.end()) names.push_back(name);
    return static_cast<Place>(static_cast<std::size_t>(Place::acc) + at);
  };
  for (const std::string& name : now) compared.now.push_back(place_of(name));
  for (const std::string& name : before) compared.before.push_back(place_of(name));
  return compared;
}

std::string_view change_name(Change change) {
  static constexpr std::array<std::string_view, 5> kNames = {"model", "list", "settings",
                                                             "model_or_list", "program"};
  return kNames[static_cast<std::size_t>(change)];
}

PerNode<Place> places(const Graph& graph, const Partition& partition, const TargetPlaces& targets) {
  PerNode<Place> places(graph.node_count(), Place::cpu);
  for (const NodeId node : graph.nodes()) {
    const TargetId target = partition.target(partition.part_of[node]);
    if (target == kNone<TargetId>) continue;
    places[node] = targets.empty() ? Place::acc : targets[index(target)];
  }
  return places;
}

NamedPlaces named_places(const Graph& graph, const Partition& partition,
                         const TargetPlaces& targets) {
  const PerNode<Place> by_node = places(graph, partition, targets);
  NamedPlaces named;
  named.reserve(graph.node_count());
  for (const NodeId node : graph.nodes()) named.emplace(graph.node(node).name, by_node[node]);
  return named;
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

bool are_same_names(std::span<const Target> a, std::span<const Target> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Target& one, const Target& other) { return one.name == other.name; });
}

bool have_same_lists(std::span<const Target> a, std::span<const Target> b) {
  return are_same_names(a, b) &&
         std::equal(a.begin(), a.end(), b.begin(), [](const Target& one, const Target& other) {
           return one.first_list == other.first_list && one.end_list == other.end_list;
         });
}

// The limits of each target by itself.
bool have_same_limits(std::span<const Target> a, std::span<const Target> b) {
  return std::equal(a.begin(), a.end(), b.begin(), [](const Target& one, const Target& other) {
    return one.min_acc_size == other.min_acc_size && one.most_kept == other.most_kept &&
           one.link.bytes_per_second == other.link.bytes_per_second;
  });
}

// What devices and links can do.
void take_numbers(SplitOptions& to, const SplitOptions& from) {
  to.machine = from.machine;
  to.residency = from.residency;
  to.later = from.later;
  to.links = from.links;
}

// How subgraphs are chosen where not all are kept.
void take_keeping(SplitOptions& to, const SplitOptions& from) {
  to.most_kept = from.most_kept;
  to.keep_by = from.keep_by;
  to.keep_only_gaining = from.keep_only_gaining;
  to.host_flops = from.host_flops;
  to.host_bandwidth = from.host_bandwidth;
}

// The names of partitions move no node. What makes a subgraph valuable, the link included, matters
// only when not all of them are kept; times matter only when something is chosen by them. Other
// targets are a change of lists.
bool split_alike(const Origin& before, const Present& now) {
  SplitOptions a = before.options;
  const SplitOptions& b = now.options;
  a.acc_prefix = b.acc_prefix;
  a.non_acc_prefix = b.non_acc_prefix;
  a.target_prefixes = b.target_prefixes;
  constexpr std::size_t kAll = SplitOptions::kUnlimited;
  const bool are_same_targets = are_same_names(before.targets, now.targets);
  const bool asks = asks_for_latency(a) || asks_for_latency(b);
  if (!asks || !are_same_targets) take_numbers(a, b);
  if (are_same_targets && !now.targets.empty()) {
    if (!have_same_limits(before.targets, now.targets)) return false;
    a.most_kept = b.most_kept;  // the targets' own hold
    a.min_acc_size = b.min_acc_size;
    return a == b;
  }
  if (a.most_kept == kAll && b.most_kept == kAll && !a.keep_only_gaining && !b.keep_only_gaining) {
    take_keeping(a, b);
    return a == b;
  }
  return a == b && before.link.bytes_per_second == now.link.bytes_per_second;
}

// The lists that judge the present nodes, and for which targets.
struct Judges {
  const std::vector<SupportList>& lists;
  std::span<const Target> targets;
  const TargetPlaces& places;
};

// The present targets with the earlier limits, where they are the same; the options that fit them.
std::vector<Target> targets_under(const Origin& before, const Judges& judges, SplitOptions& options,
                                  const Present& now) {
  std::vector<Target> targets(judges.targets.begin(), judges.targets.end());
  if (are_same_names(judges.targets, before.targets)) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const Target own = targets[i];
      targets[i] = before.targets[i];
      targets[i].first_list = own.first_list;
      targets[i].end_list = own.end_list;
    }
  } else {
    take_numbers(options, now.options);  // the earlier numbers are of other targets
  }
  options.target_prefixes.clear();
  for (const Target& target : targets) {
    options.target_prefixes.push_back("_run_on_" + target.name + "_");
  }
  return targets;
}

// Times by what devices can do, for several targets that no measured times fit. A target whose device
// is not described has the first one's.
TargetTimes times_of_rates(const Graph& graph, const SplitOptions& numbers, std::size_t targets) {
  TargetTimes times = target_times(graph, numbers.machine, {}, {});
  for (std::size_t i = 1; i < targets; ++i) {
    times.later.push_back(i <= numbers.later.size()
                              ? target_times(graph, numbers.later[i - 1], {}, {}).acc
                              : times.acc);
  }
  return times;
}

// Where the present nodes run with everything as in `before` except for the lists.
PerNode<Place> places_under(const Present& now, const Origin& before, const Judges& judges) {
  const Graph& graph = before.graph != nullptr ? *before.graph : now.graph;
  SplitOptions options = before.options;
  const std::vector<Target> targets = targets_under(before, judges, options, now);
  const bool has_times = before.graph == nullptr && are_same_names(judges.targets, now.targets);
  const TargetTimes of_rates =
      has_times || targets.empty() ? TargetTimes() : times_of_rates(graph, options, targets.size());
  const SplitInput input{.graph = graph,
                         .lists = judges.lists,
                         .facts = now.facts,
                         .link = before.link,
                         .times = has_times         ? now.times
                                  : targets.empty() ? nullptr
                                                    : &of_rates,
                         .targets = targets};
  auto split = split_graph(input, options);
  if (!split) {
    options.extend = {};
    split = split_graph(input, options);
  }
  if (!split) {  // its times are not known
    options.place_by_priority();
    take_keeping(options, {});
    options.is_min_automatic = false;
    split = split_graph(input, options);
  }
  if (before.graph == nullptr) return places(graph, split.value().partition, judges.places);
  const NamedPlaces named = named_places(graph, split.value().partition, judges.places);
  PerNode<Place> places(now.graph.node_count(), Place::absent);
  for (const NodeId node : now.graph.nodes()) {
    const auto found = named.find(std::string(now.graph.node(node).name));
    if (found != named.end()) places[node] = found->second;
  }
  return places;
}

bool are_same_lists(const Origin& before, const Present& now) {
  return before.are_same_lists && have_same_lists(before.targets, now.targets);
}

// The times of the earlier result are not known. Where nodes are placed by times, and nothing else
// differs that is known, they are the likely cause.
bool may_times_differ(const Origin& before, const Present& now) {
  return before.is_same_model.value_or(false) && are_same_lists(before, now) &&
         asks_for_latency(before.options) && asks_for_latency(now.options);
}

// The change that the first step, which still has the earlier lists and settings, is blamed on. Where nodes were placed
// by times, which a result does not state, the same placement may not be found again: then settings that differ are.
Change first_change(const Origin& before, const Present& now, bool same_settings) {
  const bool is_same_model = before.is_same_model.value_or(false);
  if (may_times_differ(before, now)) return Change::settings;
  if (before.are_same_lists || before.lists) {
    if (!is_same_model) return Change::model;
    const bool is_repeatable = same_settings || !asks_for_latency(before.options);
    return is_repeatable ? Change::program : Change::settings;
  }
  return is_same_model ? Change::list : Change::model_or_list;
}

}  // namespace

std::vector<Step> make_trail(const Present& now, const Origin& before) {
  const bool same_settings = before.graph == nullptr && split_alike(before, now);
  std::vector<Step> trail;
  const Judges present{now.lists, now.targets, now.places};
  const auto add = [&](Change change, const Judges& judges, bool is_present) {
    trail.push_back({change, is_present ? places(now.graph, now.partition, now.places)
                                        : places_under(now, before, judges)});
  };
  const bool is_known = before.lists.has_value() || before.are_same_lists;
  const bool lists_differ = is_known && !are_same_lists(before, now);
  const std::vector<SupportList>& earlier = before.lists ? *before.lists : now.lists;
  add(first_change(before, now, same_settings),
      lists_differ ? Judges{earlier, before.targets, before.places} : present,
      !lists_differ && same_settings);
  if (lists_differ) add(Change::list, present, same_settings);
  if (!same_settings) add(Change::settings, present, true);
  return trail;
}

}  // namespace cleave
