// The graph as ONNX Runtime changes it before it asks a provider which nodes it takes: support lists
// that are made from its documents speak of that graph.
//
// - BatchNormalization becomes part of the Conv before it.
// - Identity, and Dropout outside training, are removed.
// - Operators with a body and without a kernel are replaced (function_bodies.h).
//
// What it computes before the model runs is known with --fold write.
#pragma once

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"

namespace cleave {

inline constexpr int kMostRemovedInARow = 64;

// The node that this one becomes a part of, or, if it is removed, that makes what it passes on: where
// an input of the model does, the first that reads it. kNone: it stays, or nothing is left of it. At
// most kMostRemovedInARow nodes are looked through.
NodeId onnx_runtime_host(const Graph& graph, NodeId node);

// Adds to the facts what the runtime does.
void add_runtime_view(OpFacts& facts);

}  // namespace cleave
