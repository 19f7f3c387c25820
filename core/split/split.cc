// The main job, as one page. Data flows one way: each step reads the results of the steps above it
// and adds its own; nothing is written back.
//
//   supported nodes > accelerator nodes > groups > runs > partitions > boundaries
#include "core/split/split.h"

#include <cassert>
#include <string>
#include <utility>

#include "core/split/node_groups.h"
#include "core/support/match_limit.h"

namespace cleave {
namespace {

constexpr std::uint64_t kPasses = 6;  // the number of steps that progress reports

Error no_such_subgraph(std::size_t number, const Subgraphs& subgraphs) {
  std::string have;
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    if (subgraphs.devices[i] == Device::acc) have += (have.empty() ? "" : ", ") + std::to_string(i);
  }
  return {"there is no accelerator subgraph " + std::to_string(number) + " to extend",
          std::nullopt,
          {have.empty() ? "the split has no accelerator subgraph" : "there are: " + have}};
}

Result<std::vector<NodeId>> extend(const Graph& graph, const Fusions& fusions, Subgraphs& subgraphs,
                                   const ExtendOptions& options) {
  using Which = ExtendOptions::Which;
  switch (options.which) {
    case Which::none:
      break;
    case Which::one:
      if (options.subgraph >= subgraphs.count() ||
          subgraphs.devices[options.subgraph] != Device::acc) {
        return no_such_subgraph(options.subgraph, subgraphs);
      }
      return extend_subgraph(graph, fusions, subgraphs, id_at<PartId>(options.subgraph));
    case Which::all:
      return extend_all_subgraphs(graph, fusions, subgraphs);
    case Which::automatic:
      return extend_where_traffic_falls(graph, fusions, subgraphs);
  }
  return std::vector<NodeId>();
}

// The groups that must stay together, among the nodes that may run on the accelerator.
Fusions find_groups(const Graph& graph, AccNodes acc, const Split& split,
                    const SplitOptions& options) {
  Fusions fusions = find_fusions(graph, std::move(acc), options.fusion);
  if (split.qdq_groups.count() > 0) {
    fusions = keep_qdq_groups(graph, split.qdq_groups, std::move(fusions));
  }
  const PatternMatches& patterns = split.support.patterns;
  return keep_together(graph, {patterns.begin, patterns.nodes}, std::move(fusions),
                       ReasonCode::pattern_group);
}

// Removes nodes from split.fusions. The runs start on the side that the placement assumes, unless
// the user chose one.
void place(const SplitInput& input, const SplitOptions& options, const LatencyInput& latency,
           Split& split) {
  PlacedByCost placed = place_by_cost(
      input.graph, std::move(split.fusions),
      {.latency = latency,
       .acc_finder = options.acc_finder,
       .required = input.required,
       .shape_computations = options.host_shapes.follow ? &split.host_shapes.nodes : nullptr});
  split.fusions = std::move(placed.fusions);
  split.placement = placed.numbers;
}

// The number of subgraphs that the verdicts lead to: the measure of --host-shapes.
std::size_t subgraph_count(const Graph& graph, const Split& split, const SplitOptions& options) {
  const Fusions groups =
      find_groups(graph, find_acc_nodes(graph, split.support, options.acc_finder), split, options);
  const SubgraphsFound found = split_subgraphs(graph, groups, options.subgraphs);
  return merge_small_subgraphs(graph, found.subgraphs, groups.acc.reasons, options.subgraphs)
      .subgraphs.count();
}

Error too_many_rule_checks() {
  return {.message = "rules of the support lists would be held against nodes more than " +
                     std::to_string(kMostRuleChecks) + " times, the most that is done",
          .notes = {"too many rules are for the same op: give rules by the values of an attribute, "
                    "or fewer rules"}};
}

}  // namespace

bool asks_for_latency(const SplitOptions& options) {
  return options.place.by == PlaceBy::cost || options.subgraphs.is_min_automatic ||
         options.keep.only_gaining || options.keep.by == KeepBy::latency;
}

