// The names that people have for torch's operators: `torch.ops.aten.conv2d.default` in a graph is
// `aten.conv2d.default` and, for every overload, `aten.conv2d`, `torch.ops.aten.conv2d` or
// `aten::conv2d`.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace cleave {

// The names of a graph's operator without a domain: those a rule may have besides the op itself.
// Empty ones where it is none of torch.ops.
std::array<std::string, 5> torch_spellings(std::string_view op);

// True when `domain` and `name`, as a rule has them, mean the operator `op` of a graph: "aten" and
// "conv2d", or "" and "aten.conv2d".
bool is_torch_spelling(std::string_view domain, std::string_view name, std::string_view op);

}  // namespace cleave
