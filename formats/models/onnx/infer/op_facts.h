// Facts from ONNX's schema registry about operators, for support rules.
#pragma once

#include "core/support/support.h"

namespace cleave {

// Defaults of attributes and versions of schemas.
OpFacts onnx_op_facts();

}  // namespace cleave
