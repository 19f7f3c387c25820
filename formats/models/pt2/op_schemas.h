// What a user states of operators of his own, in torch's words, one a line; torch prints it as
// `torch.ops.mylib.scale_.default._schema`:
//
//   mylib::scale_(Tensor(a!) self, float by) -> Tensor(a!)      # writes `self`, and returns it
//   mylib::shift(Tensor x) -> Tensor                            # writes nothing
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

// The schema as a line of the table of torch's operators (scripts/dev/torch_operators.py), without
// defaults. The error says what is wrong with it.
Result<std::string> operator_line(std::string_view schema);

// Adds the operators of the file to those that find_torch_operator() knows, for the whole process: to be
// called before a model is read. Refuses lines that are no schemas, and operators of torch, whose
// effects are known.
Status<Diagnostics> state_torch_operators(const std::string& path);

// The line of an operator that was stated, "mylib.shift.default"; empty if none was.
std::string_view stated_operator_line(std::string_view name);

}  // namespace cleave
