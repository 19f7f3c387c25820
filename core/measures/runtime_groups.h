// The partitions that a runtime makes of the nodes that a provider takes, in the graph that it shows to
// providers, for lists that are about that graph (SupportList::view).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/support/support_list.h"

namespace cleave {

struct RuntimeGroups {
  std::size_t nodes =
      0;  // of the runtime's main graph; a node with a body of ONNX counts as its body's nodes
  std::size_t accepted = 0;  // of these
  std::size_t partitions = 0;
};

// `supported`: what the lists accept of the model's nodes. Method: a group grows as long as nodes that the
// provider takes are ready (ONNX Runtime's CreateSupportedPartitionNodeGroups), so that a node is in the group
// after as many changes from the provider to others as the longest way to it has. nullopt where no list is about
// a runtime's graph. As linear as matching the lists.
std::optional<RuntimeGroups> runtime_groups(const Graph& graph, const NodeSet& supported,
                                            std::span<const SupportList> lists,
                                            const OpFacts& facts);

}  // namespace cleave
