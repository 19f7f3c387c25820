// The main job, as one page. Data flows one way: each step returns a value that it made of the
// results of the steps above. What no later step needs is moved on, not copied.
//
//   supported nodes > accelerator nodes > groups > runs > partitions > boundaries
#include "core/split/split.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>

#include "core/split/fewest_bytes.h"
#include "core/split/node_groups.h"
#include "core/split/targets.h"
#include "core/support/support.h"

namespace cleave {
namespace {

constexpr std::uint64_t kPasses = 6;  // the number of steps that progress reports
using Sets = std::span<const std::vector<NodeId>>;

// Tells progress after each step.
class Passed {
 public:
  explicit Passed(const Progress& progress) : progress_(progress) { (*this)(0); }
  void operator()(std::uint64_t passes) const {
    tell(progress_, {"splitting", "passes", passes, kPasses});
  }

 private:
  const Progress& progress_;
};

// The times that options decide by: the caller's, else those of the machine's rates.
struct DecidingTimes {
  Machine machine;
  TargetTimes own;
  const TargetTimes* given;

  LatencyInput input(Residency residency) const {
    return {given != nullptr ? *given : own, machine, residency};
  }
};

DecidingTimes deciding_times(const SplitInput& input, const SplitOptions& options) {
  DecidingTimes times{options.machine, {}, input.times};
  times.machine.link_bytes_per_second = input.link.bytes_per_second;
  if (asks_for_latency(options) && input.times == nullptr) {
    times.own = target_times(input.graph, times.machine, {}, {});
  }
  return times;
}

Status<> check_options(const SplitOptions& options, const LatencyInput& latency) {
  if (auto usable = check_prefixes(options); !usable) return usable;
  return asks_for_latency(options) ? check_latency_input(latency) : Status<>(Done{});
}

struct Placed {
  Fusions fusions;
  std::optional<PlacementNumbers> numbers = {};  // with --place cost
};

// The least gain for which nodes move: what was asked for, else none where all times are measured.
double min_gain_of(const Graph& graph, const Fusions& groups, const SplitOptions& options,
                   const TargetTimes& times) {
  constexpr double kOfEstimates = 0.03;
  if (options.min_gain) return *options.min_gain;
  const auto nodes = graph.nodes();
  const bool is_measured = std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    return times.cpu.origins[node] == TimeOrigin::measured &&
           (!groups.acc.nodes.contains(node) || times.acc.origins[node] == TimeOrigin::measured);
  });
  return is_measured ? 0 : kOfEstimates;
}

// With --place cost, only those nodes stay on the accelerator that make an inference faster. Then
// the sets that an earlier split divided become groups.
Placed place(const SplitInput& input, const SplitOptions& options, const LatencyInput& latency,
             const HostShapes& host_shapes, Fusions groups, Sets sets) {
  Placed placed{std::move(groups)};
  if (options.place == PlaceBy::cost) {
    const double min_gain = min_gain_of(input.graph, placed.fusions, options, latency.times);
    PlacedByCost by_cost =
        place_by_cost(input.graph, std::move(placed.fusions),
                      {.latency = latency,
                       .allow_non_tensor = options.allow_non_tensor,
                       .required = input.required,
                       .shape_computations = options.host_shapes ? &host_shapes.nodes : nullptr,
                       .min_gain = min_gain,
                       .found = input.found});
    placed = {std::move(by_cost.fusions), by_cost.numbers};
  }
  if (!sets.empty()) {
    placed.fusions = keep_sets_whole(input.graph, sets, std::move(placed.fusions));
  }
  return placed;
}

struct Runs {
  Fusions fusions;  // its reasons have moved to `merged`
  SubgraphsFound found;
  std::size_t min_acc_size;
  MergedSubgraphs merged;
  LimitCuts cuts;
};

