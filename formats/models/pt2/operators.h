// Torch's own operators, from a table made from torch's schemas: names and defaults of arguments,
// which arguments they write, and which ones their results share memory with. Operators that a user
// registered are not included.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/graph/attribute.h"

namespace cleave {

struct TorchArgument {
  std::string_view name;
  std::string_view alias;         // the set of values that share memory; "": none
  std::string_view default_text;  // as in the table; "": none
  bool is_written = false;
};

struct TorchOperator {
  std::vector<TorchArgument> arguments;
  std::vector<std::string_view> results;  // the alias set of each; "": memory of its own
  bool is_random = false;

  const TorchArgument* find(std::string_view argument) const;
};

// The operator of a target, "torch.ops.aten.add.Tensor". O(log n).
std::optional<TorchOperator> find_torch_operator(std::string_view target);

// The default of an argument in the form that rules compare: numbers, texts, lists; true and false
// are 1 and 0. nullopt if there is none, or it is None.
std::optional<AttributeValue> torch_default(std::string_view target, std::string_view argument);

}  // namespace cleave
