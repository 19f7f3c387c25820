#include "core/lowering/oracle.h"

#include <algorithm>

namespace cleave {

Remedies operator|(const Remedies& one, const Remedies& other) {
  return {.pin_shapes = one.pin_shapes || other.pin_shapes,
          .freeze_values = one.freeze_values || other.freeze_values,
          .constants_inside = one.constants_inside || other.constants_inside,
          .opset = std::max(one.opset, other.opset)};
}

}  // namespace cleave
