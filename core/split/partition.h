// Partition: the part of each node, and the parts in call order with names and devices. Every
// writer, report and drawing starts from it, whichever pass or map made it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/split/options.h"
#include "core/split/subgraphs.h"

namespace cleave {

struct Partition {
  PerNode<PartId> part_of;             // kNone: a marker that only ends a stage
  std::vector<std::string> names;      // by PartId
  std::vector<Device> devices;         // by PartId; empty: not a split between accelerator and CPU
  std::vector<TargetId> targets = {};  // by PartId, kNone on the CPU; empty: one accelerator
  std::vector<std::uint32_t> member_begin;
  std::vector<NodeId> members;  // part p: [member_begin[p], member_begin[p+1]), model order

  std::size_t count() const { return names.size(); }
  IdRange<PartId> parts() const { return {0, names.size()}; }
  std::span<const NodeId> nodes(PartId part) const {
    const std::uint32_t first = member_begin[index(part)];
    return std::span(members).subspan(first, member_begin[index(part) + 1] - first);
  }
  bool is_acc(PartId part) const { return !devices.empty() && devices[index(part)] == Device::acc; }
  // The accelerator of a part, the first one where there is one only; kNone on the CPU.
  TargetId target(PartId part) const {
    if (!targets.empty()) return targets[index(part)];
    return is_acc(part) ? TargetId{0} : kNone<TargetId>;
  }
  const std::string& name(PartId part) const { return names[index(part)]; }
};

// The name of the partition that an accelerator subgraph becomes, where there is one accelerator.
std::string acc_name(PartId subgraph, const SplitOptions& options);

// Refuses prefixes that can give two partitions the same name: equal ones, and pairs such as "x"
// and "x1", where "x" numbered 11 and "x1" numbered 1 are both x11.
Status<> check_prefixes(const SplitOptions& options);

// Subgraph i becomes the part `<acc or non-acc prefix><i>`; subgraphs without nodes are left out
// and the others keep their numbers. Linear.
Partition make_partition(const Subgraphs& subgraphs, const SplitOptions& options);

// Groups nodes by `part_of` under the given names and devices; parts are in the given order. A node
// whose part is kNone is in no part. Linear.
Partition make_partition(PerNode<PartId> part_of, std::vector<std::string> names,
                         std::vector<Device> devices, std::vector<TargetId> targets = {});

// Holds when every node is in exactly one part, no value flows to an earlier part, and accelerator
// parts hold only nodes of `acc` (when given) apart from those merged in for being small. The error
// names the first node at fault. Linear.
Status<> check_partition(const Graph& graph, const Partition& partition, const NodeSet* acc);

}  // namespace cleave
