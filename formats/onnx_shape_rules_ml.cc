#include "formats/onnx_shape_rules.h"

namespace cleave {

std::span<const OnnxShapeRuleEntry> onnx_ml_rules() { return {}; }

}  // namespace cleave
