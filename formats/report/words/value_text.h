// Values in a few characters: type and shape.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "core/graph/signature.h"

namespace cleave {

// `float32[1, 64, 112, 112]`; a symbolic dim by its name, an unknown one as ?; `float32[...]` when
// the rank is unknown, `tensor` when the dtype is too; `tuple`, `scalar`, ... for a non-tensor. At
// most 16 dims, then "...". Names are escaped.
std::string type_text(const Graph& graph, ValueId value);

// "(float32, -, bias=float32)"; - is an input that is not a tensor of known dtype.
std::string signature_text(const Signature& signature);

// "Conv", "com.microsoft::Gelu"
std::string op_text(std::string_view domain, std::string_view op);

}  // namespace cleave