// Alternating runs, as long as possible; they start on the side that the placement assumes, unless
// the user chose one. Runs too small to be worth a transfer are merged away, and those beyond the
// lists' limits on partitions are cut. Then nodes that fit in two of them may move where fewer bytes
// cross. What then fails a list's conditions on a whole partition goes to the CPU.
Runs find_runs(const SplitInput& input, Placed placed, SplitOptions options,
               const LatencyInput& latency, const LimitsOfLists& limits) {
  const Graph& graph = input.graph;
  if (placed.numbers && options.start == StartSide::reference) {
    options.start = placed.numbers->start;
  }
  Fusions fusions = std::move(placed.fusions);
  SubgraphsFound found = split_subgraphs(graph, fusions, options);
  if (options.move_non_tensor) {
    NonTensorsMoved moved =
        move_non_tensor_nodes(graph, std::move(fusions), std::move(found.subgraphs));
    fusions = std::move(moved.fusions);
    found.subgraphs = std::move(moved.subgraphs);
  }
  if (options.is_min_automatic) {
    options.min_acc_size = fastest_min_size(graph, found.subgraphs, latency);
  }
  MergedSubgraphs merged =
      merge_small_subgraphs(graph, found.subgraphs, std::move(fusions.acc.reasons), options);
  LimitedSubgraphs limited = limit_parts(graph, fusions, limits, std::move(merged));
  if (options.pack == PackBy::bytes) {
    Subgraphs& subgraphs = limited.merged.subgraphs;
    subgraphs = pack_for_fewest_bytes(graph, fusions, std::move(subgraphs), options.min_acc_size,
                                      limits.limits)
                    .subgraphs;
  }
  limited.merged = drop_failing_parts(graph, input.lists, std::move(limited.merged));
  return {std::move(fusions), std::move(found), options.min_acc_size, std::move(limited.merged),
          limited.cuts};
}

// The number of subgraphs that the lists' own verdicts lead to: the measure of --host-shapes; 0
// without that option.
std::size_t count_without_host_shapes(const Graph& graph, const Support& support,
                                      const Whole& whole, const SplitOptions& options) {
  if (!options.host_shapes) return 0;
  const Fusions groups =
      find_groups(graph, find_acc_nodes(graph, support, options), whole, options);
  const SubgraphsFound found = split_subgraphs(graph, groups, options);
  return merge_small_subgraphs(graph, found.subgraphs, groups.acc.reasons, options)
      .subgraphs.count();
}

// Nodes that the extension moved are on the accelerator now. A subgraph that lost nodes to another may
// fail a condition on a whole partition.
MergedSubgraphs after_extension(const SplitInput& input, PerNode<Reason> reasons,
                                ExtendedSubgraphs& extended) {
  for (const NodeId node : extended.moved) reasons[node] = {};
  MergedSubgraphs merged = drop_failing_parts(input.graph, input.lists,
                                              {std::move(extended.subgraphs), std::move(reasons)});
  std::erase_if(extended.moved,
                [&](NodeId node) { return merged.reasons[node].code != ReasonCode::none; });
  return merged;
}

struct Judged {
  Support support;
  HostShapes host_shapes;
  AccNodes acc;
};

// Which nodes the lists accept, each judged by itself. With --host-shapes, shape computations then
// follow their users. Which of these nodes can run on the accelerator without non-tensor data
// crossing the link comes last: it depends on where the makers and readers of sizes are.
Result<Judged> judge_nodes(const SplitInput& input, const SplitOptions& options,
                           const Passed& passed) {
  auto support = judge_by_lists(input.graph, input.lists, input.facts);
  if (!support) return std::move(support).error();
  passed(1);
  const bool follows = options.host_shapes;
  HostShapes host_shapes = follows ? follow_shape_users(input.graph, *support) : HostShapes();
  AccNodes acc = find_acc_nodes(input.graph, follows ? host_shapes.support : *support, options);
  passed(2);
  return Judged{*std::move(support), std::move(host_shapes), std::move(acc)};
}

