// In a few characters: the type of a value, a signature, an op, an attribute. What is not known of a
// value's size, and the options that state it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/graph/attribute.h"
#include "core/graph/graph.h"
#include "core/graph/node_lookup.h"
#include "core/measures/preview.h"

namespace cleave {

// `float32[1, 64, 112, 112]`; a symbolic dim by its name, an unknown one as ?; `float32[...]` when
// the rank is unknown, `tensor` when the dtype is too; `tuple`, `scalar`, ... for a non-tensor. At
// most 16 dims, then "...". Names are escaped.
std::string type_text(const Graph& graph, ValueId value);

// "(float32, -, bias=float32)"; - is an input that is not a tensor of known dtype.
std::string signature_text(const Signature& signature);

// `3`, `true`, `"SAME_UPPER"`, `[1, 1, 2, 2]`; of a list at most 8 items, of a string at most 60
// characters; `...` for what is not read, such as a tensor.
std::string attribute_text(const AttributePools& pools, const Attribute& attribute);

// One line: `input "n" is a tuple: lowering may stumble over it`; `bytes of "x" float32[N, 3] are
// not known: give --dim N=SIZE`.
std::string hazard_text(const Graph& graph, const Hazard& hazard);

// What makes the size of a tensor known: the option `--dim N=SIZE`, or advice if no option does.
std::string size_mend(const Graph& graph, ValueId value);

// `--dim N=SIZE --dim M=SIZE` for the named dims of the graph's inputs, at most five; then
// `--input-shape x=1,3,224,224` for inputs with a dim that has no name, whose sizes `likely` knows; of one that
// it does not know, SIZE.
std::string dim_options(
    const Graph& graph,
    const std::function<std::optional<std::int64_t>(ValueId, std::size_t)>& likely);

}  // namespace cleave
