// A split for several targets, such as an NPU and a GPU beside the CPU.
//
// Targets are asked in order, each for what is left (--place order): the passes of one accelerator run
// once a target, with every other node as the other side. So a group is on one device, and data that
// is no tensor crosses between no two devices. Rounds (core/devices/rounds.h) make parts of it.
//
//   npu takes Conv, gpu takes Conv and Resize:
//   Conv -> Resize -> Conv -> NonMaxSuppression       npu {Conv} gpu {Resize} npu {Conv} cpu {...}
//
// A part that is too small for its target, or one too many, goes to the next target that takes all
// of its nodes, else to the CPU; then the rounds are made again.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/split/split.h"

namespace cleave {

// The name of the target where none is named.
inline constexpr std::string_view kOnlyTarget = "acc";
// More than any machine has.
inline constexpr std::size_t kMostTargets = 16;

// By target: nodes that PlaceBy::cost leaves on it, if its lists take them. Fewer than targets: the
// others have none.
using RequiredOn = std::span<const std::vector<NodeId>>;

// The split for input.targets, of which there are at least two. Targets whose lists accept no node
// take no part: if one is left, the split is the one for it alone. Refuses options that are for one
// accelerator only. Linear in nodes + edges for each target, and for each time that parts move on.
Result<Split> split_for_targets(const SplitInput& input, const SplitOptions& options,
                                const Progress& progress = {}, RequiredOn required_on = {});

// True when the target takes all of these nodes: its lists accept each, and a match of a pattern lies
// within them as a whole or not at all.
bool takes_all(const Support& support, std::span<const NodeId> nodes);

}  // namespace cleave