Result<Split> split_with_sets(const SplitInput& input, const SplitOptions& options,
                              const Progress& progress, Sets sets) {
  const Graph& graph = input.graph;
  const DecidingTimes times = deciding_times(input, options);
  const LatencyInput latency = times.input(options.residency);
  if (auto usable = check_options(options, latency); !usable) return std::move(usable).error();
  const Passed passed(progress);

  // Which nodes may run on the accelerator.
  auto judged = judge_nodes(input, options, passed);
  if (!judged) return std::move(judged).error();
  auto& [support, host_shapes, acc] = *judged;

  // Which nodes must stay together: because they exchange non-tensor data, then, if asked for, Q/DQ
  // groups, then the matches of patterns: a group counts only if all its nodes stay.
  QdqGroups qdq_groups = qdq_groups_asked_for(graph, options, input.lists);
  const Whole whole{qdq_groups, support.patterns};
  Fusions groups = find_groups(graph, acc, whole, options);
  const std::size_t count_without = count_without_host_shapes(graph, support, whole, options);
  passed(3);

  // Which of these nodes go to the accelerator, and in which runs.
  Placed placed = place(input, options, latency, host_shapes, std::move(groups), sets);
  const auto placement = placed.numbers;
  const LimitsOfLists limits = limits_of_lists(input.lists);
  Runs runs = find_runs(input, std::move(placed), options, latency, limits);
  const std::size_t merged_count = runs.merged.subgraphs.count();
  passed(4);

  // If the number of runs is limited, the most valuable stay. This comes before the extension, in
  // which runs reach back for nodes that only they use: it may bring back some of the others.
  const KeepBasis basis{input.link, asks_for_latency(options) ? &latency : nullptr};
  KeptSubgraphs kept = keep_best_subgraphs(graph, std::move(runs.merged), options, basis);
  auto extended = extend_subgraphs(graph, runs.fusions, std::move(kept.subgraphs), options.extend,
                                   limits.limits);
  if (!extended) return std::move(extended).error();
  passed(5);

  // From here on the partitions are fixed. What crosses between them follows.
  MergedSubgraphs last = after_extension(input, std::move(kept.reasons), *extended);
  Partition partition = make_partition(last.subgraphs, options);
  assert(check_partition(graph, partition, nullptr).has_value());
  Boundaries boundaries = find_boundaries(graph, partition);
  return Split{.support = std::move(support),
               .host_shapes = std::move(host_shapes),
               .acc_found = std::move(acc),
               .qdq_groups = std::move(qdq_groups),
               .fusions = std::move(runs.fusions),
               .placement = placement,
               .found = std::move(runs.found),
               .min_acc_size = runs.min_acc_size,
               .limit_cuts = runs.cuts,
               .merged_count = merged_count,
               .count_without_host_shapes = count_without,
               .cap = kept.cost,
               .reasons = std::move(last.reasons),
               .extended = std::move(extended->moved),
               .extensions_left_out = std::move(extended->left_out),
               .partition = std::move(partition),
               .boundaries = std::move(boundaries)};
}

}  // namespace

bool asks_for_latency(const SplitOptions& options) {
  return options.place == PlaceBy::cost || options.is_min_automatic || options.keep_only_gaining ||
         options.keep_by == KeepBy::latency;
}

Result<Support> judge_by_lists(const Graph& graph, std::span<const SupportList> lists,
                               const OpFacts& facts) {
  auto support = match_support_within(graph, lists, facts, kMostRuleChecks);
  if (support) return *std::move(support);
  return Error{.message =
                   "rules of the support lists, and terms of their \"where\", would be held "
                   "against nodes more than " +
                   std::to_string(kMostRuleChecks) + " times, the most that is done",
               .notes = {"too many rules are for the same op: give rules by the values of an "
                         "attribute, or fewer rules"}};
}

Result<Split> split_graph(const SplitInput& input, const SplitOptions& options,
                          const Progress& progress) {
  if (input.targets.size() > 1) return split_for_targets(input, options, progress);
  const Sets sets = input.facts.whole;
  auto split = split_with_sets(input, options, progress, {});
  if (!split || !divides_a_set(sets, split->partition.part_of)) return split;
  return split_with_sets(input, options, progress, sets);
}

}  // namespace cleave
