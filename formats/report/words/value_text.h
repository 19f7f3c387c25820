// Values in a few characters: what type, and of what shape.
#pragma once

#include <string>

#include "core/graph/graph.h"

namespace cleave {

// `float32[1, 64, 112, 112]`; a symbolic dim by its name, an unknown one as ?; `float32[...]` when
// the rank is unknown, `tensor` when the dtype is too; `tuple`, `scalar`, ... for what is no
// tensor. At most 16 dims, then "...". Names are escaped.
std::string type_text(const Graph& graph, ValueId value);

}  // namespace cleave
