// Steps:
// 1. for each partition, list what its nodes read: inputs, parameters, and constants with what they
//    need in turn;
// 2. list the values that cross, and give each to the partition that makes it, as its output.
#include "core/split/boundary.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <utility>

#include "core/split/piece.h"

namespace cleave {
namespace {

// Walks what a constant is made of: depth first, with an explicit stack. Calls leave(node) for each
// constant after those that it uses, and read(parameter) for each parameter of the file that it
// reads. A constant that enter(node) refuses is passed over.
template <class Enter, class Read, class Leave>
void walk_constants(const Graph& graph, NodeId constant, const Enter& enter, const Read& read,
                    const Leave& leave) {
  struct Visit {
    NodeId node;
    std::size_t next;
  };
  std::vector<Visit> stack{{constant, 0}};
  while (!stack.empty()) {
    const NodeId node = stack.back().node;
    const auto operands = graph.operands(node);
    if (stack.back().next == operands.size()) {
      leave(node);
      stack.pop_back();
      continue;
    }
    const ValueId value = operands[stack.back().next++].value;
    const NodeId maker = graph.value(value).producer;
    if (maker == kNone<NodeId>) {
      read(value);
    } else if (enter(maker)) {
      stack.push_back({maker, 0});
    }
  }
}

// Collects what the nodes of each part read, part by part; a stamp keeps each value once a part.
class Readings {
 public:
  Readings(const Graph& graph, const Partition& partition, const BoundaryOptions& options)
      : graph_(graph),
        partition_(partition),
        pass_parameters_(options.pass_parameters),
        value_seen_(graph.value_count(), kNone<PartId>),
        owned_(options.pass_parameters ? graph.value_count() : 0, kNone<PartId>),
        constant_seen_(graph.constants().size(), kNone<PartId>) {
    for (const PartId part : partition.parts()) {
      inputs.begin.push_back(static_cast<std::uint32_t>(inputs.items.size()));
      parameters.begin.push_back(static_cast<std::uint32_t>(parameters.items.size()));
      constants.begin.push_back(static_cast<std::uint32_t>(constants.items.size()));
      part_ = part;
      if (pass_parameters_) mark_owned();
      for (const NodeId node : partition.nodes(part)) read_by(node);
    }
    inputs.begin.push_back(static_cast<std::uint32_t>(inputs.items.size()));
    parameters.begin.push_back(static_cast<std::uint32_t>(parameters.items.size()));
    constants.begin.push_back(static_cast<std::uint32_t>(constants.items.size()));
  }

  PerPartLists<ValueId> inputs, parameters;
  PerPartLists<NodeId> constants;
  std::size_t constant_copies = 0;

 private:
  void mark_owned() {
    for (const NodeId node : partition_.nodes(part_)) {
      for (const ValueId parameter : graph_.module_parameters(node)) owned_[parameter] = part_;
    }
  }

  void read_by(NodeId node) {
    for (const Operand& operand : graph_.operands(node)) read(operand.value);
    for (const ValueId parameter : graph_.module_parameters(node)) read(parameter);
  }

  void read(ValueId id) {
    if (value_seen_[id] == part_) return;
    value_seen_[id] = part_;
    const Value& value = graph_.value(id);
    if (value.kind == ValueKind::parameter) {
      if (value.producer != kNone<NodeId>) {
        need(value.producer);
      } else if (pass_parameters_ && owned_[id] != part_) {
        inputs.items.push_back(id);
      } else {
        parameters.items.push_back(id);
      }
    } else if (value.kind == ValueKind::input || partition_.part_of[value.producer] != part_) {
      inputs.items.push_back(id);
    }
  }

  bool is_new(NodeId constant) {
    PartId& seen = constant_seen_[index(constant) - graph_.node_count()];
    if (seen == part_) return false;
    seen = part_;
    return true;
  }

  // Lists the constant, and counts it with those that it is made of, whose parameters are listed.
  void need(NodeId constant) {
    if (!is_new(constant)) return;
    constants.items.push_back(constant);
    walk_constants(
        graph_, constant, [&](NodeId maker) { return is_new(maker); },
        [&](ValueId parameter) {
          if (value_seen_[parameter] == part_) return;
          value_seen_[parameter] = part_;
          parameters.items.push_back(parameter);
        },
        [&](NodeId) { ++constant_copies; });
  }

