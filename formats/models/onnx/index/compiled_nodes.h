// Nodes that a provider of ONNX Runtime compiled before: EPContext of com.microsoft. With embed_mode 0
// a node names a file beside the model that holds what was compiled. Nodes with main_context 0 have
// none: they run in the context of a node of the same source with main_context 1, in the same file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

// The files that these nodes of the main graph name, also in their bodies, and all functions; each
// once, relative to the model's folder. `nodes` are records. Linear.
std::vector<std::string_view> context_files(const OnnxModel& model,
                                            std::span<const std::uint32_t> nodes);
// Those of the whole model.
std::vector<std::string_view> context_files(const OnnxModel& model);

// Sets of nodes that share contexts, and so must be in one file. Linear.
std::vector<std::vector<NodeId>> nodes_of_contexts(const OnnxModel& model, const Graph& graph);

struct MissingContext {
  NodeId node, context;  // `node` runs in the context of `context`
};
// The first of these nodes whose context is not among them. Linear in the model.
std::optional<MissingContext> missing_context(const OnnxModel& model, const Graph& graph,
                                              std::span<const NodeId> nodes);

}  // namespace cleave
