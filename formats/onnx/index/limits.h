// Limits of ONNX files that need a look inside a record.
#pragma once

#include <string_view>

#include "formats/onnx/index/fields.h"

namespace cleave {

// Refuses a tensor's TypeProto with too many dims: before every node that reads the value has a
// copy of them.
void check_onnx_dims(std::string_view type, OnnxWalk& walk);

}  // namespace cleave