  const Graph& graph_;
  const Partition& partition_;
  const bool pass_parameters_;
  PartId part_ = kNone<PartId>;
  PerValue<PartId> value_seen_;
  PerValue<PartId> owned_;  // by a module of the part; only where parameters are passed
  std::vector<PartId> constant_seen_;
};

// Values that cross, in the order in which a read from another part, or last the graph's output, is
// first met.
std::vector<ValueId> crossing_values(const Graph& graph, const Partition& partition) {
  std::vector<ValueId> crossing;
  ValueSet seen(graph.value_count());
  const auto made_by_node = [&](ValueId value) {
    return graph.value(value).kind == ValueKind::node_output;
  };
  for (const NodeId node : graph.nodes()) {
    if (partition.part_of[node] == kNone<PartId>) continue;
    for (const Operand& operand : graph.operands(node)) {
      const ValueId value = operand.value;
      if (!made_by_node(value)) continue;
      const PartId from = partition.part_of[graph.value(value).producer];
      if (from != partition.part_of[node] && seen.insert(value)) crossing.push_back(value);
    }
  }
  for (const ValueId value : graph.outputs()) {
    if (made_by_node(value) && seen.insert(value)) crossing.push_back(value);
  }
  return crossing;
}

// Distributes the values to the parts that make them and keeps their order.
PerPartLists<ValueId> by_maker(const Graph& graph, const Partition& partition,
                               const std::vector<ValueId>& values) {
  const auto part_of = [&](ValueId value) {
    return index(partition.part_of[graph.value(value).producer]);
  };
  PerPartLists<ValueId> result;
  result.begin.assign(partition.count() + 1, 0);
  for (const ValueId value : values) ++result.begin[part_of(value) + 1];
  std::partial_sum(result.begin.begin(), result.begin.end(), result.begin.begin());
  result.items.resize(values.size());
  std::vector<std::uint32_t> fill(result.begin.begin(), result.begin.end() - 1);
  for (const ValueId value : values) result.items[fill[part_of(value)]++] = value;
  return result;
}

// Puts what the piece was asked for in the places of the inputs and outputs that were found.
void put_ends(Boundaries& piece, const PieceEnds& ends) {
  std::vector<ValueId>& inputs = piece.inputs.items;
  std::erase_if(inputs, [&](ValueId value) {
    return std::find(ends.from.begin(), ends.from.end(), value) != ends.from.end();
  });
  std::sort(inputs.begin(), inputs.end());
  inputs.insert(inputs.begin(), ends.from.begin(), ends.from.end());
  piece.inputs.begin = {0, static_cast<std::uint32_t>(inputs.size())};
  piece.outputs.items = ends.to;
  piece.outputs.begin = {0, static_cast<std::uint32_t>(ends.to.size())};
}

}  // namespace

Boundaries find_boundaries(const Graph& graph, const Partition& partition,
                           const BoundaryOptions& options) {
  Readings readings(graph, partition, options);
  Boundaries result;
  result.inputs = std::move(readings.inputs);
  result.parameters = std::move(readings.parameters);
  result.constants = std::move(readings.constants);
  result.constant_copies = readings.constant_copies;
  result.outputs = by_maker(graph, partition, crossing_values(graph, partition));
  return result;
}

Boundaries find_piece_boundary(const Graph& graph, const Partition& piece, const PieceEnds* ends) {
  Readings readings(graph, piece, BoundaryOptions{});
  Boundaries result;
  result.inputs = std::move(readings.inputs);
  result.parameters = std::move(readings.parameters);
  result.constants = std::move(readings.constants);
  result.constant_copies = readings.constant_copies;
  if (ends != nullptr) {
    put_ends(result, *ends);
    return result;
  }
  const auto is_outside = [&](NodeId node) { return piece.part_of[node] == kNone<PartId>; };
  for (const NodeId node : piece.members) {
    for (const ValueId value : graph.outputs(node)) {
      const auto users = graph.users(value);
      if (graph.is_graph_output(value) || std::any_of(users.begin(), users.end(), is_outside)) {
        result.outputs.items.push_back(value);
      }
    }
  }
  result.outputs.begin = {0, static_cast<std::uint32_t>(result.outputs.items.size())};
  return result;
}

std::vector<NodeId> needed_constants(const Graph& graph, const Boundaries& boundaries,
                                     PartId part) {
  std::vector<NodeId> needed;
  std::unordered_set<NodeId> seen;
  const auto is_new = [&](NodeId node) { return seen.insert(node).second; };
  for (const NodeId constant : boundaries.constants[part]) {
    if (!is_new(constant)) continue;
    walk_constants(
        graph, constant, is_new, [](ValueId) {}, [&](NodeId node) { needed.push_back(node); });
  }
  return needed;
}

NeededConstants::NeededConstants(const Graph& graph, const Boundaries& boundaries)
    : graph_(graph), boundaries_(boundaries), seen_(graph.constants().size(), 0) {}

std::span<const NodeId> NeededConstants::of(PartId part) {
  ++calls_;
  needed_.clear();
  const auto is_new = [&](NodeId node) {
    return std::exchange(seen_[index(node) - graph_.node_count()], calls_) != calls_;
  };
  for (const NodeId constant : boundaries_.constants[part]) {
    if (!is_new(constant)) continue;
    walk_constants(
        graph_, constant, is_new, [](ValueId) {}, [&](NodeId node) { needed_.push_back(node); });
  }
  return needed_;
}

PerPartLists<PartId> find_dependencies(const Graph& graph, const Boundaries& boundaries) {
  const std::size_t count = boundaries.inputs.begin.size() - 1;
  PerValue<PartId> source(graph.value_count(), kNone<PartId>);
  PerPart<PartId> last_user(count, kNone<PartId>);
  PerPartLists<PartId> result;
  for (const PartId part : IdRange<PartId>(0, count)) {
    result.begin.push_back(static_cast<std::uint32_t>(result.items.size()));
    for (const ValueId value : boundaries.inputs[part]) {
      const PartId from = source[value];
      if (from == kNone<PartId> || last_user[from] == part) continue;
      last_user[from] = part;
      result.items.push_back(from);
    }
    for (const ValueId value : boundaries.outputs[part]) source[value] = part;
  }
  result.begin.push_back(static_cast<std::uint32_t>(result.items.size()));
  return result;
}

}  // namespace cleave
