// Inlines calls of a model's own functions: the nodes of the function take the call's place, with the
// attributes that the call gives. Lists, which judge operators, then see what is inside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "formats/models/onnx/index/model.h"

namespace cleave {

struct OnnxInlined {
  std::size_t calls = 0;
  std::vector<std::string> kept;  // for each function that stays a call: why
};

// In the main graph; calls in bodies of nodes stay. Names inside become "CALL/NAME", with a number where
// that is taken. Functions may call others, in no cycle (checked by the reader). Linear in the nodes of each
// level of calls; of more than 100 levels the rest stays. nullopt: the model would have more than
// `most_nodes`, which is counted first, in a time linear in the file, and again as it grows.
std::optional<OnnxInlined> inline_functions(OnnxModel& model, std::uint64_t most_nodes);

}  // namespace cleave
