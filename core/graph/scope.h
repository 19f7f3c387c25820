// Scopes: the dotted paths of the modules that nodes came from, "encoder.layer.0".
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/graph/graph.h"

namespace cleave {

// The node's scope; for a module call without a scope, the module.
std::string_view scope_of(const Graph& graph, NodeId node);

// True for `outer` itself and the scopes inside it; "" is the whole model.
bool is_inside(std::string_view scope, std::string_view outer);

// The child of `outer` on the path to `scope`: "0" for "encoder.layer.0.attn" inside
// "encoder.layer". Empty for the scope itself.
std::string_view child_of(std::string_view scope, std::string_view outer);

// The length of the start of `scope` that names `outer`, with or without call numbers ("layer@1" is the
// second call of "layer"); nullopt if `scope` is not inside `outer`.
std::optional<std::size_t> length_inside(std::string_view scope, std::string_view outer);

}  // namespace cleave
