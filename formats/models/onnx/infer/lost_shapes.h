// Where shapes are lost: nodes that read values of known shape and make values of unknown shape,
// and why.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "formats/models/onnx/index/links.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/index/type.h"

namespace cleave {

// Notes for the report, at most two: the first such node in the order of execution, with the reason
// and the options that would help; and how many more there are. A symbolic dim of the model's
// inputs counts as known, since --dim binds it. `types` are those of the main graph's values, by
// number. Linear.
std::vector<std::string> lost_shape_notes(const OnnxModel& model, const OnnxLinks& links,
                                          std::span<const OnnxType* const> types);

}  // namespace cleave
