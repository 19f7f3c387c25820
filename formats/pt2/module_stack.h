// The modules around a node, as torch notes them: "key,path,type;key,path,type", outermost first.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// The dotted path of the innermost module: "layers.0.attn"; "" for the model itself. Torch's older
// way to write it, "L['self'].layers.0.attn", is understood. A view into `stack`.
std::string_view innermost_scope(std::string_view stack);

}  // namespace cleave
