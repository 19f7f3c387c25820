// The graph as ONNX Runtime changes it before it asks a provider which nodes it takes: support lists
// that are made from its documents speak of that graph.
//
// - BatchNormalization becomes part of the Conv before it.
// - Identity, and Dropout outside training, are removed.
// - Of equal nodes with equal inputs one stays (equal_values.h).
// - Operators with a body and without a kernel are replaced (function_bodies.h).
//
// What it computes before the model runs is known with --fold write.
#pragma once

#include <cstdint>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

inline constexpr int kMostRemovedInARow = 64;

// Which nodes the runtime merges.
struct MergedNodes {
  PerNode<NodeId> kept;  // see kept_nodes(); empty: none is merged
  PerValue<std::uint32_t>
      readers;  // of a kept value: the kept nodes that read it, or one that stands for it
  PerValue<ValueId> values;  // that of the node that is kept
};

// Linear. `model` is that of the graph.
MergedNodes merged_nodes(const Graph& graph, const OnnxModel& model);

// The node that this one becomes a part of, or stands for this one, or, if it is removed, that makes what it
// passes on: where an input of the model does, the first that reads it. kNone: it stays, or nothing is left of it. At
// most kMostRemovedInARow nodes are looked through.
NodeId onnx_runtime_host(const Graph& graph, NodeId node, const MergedNodes& merged = {});

// Adds to the facts what the runtime does. `model` outlives the facts; null: nodes of the graph are not merged.
void add_runtime_view(OpFacts& facts, const OnnxModel* model = nullptr);

}  // namespace cleave
