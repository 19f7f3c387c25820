#include "core/split/partition.h"

#include <utility>

#include "core/base/adjacency.h"

namespace cleave {
namespace {

// Nodes in no part go to a group after all parts.
std::vector<std::uint32_t> groups_of(const PerNode<PartId>& part_of, std::size_t part_count) {
  std::vector<std::uint32_t> result;
  result.reserve(part_of.size());
  for (const PartId part : part_of) {
    const bool is_in_part = part != kNone<PartId>;
    result.push_back(is_in_part ? index(part) : static_cast<std::uint32_t>(part_count));
  }
  return result;
}

}  // namespace

Partition make_partition(PerNode<PartId> part_of, std::vector<std::string> names,
                         std::vector<Device> devices, std::vector<TargetId> targets) {
  const Adjacency members = members_of(groups_of(part_of, names.size()), names.size() + 1);
  Partition result;
  result.names = std::move(names);
  result.devices = std::move(devices);
  result.targets = std::move(targets);
  result.part_of = std::move(part_of);
  result.member_begin.assign(members.begin.begin(), members.begin.end() - 1);
  const std::uint32_t member_count = result.member_begin.back();
  result.members.reserve(member_count);
  for (std::uint32_t i = 0; i < member_count; ++i) {
    result.members.push_back(NodeId{members.items[i]});
  }
  return result;
}

namespace {

Status<> check_pair(const std::string& one, const std::string& other, const std::string& sides) {
  const std::string& shorter = one.size() < other.size() ? one : other;
  const std::string& longer = one.size() < other.size() ? other : one;
  if (!longer.starts_with(shorter)) return Done{};
  const std::string rest = longer.substr(shorter.size());
  if (rest.find_first_not_of("0123456789") != rest.npos) return Done{};
  if (rest.empty()) {
    return Error{sides + " partitions have the same name prefix, \"" + one + '"',
                 std::nullopt,
                 {"give the two sides different prefixes"}};
  }
  return Error{
      "the name prefixes \"" + one + "\" and \"" + other + "\" differ only in digits",
      std::nullopt,
      {"two numbered partitions could get the same name: do not end the prefixes in digits"}};
}

}  // namespace

Status<> check_prefixes(const SplitOptions& options) {
  const std::vector<std::string>& targets = options.target_prefixes;
  if (targets.empty()) {
    return check_pair(options.acc_prefix, options.non_acc_prefix, "accelerator and CPU");
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (auto done = check_pair(targets[i], options.non_acc_prefix, "accelerator and CPU"); !done) {
      return done;
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (auto done = check_pair(targets[j], targets[i], "two targets'"); !done) return done;
    }
  }
  return Done{};
}

std::string acc_name(PartId subgraph, const SplitOptions& options) {
  return options.acc_prefix + std::to_string(index(subgraph));
}

Partition make_partition(const Subgraphs& subgraphs, const SplitOptions& options) {
  std::vector<PartId> part_of_subgraph(subgraphs.count(), kNone<PartId>);
  std::vector<std::string> names;
  std::vector<Device> devices;
  std::vector<TargetId> targets;
  const auto prefix_of = [&](std::size_t i) -> const std::string& {
    if (subgraphs.devices[i] == Device::cpu) return options.non_acc_prefix;
    if (subgraphs.targets.empty()) return options.acc_prefix;
    return options.target_prefixes[index(subgraphs.targets[i])];
  };
  for (std::size_t i = 0; i < subgraphs.count(); ++i) {
    if (subgraphs.sizes[i] == 0) continue;
    part_of_subgraph[i] = id_at<PartId>(names.size());
    names.push_back(prefix_of(i) + std::to_string(i));
    devices.push_back(subgraphs.devices[i]);
    if (!subgraphs.targets.empty()) targets.push_back(subgraphs.targets[i]);
  }
  PerNode<PartId> part_of = subgraphs.subgraph_of;
  for (std::size_t n = 0; n < part_of.size(); ++n) {
    PartId& part = part_of[id_at<NodeId>(n)];
    part = part_of_subgraph[index(part)];
  }
  return make_partition(std::move(part_of), std::move(names), std::move(devices),
                        std::move(targets));
}

Status<> check_partition(const Graph& graph, const Partition& partition, const NodeSet* acc) {
  const auto node_text = [&](NodeId node) {
    return "node \"" + std::string(graph.node(node).name) + '"';
  };
  for (const NodeId node : graph.nodes()) {
    const PartId part = partition.part_of[node];
    if (index(part) >= partition.count()) {
      return Error{node_text(node) + " is in no partition", node};
    }
    if (acc != nullptr && partition.is_acc(part) && !acc->contains(node)) {
      return Error{node_text(node) +
                       " cannot run on the accelerator, but is in accelerator partition \"" +
                       partition.name(part) + '"',
                   node};
    }
    for (const NodeId reader : graph.readers(node)) {
      if (partition.part_of[reader] >= part) continue;
      return Error{node_text(node) + " in partition \"" + partition.name(part) + "\" is read by " +
                       node_text(reader) + " in the earlier partition \"" +
                       partition.name(partition.part_of[reader]) + '"',
                   node};
    }
    for (const NodeId follower : graph.followers(node)) {
      if (partition.part_of[follower] >= part) continue;
      return Error{node_text(node) + " in partition \"" + partition.name(part) +
                       "\" must run before " + node_text(follower) +
                       " in the earlier partition \"" +
                       partition.name(partition.part_of[follower]) + '"',
                   node};
    }
  }
  return Done{};
}

}  // namespace cleave
