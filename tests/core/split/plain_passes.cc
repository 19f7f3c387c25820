#include "tests/core/split/plain_passes.h"

#include <algorithm>
#include <map>

namespace cleave::plain {

namespace {

bool is_tensor_node(const Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  return std::all_of(outputs.begin(), outputs.end(),
                     [&](ValueId value) { return graph.value(value).is_tensor(); });
}

bool is_tensor_free(const Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  return !outputs.empty() && std::none_of(outputs.begin(), outputs.end(), [&](ValueId value) {
    return graph.value(value).holds_tensor;
  });
}

bool reads_graph_output(const Graph& graph, NodeId node) {
  const auto outputs = graph.outputs(node);
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](ValueId value) { return graph.is_graph_output(value); });
}

bool made_by_node(const Graph& graph, ValueId value) {
  return graph.value(value).kind == ValueKind::node_output;
}

bool meet(const Nodes& a, const Nodes& b) {
  return std::any_of(a.begin(), a.end(), [&](NodeId node) { return b.contains(node); });
}

// All nodes reachable from `nodes`, without these unless they are reached again.
Nodes reached_from(const Graph& graph, const Nodes& nodes) {
  Nodes reached;
  std::vector<NodeId> open(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    for (const NodeId user : users_of(graph, node)) {
      if (reached.insert(user).second) open.push_back(user);
    }
  }
  return reached;
}

Nodes reaching(const Graph& graph, const Nodes& nodes) {
  Nodes found;
  std::vector<NodeId> open(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    for (const NodeId maker : producers_of(graph, node)) {
      if (found.insert(maker).second) open.push_back(maker);
    }
  }
  return found;
}

// The smallest set that contains the group and is closed as a fusion group must be.
Nodes closed(const Graph& graph, Nodes group) {
  for (std::size_t size = 0; size != group.size();) {
    size = group.size();
    for (const NodeId node : Nodes(group)) {
      if (is_tensor_free(graph, node)) group.merge(users_of(graph, node));
      for (const NodeId maker : producers_of(graph, node)) {
        if (is_tensor_free(graph, maker)) group.insert(maker);
      }
    }
    const Nodes behind = reached_from(graph, group), before = reaching(graph, group);
    for (const NodeId node : behind) {
      if (before.contains(node)) group.insert(node);
    }
  }
  return group;
}

// Which groups depend on each other in a cycle, through any number of others: [a][b] when b can be
// reached from a by passing through groups as if each were one node.
std::vector<std::vector<char>> reach_of_groups(const Graph& graph,
                                               const std::vector<Nodes>& groups) {
  std::vector<std::vector<char>> reach(groups.size(), std::vector<char>(groups.size(), 0));
  for (std::size_t a = 0; a < groups.size(); ++a) {
    const Nodes reached = reached_from(graph, groups[a]);
    for (std::size_t b = 0; b < groups.size(); ++b) reach[a][b] = meet(reached, groups[b]) ? 1 : 0;
  }
  for (std::size_t via = 0; via < groups.size(); ++via) {
    for (auto& from : reach) {
      if (from[via] == 0) continue;
      for (std::size_t b = 0; b < groups.size(); ++b) from[b] |= reach[via][b];
    }
  }
  return reach;
}

// Joins two groups that must be one; false when there are none.
bool join_two(const Graph& graph, std::vector<Nodes>& groups) {
  const auto reach = reach_of_groups(graph, groups);
  for (std::size_t a = 0; a < groups.size(); ++a) {
    for (std::size_t b = a + 1; b < groups.size(); ++b) {
      const bool circle = reach[a][b] != 0 && reach[b][a] != 0;
      if (!circle && !meet(groups[a], groups[b])) continue;
      groups[a].merge(groups[b]);
      groups[a] = closed(graph, groups[a]);
      groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(b));
      return true;
    }
  }
  return false;
}

// What each node waits for, fusion groups as one node.
std::map<NodeId, Nodes> dependencies(const Graph& graph, const Fusions& fusions) {
  std::map<NodeId, Nodes> result;
  for (const NodeId node : graph.nodes()) result[node] = producers_of(graph, node);
  for (const Nodes& group : fusions.groups) {
    Nodes outside;
    for (const NodeId member : group) {
      for (const NodeId maker : result[member]) {
        if (!group.contains(maker)) outside.insert(maker);
      }
    }
    for (const NodeId member : group) result[member] = outside;
    for (auto& [node, waits_for] : result) {
      if (!group.contains(node) && meet(waits_for, group)) {
        waits_for.insert(group.begin(), group.end());
      }
    }
  }
  return result;
}

Device reference_start(const Graph& graph, const Fusions& fusions,
                       const std::map<NodeId, Nodes>& waits_for) {
  for (const NodeId node : graph.nodes()) {
    if (fusions.acc.contains(node) || !waits_for.at(node).empty()) continue;
    for (const Operand& operand : graph.operands(node)) {
      if (!made_by_node(graph, operand.value)) return Device::cpu;
    }
  }
  return Device::acc;
}

}  // namespace

