// Items are the graph's inputs, then the nodes. Stage numbers never decrease along the items: a
// node joins the last stage, starts the next, or reads from an earlier item, and then all items
// after that one join its stage. So the stages are a stack of runs, each with the position of its
// first item, and reading from an earlier stage pops runs.
#include "core/stages/auto_shard.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/graph/shape.h"

namespace cleave {
namespace {

class Sharder {
 public:
  Sharder(const Graph& graph, std::uint32_t stages)
      : graph_(graph), input_count_(graph.inputs().size()), counted_(graph.value_count()) {
    std::uint64_t total = 0;
    for (const ValueId parameter : graph.parameters()) {
      if (graph.canonical_parameter(parameter) == parameter) total += elements_of(parameter);
    }
    share_ = total / std::max<std::uint32_t>(stages, 1);
  }

  AutoShards run() {
    for (const NodeId node : graph_.nodes()) {
      const std::size_t position = input_count_ + index(node);
      reach_back(node, position);
      if (is_full_) runs_.push_back({position, 0});
      is_full_ = false;
      runs_.back().parameters += parameters_first_used_by(node);
      is_full_ = runs_.back().parameters > share_;
    }
    return number();
  }

 private:
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  struct Run {
    std::size_t begin;  // position of its first item
    std::uint64_t parameters;
  };

  // Elements of a parameter of the file; a constant's output counts 0.
  std::uint64_t elements_of(ValueId parameter) const {
    if (graph_.value(parameter).producer != kNone<NodeId> || !graph_.has_rank(parameter)) return 0;
    return element_count(graph_.shape(parameter)).value_or(0);
  }

  std::uint64_t parameters_first_used_by(NodeId node) {
    std::uint64_t elements = 0;
    for (const ValueId parameter : graph_.module_parameters(node)) pending_.push_back(parameter);
    for (const Operand& operand : graph_.operands(node)) pending_.push_back(operand.value);
    while (!pending_.empty()) {
      const ValueId value = pending_.back();
      pending_.pop_back();
      if (!graph_.is_parameter(value)) continue;
      const ValueId canonical = graph_.canonical_parameter(value);
      if (!counted_.insert(canonical)) continue;
      elements += elements_of(canonical);
      const NodeId maker = graph_.value(canonical).producer;
      if (maker == kNone<NodeId>) continue;
      for (const Operand& operand : graph_.operands(maker)) pending_.push_back(operand.value);
    }
    return elements;
  }

  // The position of the value's item; none for a parameter.
  std::size_t position_of(ValueId id) const {
    const Value& value = graph_.value(id);
    if (value.kind == ValueKind::input) return index(id);
    if (value.kind == ValueKind::node_output) return input_count_ + index(value.producer);
    return kNowhere;
  }

  std::size_t stage_at(std::size_t position) const {
    const auto behind =
        std::upper_bound(runs_.begin(), runs_.end(), position,
                         [](std::size_t at, const Run& run) { return at < run.begin; });
    return static_cast<std::size_t>(behind - runs_.begin()) - 1;
  }

  // Considers the node's positional inputs that are not in lists, except the item just before it.
  void reach_back(NodeId node, std::size_t position) {
    const std::size_t current = runs_.size() - (is_full_ ? 0 : 1);
    std::size_t least = current;
    for (const Operand& operand : graph_.operands(node)) {
      if (!operand.slot.is_positional() || operand.slot.is_inside_list()) continue;
      const std::size_t at = position_of(operand.value);
      if (at != kNowhere && at + 1 < position) least = std::min(least, stage_at(at));
    }
    if (least == current) return;
    is_full_ = false;
    while (runs_.size() > least + 1) {
      const std::uint64_t parameters = runs_.back().parameters;
      runs_.pop_back();
      runs_.back().parameters += parameters;
    }
  }

  AutoShards number() const {
    AutoShards result{PerNode<std::uint32_t>(graph_.node_count()), 0, share_, 0};
    for (const NodeId node : graph_.nodes()) {
      result.stage_of[node] = static_cast<std::uint32_t>(stage_at(input_count_ + index(node)));
    }
    for (const Run& run : runs_) result.largest = std::max(result.largest, run.parameters);
    result.count = graph_.node_count() == 0 ? 0 : static_cast<std::uint32_t>(runs_.size());
    return result;
  }

  const Graph& graph_;
  const std::size_t input_count_;
  std::uint64_t share_ = 0;
  ValueSet counted_;  // by canonical parameter, and outputs of constants
  std::vector<ValueId> pending_;
  std::vector<Run> runs_ = {{0, 0}};
  bool is_full_ = false;  // the next node starts a stage
};

}  // namespace

AutoShards shard_by_parameters(const Graph& graph, std::uint32_t stages) {
  return Sharder(graph, stages).run();
}

}  // namespace cleave
