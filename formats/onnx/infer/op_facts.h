// What ONNX's schema registry knows about operators, for support rules.
#pragma once

#include "core/support/support.h"

namespace cleave {

// Defaults of attributes and versions of schemas.
OpFacts onnx_op_facts();

}  // namespace cleave
