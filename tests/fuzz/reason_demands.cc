#include "tests/fuzz/reason_demands.h"

#include <algorithm>

#include "core/lists/support.h"
#include "tests/core/split/plain_passes.h"
#include "tests/fuzz/demands.h"

namespace cleave::fuzz {
namespace {

bool is_tensor_node(const Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  return std::all_of(outputs.begin(), outputs.end(),
                     [&](ValueId value) { return graph.value(value).is_tensor(); });
}

class ReasonJudge {
 public:
  ReasonJudge(const Graph& graph, const Split& split, const std::vector<SupportList>& lists,
              const SplitOptions& options)
      : graph_(graph), split_(split), lists_(lists), options_(options) {}

  void judge(NodeId node) const {
    const Reason& reason = split_.reasons[node];
    const bool is_acc = split_.partition.is_acc(split_.partition.part_of[node]);
    if (is_acc && reason.code == ReasonCode::none) return;
    // A small accelerator subgraph after another joins it: its nodes stay on the accelerator.
    demand(!is_acc, "a node on the accelerator has no reason");
    switch (reason.code) {
      case ReasonCode::none:
        return demand(false, "a node on the CPU has a reason");
      case ReasonCode::no_rule:
      case ReasonCode::rule_failed:
      case ReasonCode::denied:
        demand(!split_.support.supported.contains(node), "the lists refuse the node");
        return demand(reason == match_node(graph_, node, lists_, {}),
                      "the reason is the lists' own");
      case ReasonCode::non_tensor_input:
        return judge_input(node, reason.because);
      case ReasonCode::non_tensor_output:
        return judge_output(node, reason.because);
      case ReasonCode::fusion_group:
        return judge_group(node, reason.because);
      case ReasonCode::small_subgraph:
        return judge_small(node, reason);
      case ReasonCode::host_shape:
        return demand(options_.host_shapes && split_.host_shapes.nodes.contains(node),
                      "a shape computation is one");
      case ReasonCode::qdq_group:
        return demand(options_.keep_qdq, "quantised operators are kept whole when asked for");
      case ReasonCode::shared_memory:
        return demand(reason.because != kNone<NodeId>, "a CPU node uses the same memory");
      case ReasonCode::pattern_failed:
        demand(!split_.support.supported.contains(node), "no pattern accepts the node");
        return demand(reason.size < split_.support.misses.size(), "what is in the way is known");
      case ReasonCode::pattern_group:
        return demand(split_.support.patterns.count() > 0, "there is a match");
      case ReasonCode::part_limit:
        return demand(split_.limit_cuts.nodes > 0, "a list limits whole partitions");
      case ReasonCode::runtime_graph:
        return demand(!split_.support.supported.contains(node), "the lists refuse the node");
      case ReasonCode::part_condition:
        return demand(have_part_conditions(lists_), "a list has conditions on whole partitions");
      case ReasonCode::over_cap:
        return demand(options_.most_kept != SplitOptions::kUnlimited, "there is a number to keep");
      case ReasonCode::costs_more:
        return demand(options_.place == PlaceBy::cost || options_.keep_only_gaining,
                      "nodes are placed by cost when asked for");
    }
  }

 private:
  bool was_left_out(NodeId node) const { return !split_.acc_found.nodes.contains(node); }

  void judge_input(NodeId node, NodeId because) const {
    demand(because != kNone<NodeId> && was_left_out(because), "the node to blame is on the CPU");
    demand(plain::producers_of(graph_, node).contains(because), "it reads the node to blame");
    demand(!is_tensor_node(graph_, because), "the node to blame makes a non-tensor");
  }

  void judge_output(NodeId node, NodeId because) const {
    demand(!is_tensor_node(graph_, node), "it makes a non-tensor");
    if (because == kNone<NodeId>) {
      const auto outputs = graph_.outputs(node);
      return demand(std::any_of(outputs.begin(), outputs.end(),
                                [&](ValueId value) { return graph_.is_graph_output(value); }),
                    "the graph's output reads it");
    }
    demand(was_left_out(because), "the node to blame is on the CPU");
    demand(plain::producers_of(graph_, because).contains(node), "the node to blame reads it");
  }

  void judge_group(NodeId node, NodeId because) const {
    demand(!options_.skip_fusion, "there are groups");
    demand(!was_left_out(node), "it was on the accelerator before groups were found");
    demand(because != kNone<NodeId> && was_left_out(because), "the member to blame is on the CPU");
  }

  void judge_small(NodeId node, const Reason& reason) const {
    const Subgraphs& found = split_.found.subgraphs;
    const PartId subgraph = found.subgraph_of[node];
    demand(found.devices[index(subgraph)] == Device::acc, "its subgraph was an accelerator's");
    demand(found.sizes[index(subgraph)] == reason.size, "its subgraph had that many nodes");
    demand(reason.size < options_.min_acc_size, "its subgraph was too small");
  }

  const Graph& graph_;
  const Split& split_;
  const std::vector<SupportList>& lists_;
  const SplitOptions& options_;
};

}  // namespace

void demand_good_reasons(const Graph& graph, const Split& split,
                         const std::vector<SupportList>& lists, const SplitOptions& options) {
  const ReasonJudge judge(graph, split, lists, options);
  for (const NodeId node : graph.nodes()) judge.judge(node);
}

}  // namespace cleave::fuzz
