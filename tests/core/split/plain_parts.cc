#include <algorithm>
#include <map>

#include "core/graph/graph.h"
#include "tests/core/split/plain_passes.h"

namespace cleave::plain {

namespace {

bool made_by_node(const Graph& graph, ValueId value) {
  return graph.value(value).kind == ValueKind::node_output;
}

std::map<NodeId, std::size_t> subgraph_of(const std::vector<Subgraph>& subgraphs) {
  std::map<NodeId, std::size_t> result;
  for (std::size_t i = 0; i < subgraphs.size(); ++i) {
    for (const NodeId node : subgraphs[i].nodes) result[node] = i;
  }
  return result;
}

template <class Id>
void add_once(std::vector<Id>& list, Id item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

// The parameter; or those that the constant is made from.
void add_parameters(const Graph& graph, ValueId parameter, std::vector<ValueId>& list) {
  const NodeId constant = graph.value(parameter).producer;
  if (constant == kNone<NodeId>) return add_once(list, parameter);
  for (const Operand& operand : graph.operands(constant)) {
    add_parameters(graph, operand.value, list);
  }
}

}  // namespace

Nodes extend_subgraph(const Graph& graph, const Fusions& fusions, std::vector<Subgraph>& subgraphs,
                      std::size_t target) {
  const auto at = subgraph_of(subgraphs);
  std::map<NodeId, Nodes> blockers;
  for (const NodeId node : graph.nodes()) {
    for (const NodeId user : users_of(graph, node)) {
      if (at.at(user) < target) blockers[node].insert(user);
    }
  }
  for (const Nodes& group : fusions.groups) {
    Nodes all;
    for (const NodeId member : group) {
      for (const NodeId blocker : blockers[member]) {
        if (!group.contains(blocker)) all.insert(blocker);
      }
    }
    for (const NodeId member : group) blockers[member] = all;
  }
  for (const Nodes& group : fusions.groups) {
    for (const NodeId member : group) {
      for (const NodeId maker : producers_of(graph, member)) {
        if (!group.contains(maker)) blockers[maker].insert(group.begin(), group.end());
      }
    }
  }
  // What blocks one member of a group blocks all of them.
  for (const Nodes& group : fusions.groups) {
    Nodes all;
    for (const NodeId member : group) {
      for (const NodeId blocker : blockers[member]) all.insert(blocker);
    }
    for (const NodeId member : group) blockers[member] = all;
  }

  Nodes moved, candidates;
  const auto offer_producers = [&](NodeId node) {
    for (const NodeId maker : producers_of(graph, node)) {
      if (at.at(maker) != target) candidates.insert(maker);
    }
  };
  for (const NodeId node : subgraphs[target].nodes) offer_producers(node);
  for (bool found = true; found;) {
    found = false;
    for (const NodeId node : Nodes(candidates)) {
      if (moved.contains(node) || !fusions.acc.contains(node)) continue;
      const Nodes& by = blockers[node];
      if (!std::includes(moved.begin(), moved.end(), by.begin(), by.end())) continue;
      found = true;
      moved.insert(node);
      offer_producers(node);
      for (const Nodes& group : fusions.groups) {
        if (group.contains(node)) candidates.insert(group.begin(), group.end());
      }
    }
  }
  for (const NodeId node : moved) {
    subgraphs[at.at(node)].nodes.erase(node);
    subgraphs[target].nodes.insert(node);
  }
  return moved;
}

std::vector<Boundary> find_boundaries(const Graph& graph, const std::vector<Subgraph>& subgraphs) {
  const auto at = subgraph_of(subgraphs);
  std::vector<Boundary> result(subgraphs.size());
  for (const NodeId node : graph.nodes()) {
    Boundary& here = result[at.at(node)];
    for (const Operand& operand : graph.operands(node)) {
      const Value& value = graph.value(operand.value);
      if (value.kind == ValueKind::parameter) {
        add_parameters(graph, operand.value, here.parameters);
      } else if (value.kind == ValueKind::input) {
        add_once(here.inputs, operand.value);
      } else if (at.at(value.producer) != at.at(node)) {
        add_once(here.inputs, operand.value);
        add_once(result[at.at(value.producer)].outputs, operand.value);
      }
    }
    for (const ValueId parameter : graph.module_parameters(node)) {
      add_once(here.parameters, parameter);
    }
  }
  for (const ValueId value : graph.outputs()) {
    if (made_by_node(graph, value)) {
      add_once(result[at.at(graph.value(value).producer)].outputs, value);
    }
  }
  return result;
}

std::uint64_t link_bytes(const Graph& graph, const std::vector<Subgraph>& subgraphs) {
  const std::vector<Boundary> boundaries = find_boundaries(graph, subgraphs);
  const auto at = subgraph_of(subgraphs);
  const auto is_acc = [&](NodeId node) { return subgraphs[at.at(node)].device == Device::acc; };
  const auto is_elsewhere = [&](ValueId value, const auto& is_there) {
    const auto readers = graph.users(value);
    return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
      return graph.nodes().contains(reader) && !is_there(reader);
    });
  };
  // State stays where it is written, for readers there in the next step.
  const auto stays = [&](ValueId value) {
    const StatePair* const pair = graph.state_of(value);
    if (pair == nullptr) return false;
    const NodeId writer = graph.value(pair->output).producer;
    if (value == pair->input) return is_acc(writer);
    const auto is_home = [&](NodeId reader) { return at.at(reader) == at.at(writer); };
    return !pair->is_result && !is_elsewhere(pair->input, is_acc) && !is_elsewhere(value, is_home);
  };
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < subgraphs.size(); ++i) {
    if (subgraphs[i].device != Device::acc) continue;
    for (const auto* values : {&boundaries[i].inputs, &boundaries[i].outputs}) {
      for (const ValueId value : *values) {
        if (!graph.value(value).is_tensor() || !graph.has_rank(value) || stays(value)) continue;
        bytes += tensor_bytes(graph.value(value).dtype, graph.shape(value)).value_or(0);
      }
    }
  }
  return bytes;
}

}  // namespace cleave::plain
