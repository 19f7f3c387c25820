// Whether a file may be ONNX, judged by its first fields.
#pragma once

#include <string_view>

namespace cleave {

// True when the bytes may be an ONNX model: a protobuf whose first fields are a model's.
bool looks_like_onnx(std::string_view bytes);

}  // namespace cleave