Nodes nodes_in(const Graph& graph, const NodeSet& nodes) {
  Nodes result;
  for (const NodeId node : graph.nodes()) {
    if (nodes.contains(node)) result.insert(node);
  }
  return result;
}

std::vector<Nodes> groups_in(const cleave::Fusions& fusions) {
  std::vector<Nodes> result;
  for (std::size_t i = 0; i < fusions.group_count(); ++i) {
    const auto members = fusions.group(id_at<GroupId>(i));
    result.emplace_back(members.begin(), members.end());
  }
  return result;
}

std::vector<Subgraph> subgraphs_in(const Subgraphs& subgraphs) {
  std::vector<Subgraph> result;
  for (const Device device : subgraphs.devices) result.push_back({device, {}});
  for (std::size_t i = 0; i < subgraphs.subgraph_of.size(); ++i) {
    const auto node = id_at<NodeId>(i);
    result[index(subgraphs.subgraph_of[node])].nodes.insert(node);
  }
  return result;
}

Nodes users_of(const Graph& graph, NodeId node) {
  Nodes users;
  for (const NodeId other : graph.nodes()) {
    if (producers_of(graph, other).contains(node)) users.insert(other);
  }
  return users;
}

Nodes producers_of(const Graph& graph, NodeId node) {
  Nodes makers;
  for (const Operand& operand : graph.operands(node)) {
    if (made_by_node(graph, operand.value)) makers.insert(graph.value(operand.value).producer);
  }
  return makers;
}

Nodes find_acc_nodes(const Graph& graph, Nodes acc) {
  for (std::size_t size = acc.size() + 1; size != acc.size();) {
    size = acc.size();
    for (const NodeId node : graph.nodes()) {
      if (is_tensor_node(graph, node)) continue;
      const Nodes users = users_of(graph, node);
      if (!acc.contains(node)) {
        for (const NodeId user : users) acc.erase(user);
      } else if (reads_graph_output(graph, node) ||
                 !std::includes(acc.begin(), acc.end(), users.begin(), users.end())) {
        acc.erase(node);
      }
    }
  }
  return acc;
}

Fusions find_fusions(const Graph& graph, const Nodes& acc) {
  std::vector<Nodes> groups;
  for (const NodeId node : acc) {
    if (is_tensor_free(graph, node)) groups.push_back(closed(graph, {node}));
  }
  while (join_two(graph, groups)) {
  }
  Fusions result{{}, acc};
  std::sort(groups.begin(), groups.end());
  for (const Nodes& group : groups) {
    if (std::includes(acc.begin(), acc.end(), group.begin(), group.end())) {
      result.groups.push_back(group);
    } else {
      for (const NodeId node : group) result.acc.erase(node);
    }
  }
  return result;
}

std::vector<Subgraph> split_subgraphs(const Graph& graph, const Fusions& fusions, StartSide start) {
  const auto waits_for = dependencies(graph, fusions);
  Device mode = start == StartSide::cpu ? Device::cpu : Device::acc;
  if (start == StartSide::reference) mode = reference_start(graph, fusions, waits_for);
  std::vector<Subgraph> result;
  Nodes done;
  while (done.size() != graph.node_count()) {
    Subgraph next{mode, {}};
    for (bool found = true; found;) {
      found = false;
      for (const NodeId node : graph.nodes()) {
        const bool fits = fusions.acc.contains(node) == (mode == Device::acc);
        if (!fits || done.contains(node)) continue;
        const Nodes& needs = waits_for.at(node);
        if (!std::includes(done.begin(), done.end(), needs.begin(), needs.end())) continue;
        done.insert(node);
        next.nodes.insert(node);
        found = true;
      }
    }
    if (!next.nodes.empty()) result.push_back(next);
    mode = mode == Device::acc ? Device::cpu : Device::acc;
  }
  return result;
}

std::vector<Subgraph> merge_small_subgraphs(const std::vector<Subgraph>& subgraphs,
                                            std::size_t min_acc_size) {
  std::vector<Subgraph> result;
  for (const Subgraph& subgraph : subgraphs) {
    if (subgraph.device == Device::acc && subgraph.nodes.size() < min_acc_size) {
      if (result.empty()) result.push_back({Device::cpu, {}});
      result.back().nodes.insert(subgraph.nodes.begin(), subgraph.nodes.end());
    } else if (subgraph.device == Device::cpu && !result.empty() &&
               result.back().device == Device::cpu) {
      result.back().nodes.insert(subgraph.nodes.begin(), subgraph.nodes.end());
    } else {
      result.push_back(subgraph);
    }
  }
  return result;
}

}  // namespace cleave::plain
