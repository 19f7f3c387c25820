#include "core/study/trail.h"

#include "core/split/split.h"

namespace cleave {
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
