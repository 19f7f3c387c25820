// Placement of a graph on several targets so that one inference takes the least time (--place cost).
//
// What moves is a unit: nodes that exchange data that is no tensor, groups of any target, and sets
// that stay whole, made convex and free of cycles. A target may run a unit if it takes all its nodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/devices/rounds.h"
#include "core/graph/graph.h"
#include "core/split/fusion.h"
#include "core/split/latency.h"
#include "core/split/place.h"
#include "core/split/split.h"

namespace cleave {

struct TargetPlaceRequest {
  LatencyInput latency;
  // Empty: the time is made small; else energy, by device, the host last.
  std::span<const EnergyNumbers> energy = {};
  std::span<const Target> targets;
  // By target: the nodes that it may run if it is the only one, with groups.
  std::span<const Fusions> alone;
  std::span<const std::vector<NodeId>> sets;  // nodes that stay whole
  const NodeSet* required = nullptr;          // nodes that stay on some target; null: none
  std::span<const std::vector<NodeId>> required_on = {};  // by target: nodes that stay there
  bool allow_non_tensor = false;
};

// The rounds of a placement, by node.
struct NodeRounds {
  std::vector<DeviceIndex> devices;  // by part
  PerNode<std::uint32_t> part_of;
  std::size_t least_acc_parts = 0;
};
NodeRounds rounds_by_node(const Graph& graph, const Contraction& units, const Rounds& rounds);

struct TargetsPlaced {
  PerNode<DeviceIndex> device_of;
  NodeRounds rounds;
  // Where nodes would be if no memory were limited; empty: where they are.
  PerNode<DeviceIndex> without_limits = {};
  std::vector<std::vector<NodeId>> groups;  // units of several nodes
  PlacementNumbers numbers;
  std::optional<Unfit> unfit = {};  // nothing fits
};

// The placement keeps to each target's memory and number of parts, unless required nodes make that
// impossible: then `unfit` has what they need. A node whose time is unknown takes none, and a tensor
// of unknown size takes none on a link: the numbers count both.
TargetsPlaced place_on_targets(const Graph& graph, const TargetPlaceRequest& request);

}  // namespace cleave
