// The passes, on graphs, lists and settings made from the bytes, with every check: the promises of
// each pass, the results of a simple second implementation, and what happens to a node when the
// cause that keeps it on the CPU goes away.
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include "core/graph/graph.h"
#include "core/measures/advice.h"
#include "core/measures/measures.h"
#include "core/split/split.h"
#include "tests/core/graph/graph_text.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/pass_case.h"
#include "tests/fuzz/plain_split.h"
#include "tests/fuzz/reason_demands.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {
namespace {

bool is_acc(const Split& split, NodeId node) {
  return split.partition.is_acc(split.partition.part_of[node]);
}

// Everything about a split, as text: two splits are the same when their texts are.
std::string text_of(const Graph& graph, const Split& split) {
  return describe(graph, split.found.subgraphs) + "\n" + describe(graph, split.fusions) + "\n" +
         describe(graph, split.partition, split.boundaries) + describe(graph, split.reasons);
}

// Each node is in one part, once; what a part reads is there when it is called.
void demand_covered_in_order(const Graph& graph, const Split& split) {
  const Partition& partition = split.partition;
  PerNode<int> count(graph.node_count());
  for (const PartId part : partition.parts()) {
    for (const NodeId node : partition.nodes(part)) {
      ++count[node];
      demand(partition.part_of[node] == part, "a node's part is the one it stands in");
    }
  }
  for (const NodeId node : graph.nodes()) {
    demand(count[node] == 1, "each node is in one part, once");
    for (const NodeId maker : plain::producers_of(graph, node)) {
      demand(index(partition.part_of[maker]) <= index(partition.part_of[node]),
             "no value flows to an earlier part");
    }
  }
}

// No path leaves a group and comes back.
void demand_convex(const Graph& graph, const Fusions& fusions) {
  for (const plain::Nodes& group : plain::groups_in(fusions)) {
    plain::Nodes behind;  // reached from the group, outside it
    for (const NodeId node : graph.nodes()) {
      const plain::Nodes makers = plain::producers_of(graph, node);
      const bool is_reached = std::any_of(makers.begin(), makers.end(), [&](NodeId maker) {
        return group.contains(maker) || behind.contains(maker);
      });
      if (!is_reached) continue;
      if (group.contains(node)) {
        demand(std::none_of(makers.begin(), makers.end(),
                            [&](NodeId maker) { return behind.contains(maker); }),
               "a fusion group is convex");
      } else {
        behind.insert(node);
      }
    }
  }
}

void demand_whole_groups(const Split& split) {
  for (const plain::Nodes& group : plain::groups_in(split.fusions)) {
    for (const NodeId node : group) {
      demand(split.fusions.acc.nodes.contains(node), "a fusion group is of accelerator nodes");
      demand(split.partition.part_of[node] == split.partition.part_of[*group.begin()],
             "a fusion group is in one part");
    }
  }
}

std::vector<plain::Subgraph> parts_as_subgraphs(const Split& split) {
  std::vector<plain::Subgraph> result;
  for (const PartId part : split.partition.parts()) {
    const auto nodes = split.partition.nodes(part);
    result.push_back({split.partition.devices[index(part)], {nodes.begin(), nodes.end()}});
  }
  return result;
}

std::vector<ValueId> list_of(std::span<const ValueId> values) {
  return {values.begin(), values.end()};
}

// Boundaries are those of a walk over all nodes; bytes are those of the boundaries and add up.
void demand_exact_boundaries(const Graph& graph, const Split& split) {
  const std::vector<plain::Subgraph> parts = parts_as_subgraphs(split);
  const std::vector<plain::Boundary> expected = plain::find_boundaries(graph, parts);
  const Preview preview = preview_split(graph, split.partition, split.boundaries, default_link());
  std::uint64_t link_bytes = 0;
  for (const PartId part : split.partition.parts()) {
    const plain::Boundary& plain_part = expected[index(part)];
    demand(list_of(split.boundaries.inputs[part]) == plain_part.inputs, "inputs are exact");
    demand(list_of(split.boundaries.outputs[part]) == plain_part.outputs, "outputs are exact");
    demand(list_of(split.boundaries.parameters[part]) == plain_part.parameters,
           "parameters are exact");
    if (!split.partition.is_acc(part)) continue;
    link_bytes += preview.parts[part].input_bytes + preview.parts[part].output_bytes;
  }
  demand(link_bytes == plain::link_bytes(graph, parts), "bytes over the link add up");
}

void demand_as_plain(const Graph& graph, const Split& split, const SplitOptions& options) {
  const auto expected =
      plain_split(graph, plain::nodes_in(graph, split.support.supported), options);
  if (!expected) return;
  demand(plain::nodes_in(graph, split.acc_found.nodes) == expected->acc_found,
         "the acc finder finds what the plain one does");
  demand(plain::groups_in(split.fusions) == expected->fusions.groups,
         "fusion groups are those of the plain finder");
  demand(plain::nodes_in(graph, split.fusions.acc.nodes) == expected->fusions.acc,
         "fusion leaves the nodes that the plain finder does");
  demand(plain::subgraphs_in(split.found.subgraphs) == expected->found,
         "subgraphs are those of the plain pass");
  std::vector<plain::Subgraph> left;
  for (const plain::Subgraph& subgraph : expected->subgraphs) {
    if (!subgraph.nodes.empty()) left.push_back(subgraph);
  }
  demand(parts_as_subgraphs(split) == left, "parts are the subgraphs of the plain passes");
}

// The promise of advice: its numbers are those of a real split.
void demand_outcome(const Graph& graph, const Split& split, const std::vector<SupportList>& lists,
                    const SplitOptions& options) {
  const OpFacts facts;
  const auto outcome = split_outcome({graph, facts}, lists, options, default_link());
  demand(outcome.has_value(), "what is split has an outcome");
  demand(outcome->outcome.subgraphs == split.partition.count(), "an outcome counts the parts");
  demand(outcome->outcome.link_bytes == plain::link_bytes(graph, parts_as_subgraphs(split)),
         "an outcome counts the bytes");
}

// Without the cause, a node that it kept on the CPU moves, or stays there for another reason.
void demand_cause_matters(const PassCase& pass, const Split& split, std::size_t cause) {
  const auto without = split_graph({pass.graph, lists_of(pass.causes, cause), {}}, pass.options);
  if (!without) return;  // the extension asks for a subgraph that no longer exists
  const NodeId node = node_named(pass.graph, pass.causes[cause].node);
  demand(without->support.supported.contains(node), "without its cause a node is supported");
  const bool was_judged = split.reasons[node].code <= ReasonCode::denied;
  if (is_acc(split, node) || !was_judged) return;
  demand(is_acc(*without, node) || without->reasons[node] != split.reasons[node],
         "without its cause a node moves, or has another reason");
}

void demand_good(const PassCase& pass) {
  const Graph& graph = pass.graph;
  const std::vector<SupportList> lists = lists_of(pass.causes, kAllCauses);
  const auto split = split_graph({graph, lists, {}}, pass.options);
  if (!split) {
    demand(pass.options.extend.which == ExtendOptions::Which::one,
           "only an extension can be asked in vain");
    return;
  }
  const auto again = split_graph({graph, lists, {}}, pass.options);
  demand(again && text_of(graph, *again) == text_of(graph, *split), "a split repeats");
  demand_covered_in_order(graph, *split);
  demand_convex(graph, split->fusions);
  demand_whole_groups(*split);
  demand_exact_boundaries(graph, *split);
  demand_as_plain(graph, *split, pass.options);
  demand_outcome(graph, *split, lists, pass.options);
  demand_good_reasons(graph, *split, lists, pass.options);
  for (std::size_t i = 0; i < pass.causes.size(); ++i) demand_cause_matters(pass, *split, i);
  const SameShapes shapes = find_same_shapes(graph, split->partition, split->boundaries);
  demand(shapes.distinct <= shapes.acc_parts, "no more shapes than parts");
}

}  // namespace

void run_passes(std::string_view bytes) {
  const PassCase pass = pass_case(bytes);
  demand_good(pass);
}

}  // namespace cleave::fuzz
