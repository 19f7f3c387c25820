// Scopes, the dotted paths of the modules that nodes came from, and the calls of a module.
//
// A module may be called several times. A new *call* of a scope begins where data that has left the
// scope comes back into it, at each node that is a call of the module itself, and where the scope
// has another call number: torch.export writes `layer@1` for the second call of `layer`. The scope
// `layer` includes all its calls.
#pragma once

#include <string_view>
#include <vector>

#include "core/graph/graph.h"

namespace cleave {

// The node's scope; for a module call without a scope, the module.
std::string_view scope_of(const Graph& graph, NodeId node);

// True for `outer` itself and the scopes inside it; "" is the whole model.
bool is_inside(std::string_view scope, std::string_view outer);

// The child of `outer` on the path to `scope`: "0" for "encoder.layer.0.attn" inside
// "encoder.layer". Empty for the scope itself.
std::string_view child_of(std::string_view scope, std::string_view outer);

struct ScopeCall {
  NodeId first, last;
};

// The calls of a scope in model order; none when no node is in it. Linear.
std::vector<ScopeCall> find_calls(const Graph& graph, std::string_view scope);

}  // namespace cleave
