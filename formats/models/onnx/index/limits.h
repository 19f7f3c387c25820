// Limits on ONNX files that require looking inside a record.
#pragma once

#include <string_view>

#include "formats/models/onnx/index/fields.h"

namespace cleave {

// Refuses a tensor's TypeProto with too many dims, before every node that reads the value copies
// them, and one with the name of a dim beyond the limits.
void check_onnx_dims(std::string_view type, OnnxWalk& walk);

}  // namespace cleave
