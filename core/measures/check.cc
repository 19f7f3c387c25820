// Comparisons with a baseline, and gates.
#include "core/measures/check.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace cleave {

// ---- comparison ----

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
  std::ranges::sort(removed, [](const auto& a, const auto& b) { return a.node < b.node; });
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
    const auto found = std::ranges::find(names, name);
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

// ---- gate ----

namespace {

GateVerdict verdict_of(bool holds) { return holds ? GateVerdict::holds : GateVerdict::fails; }

class Evaluator {
 public:
  Evaluator(const GateLimits& limits, const GateFacts& facts) : limits_(limits), facts_(facts) {}

  std::vector<Gate> evaluate() {
    const Measures& now = facts_.now;
    add_coverage(GateKind::min_node_coverage, limits_.node_coverage, now.nodes, true);
    add_coverage(GateKind::min_flops_coverage, limits_.flops_coverage, now.flops,
                 now.flops.are_known());
    add_coverage(GateKind::min_parameter_coverage, limits_.parameter_coverage, now.parameter_bytes,
                 true);
    for (const TargetCoverage& wanted : limits_.target_coverage) add_coverage_of_target(wanted);
    add_most(GateKind::max_acc_subgraphs, limits_.acc_subgraphs, now.acc_subgraphs);
    add_most(GateKind::max_cpu_nodes, limits_.cpu_nodes, now.cpu_nodes);
    add_most(GateKind::max_unchecked, limits_.unchecked, facts_.unchecked);
    add_boundary_bytes();
    add_qps();
    if (limits_.latency_us) add_time(GateKind::max_latency, limits_.latency_us);
    if (limits_.faster_than_cpu) add_faster_than_cpu();
    add_most(GateKind::no_unknown_shapes, limits_.unknown_shapes, facts_.unknown_shapes);
    if (facts_.before) add_comparisons(*facts_.before);
    return std::move(gates_);
  }

 private:
  void add_coverage(GateKind kind, std::optional<double> least, const Coverage& coverage,
                    bool is_known) {
    if (!least) return;
    Gate gate{.kind = kind, .limit = *least, .verdict = GateVerdict::not_known};
    if (is_known) {
      gate.actual = coverage.ratio();
      gate.verdict = verdict_of(*gate.actual >= *least);
    }
    gates_.push_back(std::move(gate));
  }

  void add_coverage_of_target(const TargetCoverage& wanted) {
    const auto& targets = facts_.now.targets;
    const auto own =
        std::ranges::find_if(targets, [&](const auto& one) { return one.name == wanted.target; });
    const bool is_of_flops = wanted.kind == GateKind::min_flops_coverage;
    if (own == targets.end()) {
      add_coverage(wanted.kind, wanted.least, {}, false);
    } else {
      add_coverage(wanted.kind, wanted.least,
                   wanted.kind == GateKind::min_node_coverage ? own->nodes
                   : is_of_flops                              ? own->flops
                                                              : own->parameter_bytes,
                   !is_of_flops || facts_.now.flops.are_known());
    }
    gates_.back().subject = wanted.target;
  }

  void add_most(GateKind kind, std::optional<std::uint64_t> most, std::uint64_t actual) {
    if (!most) return;
    gates_.push_back({.kind = kind,
                      .limit = static_cast<double>(*most),
                      .actual = static_cast<double>(actual),
                      .verdict = verdict_of(actual <= *most)});
  }

  void add_boundary_bytes() {
    if (!limits_.boundary_bytes) return;
    add_most(GateKind::max_boundary_bytes, limits_.boundary_bytes, facts_.now.boundary_bytes);
    if (!facts_.now.is_any_boundary_known()) gates_.back().actual.reset();
    leave_open_unless_failed();
  }

  void add_qps() {
    if (!limits_.qps) return;
    Gate gate{.kind = GateKind::min_qps, .limit = *limits_.qps, .actual = facts_.now.qps};
    if (gate.actual) gate.verdict = verdict_of(*gate.actual >= gate.limit);
    if (!facts_.now.has_link) gate.verdict = GateVerdict::not_known;
    gates_.push_back(std::move(gate));
    leave_open_unless_failed();
  }

  // A split that is as fast as the CPU alone is not faster.
  void add_time(GateKind kind, std::optional<double> most) {
    const std::optional<double> actual = facts_.now.latency_us;
    Gate gate{.kind = kind,
              .limit = most.value_or(0),
              .actual = actual,
              .verdict = GateVerdict::not_known};
    const bool may_be_equal = kind == GateKind::max_latency;
    if (actual && most) {
      gate.verdict = verdict_of(may_be_equal ? *actual <= *most : *actual < *most);
    }
    gates_.push_back(std::move(gate));
  }

