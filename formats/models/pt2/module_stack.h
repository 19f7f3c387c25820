// The modules around a node, as torch records them: "key,path,type;key,path,type", outermost first.
#pragma once

#include <string>
#include <string_view>

namespace cleave {

// The dotted path of the innermost module: "layers.0.attn"; "" for the model itself. Also
// understands the older form "L['self'].layers.0.attn". A view into `stack`.
std::string_view innermost_scope(std::string_view stack);

}  // namespace cleave
