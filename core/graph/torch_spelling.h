// The names of torch's operators that people use: `torch.ops.aten.conv2d.default` in a graph is
// also `aten.conv2d.default` and, for every overload, `aten.conv2d`, `torch.ops.aten.conv2d` or
// `aten::conv2d`. Globs may leave out `torch.ops.`, too.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace cleave {

// The names, besides the op itself, under which a rule may list an operator without a domain. All
// are empty for an op that is not in torch.ops.
std::array<std::string, 7> torch_spellings(std::string_view op);

// True when `domain` and `name`, as a rule writes them, mean the operator `op` of a graph: "aten"
// and "conv2d", or "" and "aten.conv2d".
bool is_torch_spelling(std::string_view domain, std::string_view name, std::string_view op);

// "aten.conv2d.default" of "torch.ops.aten.conv2d.default"; "" for other ops.
std::string_view torch_path(std::string_view op);

}  // namespace cleave