namespace {

using Sets = std::span<const std::vector<NodeId>>;

Result<Split> split_with_sets(const SplitInput& input, const SplitOptions& options,
                              const Progress& progress, Sets sets) {
  if (auto usable = check_prefixes(options.partition); !usable) return std::move(usable).error();
  const Graph& graph = input.graph;
  Machine machine = options.latency.machine;
  machine.link_bytes_per_second = input.link.bytes_per_second;
  TargetTimes own_times;
  if (asks_for_latency(options) && input.times == nullptr) {
    own_times = target_times(graph, machine, {}, {});
  }
  const LatencyInput latency{input.times != nullptr ? *input.times : own_times, machine,
                             options.latency.residency};
  if (asks_for_latency(options)) {
    auto known = check_latency_input(latency);
    if (!known) return std::move(known).error();
  }
  Split split;
  const auto tell_passed = [&](std::uint64_t passes) {
    tell(progress, {"splitting", "passes", passes, kPasses});
  };
  tell_passed(0);

  // Which nodes the lists accept, each judged by itself.
  auto support = match_support_within(graph, input.lists, input.facts, kMostRuleChecks);
  if (!support) return too_many_rule_checks();
  split.support = *std::move(support);
  tell_passed(1);

  if (options.qdq.keep) split.qdq_groups = find_qdq_groups(graph);

  // With --host-shapes, shape computations follow their users. This comes before the next step,
  // which judges what a node exchanges with the other side: that depends on where the makers and
  // readers of sizes are.
  if (options.host_shapes.follow) {
    split.host_shapes = follow_shape_users(graph, split.support);
    split.host_shapes.subgraphs_without = subgraph_count(graph, split, options);
  }
  const Support& verdicts = options.host_shapes.follow ? split.host_shapes.support : split.support;

  // Which nodes can run on the accelerator without non-tensor data crossing the link.
  split.acc_found = find_acc_nodes(graph, verdicts, options.acc_finder);
  tell_passed(2);

  // Which nodes must stay together: because they exchange such data, then, if asked for, Q/DQ
  // groups, then the matches of patterns. These come last, since a group counts only if all its
  // nodes stay. After this step only --place cost changes the accelerator set, split.fusions.acc.
  split.fusions = find_groups(graph, split.acc_found, split, options);
  tell_passed(3);

  // With --place cost, keep only those nodes on the accelerator that make an inference faster. This
  // comes last, since it must know what stays together; it only removes nodes.
  if (options.place.by == PlaceBy::cost) place(input, options, latency, split);
  if (!sets.empty()) split.fusions = keep_sets_whole(graph, sets, std::move(split.fusions));
  SubgraphOptions runs = options.subgraphs;
  if (split.placement && runs.start == StartSide::reference) runs.start = split.placement->start;

  // Alternating runs, as long as possible; then runs too small to be worth a transfer are merged
  // away.
  split.found = split_subgraphs(graph, split.fusions, runs);
  if (runs.move_non_tensor) {
    move_non_tensor_nodes(graph, split.fusions, split.found.subgraphs);
  }
  if (runs.is_min_automatic) {
    runs.min_acc_size = fastest_min_size(graph, split.found.subgraphs, latency);
  }
  split.min_acc_size = runs.min_acc_size;
  MergedSubgraphs merged = merge_small_subgraphs(graph, split.found.subgraphs,
                                                 std::move(split.fusions.acc.reasons), runs);
  // A list may limit whole partitions: those beyond are cut.
  const LimitsOfLists limits = limits_of_lists(input.lists);
  split.limit_cuts = limit_parts(graph, split.fusions, limits, merged);
  split.host_shapes.subgraphs = merged.subgraphs.count();
  tell_passed(4);

  // If the number of subgraphs is limited, keep the most valuable. This comes before the extension,
  // which may bring back some of the nodes.
  KeptSubgraphs kept =
      keep_best_subgraphs(graph, std::move(merged), options.keep,
                          {input.link, asks_for_latency(options) ? &latency : nullptr});
  split.cap = kept.cost;

  // Accelerator subgraphs may reach back for nodes that only they use, unless that makes one larger
  // than the lists allow.
  const Subgraphs unextended = limits.limits.is_any() ? kept.subgraphs : Subgraphs();
  auto extended = extend(graph, split.fusions, kept.subgraphs, options.extend);
  if (!extended) return std::move(extended).error();
  split.extended = *std::move(extended);
  if (!split.extended.empty() && limits.limits.is_any()) {
    MergedSubgraphs grown{kept.subgraphs, kept.reasons};
    if (limit_parts(graph, split.fusions, limits, grown).subgraphs > 0) {
      kept.subgraphs = unextended;
      split.extended.clear();
    }
  }
  split.reasons = std::move(kept.reasons);
  for (const NodeId node : split.extended) split.reasons[node] = {};  // on the accelerator now
  tell_passed(5);

  // From here on the partitions are fixed. What crosses between them follows.
  split.partition = make_partition(kept.subgraphs, options.partition);
  assert(check_partition(graph, split.partition, nullptr).has_value());
  split.boundaries = find_boundaries(graph, split.partition);
  return split;
}

}  // namespace

Result<Split> split_graph(const SplitInput& input, const SplitOptions& options,
                          const Progress& progress) {
  const Sets sets = input.facts.whole;
  auto split = split_with_sets(input, options, progress, {});
  if (!split || !divides_a_set(sets, split->partition.part_of)) return split;
  return split_with_sets(input, options, progress, sets);
}

}  // namespace cleave
