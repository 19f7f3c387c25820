#include "core/split/piece.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cleave {
namespace {

// For each node from the first to the last of a set: whether it is in the set, and the member that
// it depends on through nodes outside.
class Window {
 public:
  Window(const Graph& graph, std::span<const NodeId> nodes)
      : graph_(graph),
        first_(index(nodes.front())),
        is_in_(index(nodes.back()) - first_ + 1, 0),
        from_(is_in_.size(), kNone<NodeId>) {
    for (const NodeId node : nodes) is_in_[index(node) - first_] = 1;
  }

  std::optional<Detour> find() {
    for (std::uint32_t place = 0; place < is_in_.size(); ++place) {
      const NodeId node{first_ + place};
      for (const Operand& operand : graph_.operands(node)) {
        const NodeId maker = graph_.value(operand.value).producer;
        if (maker == kNone<NodeId> || index(maker) < first_ || maker >= node) continue;
        const std::uint32_t other = index(maker) - first_;
        if (is_in_[place] != 0 && from_[other] != kNone<NodeId>) {
          return Detour{.from = from_[other], .over = maker, .to = node};
        }
        if (is_in_[place] == 0 && is_in_[other] != 0) from_[place] = maker;
        if (is_in_[place] == 0 && from_[other] != kNone<NodeId>) from_[place] = from_[other];
      }
    }
    return std::nullopt;
  }

 private:
  const Graph& graph_;
  std::uint32_t first_;
  std::vector<std::uint8_t> is_in_;
  std::vector<NodeId> from_;
};

}  // namespace

std::optional<Detour> find_detour(const Graph& graph, std::span<const NodeId> nodes) {
  if (nodes.empty()) return std::nullopt;
  return Window(graph, nodes).find();
}

std::vector<NodeId> nodes_between(const Graph& graph, std::span<const ValueId> from,
                                  std::span<const ValueId> to) {
  ValueSet ends(graph.value_count()), needed(graph.value_count());
  for (const ValueId value : from) ends.insert(value);
  for (const ValueId value : to) needed.insert(value);
  std::vector<NodeId> nodes;
  for (std::size_t i = graph.node_count(); i-- > 0;) {
    const auto node = id_at<NodeId>(i);
    const auto outputs = graph.outputs(node);
    const bool is_needed = std::any_of(outputs.begin(), outputs.end(), [&](ValueId output) {
      return needed.contains(output) && !ends.contains(output);
    });
    if (!is_needed) continue;
    nodes.push_back(node);
    for (const Operand& operand : graph.operands(node)) needed.insert(operand.value);
  }
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

std::vector<ValueId> outputs_after(const Graph& graph, std::span<const ValueId> from) {
  ValueSet begins(graph.value_count()), reached(graph.value_count());
  for (const ValueId value : from) begins.insert(value);
  for (const NodeId node : graph.nodes()) {
    const auto operands = graph.operands(node);
    const bool reads = std::any_of(operands.begin(), operands.end(), [&](const Operand& operand) {
      return begins.contains(operand.value) || reached.contains(operand.value);
    });
    if (!reads) continue;
    for (const ValueId output : graph.outputs(node)) {
      if (!begins.contains(output)) reached.insert(output);
    }
  }
  ValueSet given(graph.value_count());
  std::vector<ValueId> outputs;
  for (const ValueId output : graph.outputs()) {
    if (reached.contains(output) && given.insert(output)) outputs.push_back(output);
  }
  return outputs;
}

Partition make_piece(const Graph& graph, std::span<const NodeId> nodes, std::string name) {
  Partition piece;
  piece.part_of = PerNode<PartId>(graph.node_count(), kNone<PartId>);
  for (const NodeId node : nodes) piece.part_of[node] = PartId{0};
  piece.names.push_back(std::move(name));
  piece.member_begin = {0, static_cast<std::uint32_t>(nodes.size())};
  piece.members.assign(nodes.begin(), nodes.end());
  return piece;
}

}  // namespace cleave