  // Not known where the difference is smaller than the time that profiles measured outside nodes.
  void add_faster_than_cpu() {
    const Measures& now = facts_.now;
    add_time(GateKind::faster_than_cpu, now.all_cpu_us);
    Gate& gate = gates_.back();
    if (!gate.actual || !now.all_cpu_us || now.acc_subgraphs == 0) return;
    const bool may_be_slower = *gate.actual + now.acc_unmatched_us >= gate.limit;
    const bool may_be_faster = *gate.actual < gate.limit + now.cpu_unmatched_us;
    if (may_be_slower && may_be_faster) gate.verdict = GateVerdict::not_known;
  }

  // Unknown bytes can only add to the known ones.
  void leave_open_unless_failed() {
    Gate& gate = gates_.back();
    if (!facts_.now.is_boundary_known && gate.verdict == GateVerdict::holds) {
      gate.verdict = GateVerdict::not_known;
    }
  }

  // ---- against a baseline ----

  void add_comparisons(const Measures& before) {
    add_most(GateKind::max_new_cpu_nodes, limits_.new_cpu_nodes, facts_.new_cpu_nodes);
    if (!limits_.regression) return;
    const Measures& now = facts_.now;
    add_fall(GateKind::node_coverage_regression, before.nodes.ratio(), now.nodes.ratio());
    add_flops_fall(before);
    add_fall(GateKind::parameter_coverage_regression, before.parameter_bytes.ratio(),
             now.parameter_bytes.ratio());
    add_qps_fall(before);
    add_latency_rise(before);
  }

  // If the baseline's latency is unknown there is no gate.
  void add_latency_rise(const Measures& before) {
    if (!before.latency_us) return;
    add_time(GateKind::latency_regression, *before.latency_us * (1 + *limits_.regression));
    Gate& gate = gates_.back();
    gate.baseline = before.latency_us;
    if (gate.actual) {
      constexpr double kRounding = 1e-12;
      // The limit is a product and the time is a sum: equal numbers may differ in the last digit,
      // and that is no regression.
      gate.verdict = verdict_of(*gate.actual <= gate.limit + kRounding * gate.limit);
    }
  }

  void add_fall(GateKind kind, double before, double now) {
    constexpr double kRounding = 1e-12;
    const double least = before * (1 - *limits_.regression);
    gates_.push_back({.kind = kind,
                      .limit = least,
                      .actual = now,
                      .baseline = before,
                      .verdict = verdict_of(now >= least - kRounding * before)});
  }

  // A baseline without known FLOPs, or with few, cannot be compared with. If FLOPs known to the baseline are now
  // unknown, the share of the rest is meaningless.
  void add_flops_fall(const Measures& before) {
    const Measures& now = facts_.now;
    add_fall(GateKind::flops_coverage_regression, before.flops.ratio(), now.flops.ratio());
    Gate& gate = gates_.back();
    const bool are_lost =
        now.flops.unknown > before.flops.unknown && now.flops.total < before.flops.total;
    if (are_lost || !now.flops.are_known()) {
      gate.verdict = GateVerdict::not_known;
      gate.actual = std::nullopt;
    }
    if (!before.flops.are_known()) {
      gate = {.kind = gate.kind, .verdict = GateVerdict::not_applicable};
    }
  }

  // A link that bounds no partition allows any rate, but a baseline without an accelerator
  // partition had none that could fall. If some of the baseline's bytes were unknown, its rate is
  // only an upper bound: a lower rate need not be a fall.
  void add_qps_fall(const Measures& before) {
    const Measures& now = facts_.now;
    if (before.qps && now.qps) {
      add_fall(GateKind::qps_regression, *before.qps, *now.qps);
      Gate& gate = gates_.back();
      if (!before.is_boundary_known && gate.verdict == GateVerdict::fails) {
        gate = {.kind = gate.kind, .verdict = GateVerdict::not_applicable};
      }
      return leave_open_unless_failed();
    }
    Gate gate{.kind = GateKind::qps_regression, .actual = now.qps, .baseline = before.qps};
    gate.verdict = GateVerdict::not_applicable;
    if (now.qps && before.acc_subgraphs > 0 && before.is_boundary_known) {
      gate.verdict = GateVerdict::fails;
    }
    if (before.qps && !now.is_boundary_known) {
      gate.verdict = GateVerdict::not_known;
      gate.limit = *before.qps * (1 - *limits_.regression);
    }
    gates_.push_back(std::move(gate));
  }

  const GateLimits& limits_;
  const GateFacts& facts_;
  std::vector<Gate> gates_;
};

}  // namespace

std::string_view gate_verdict_name(GateVerdict verdict) {
  static constexpr std::array<std::string_view, 4> kNames = {"holds", "fails", "not_known",
                                                             "not_applicable"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::vector<Gate> evaluate_gates(const GateLimits& limits, const GateFacts& facts) {
  return Evaluator(limits, facts).evaluate();
}

Gate require_gate(std::string subject, std::size_t matched, std::size_t on_cpu) {
  Gate gate{.kind = GateKind::require, .subject = std::move(subject)};
  if (matched == 0) {
    gate.verdict = GateVerdict::not_applicable;
    return gate;
  }
  gate.actual = static_cast<double>(on_cpu);
  gate.verdict = verdict_of(on_cpu == 0);
  return gate;
}

}  // namespace cleave
