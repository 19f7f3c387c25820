// LinkTraffic: the bytes of the tensors that enter or leave accelerator subgraphs, updated while
// nodes move from one subgraph to another. A value counts once for each accelerator subgraph that
// reads it from outside, and once when it leaves the one that makes it.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/graph/graph.h"
#include "core/split/subgraphs.h"

namespace cleave {

class LinkTraffic {
 public:
  // Linear in nodes + edges; about 40 bytes an edge.
  LinkTraffic(const Graph& graph, const Subgraphs& subgraphs);

  // Leaves out tensors of unknown size.
  std::uint64_t bytes() const { return bytes_; }
  // Linear in the node's operands and outputs.
  void move(NodeId node, PartId to);

 private:
  bool is_acc(PartId part) const { return devices_[index(part)] == Device::acc; }
  std::uint32_t reads_in(ValueId value, PartId part) const;
  void add_read(ValueId value, PartId part);
  void remove_read(ValueId value, PartId part);
  std::uint64_t bytes_of(ValueId value) const;

  const Graph& graph_;
  const std::vector<Device> devices_;
  PerNode<PartId> part_of_;
  std::unordered_map<std::uint64_t, std::uint32_t> reads_;  // by value and subgraph; has no zeros
  PerValue<std::uint32_t> reading_parts_;                   // subgraphs that read the value
  PerValue<std::uint32_t> reading_acc_parts_;
  std::uint64_t bytes_ = 0;
};

}  // namespace cleave
