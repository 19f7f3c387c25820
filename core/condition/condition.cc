#include "core/condition/condition.h"

namespace cleave {

bool TypeSet::accepts(const Value& value) const {
  if (value.is_tensor()) return (dtypes >> static_cast<unsigned>(value.dtype) & 1U) != 0;
  return (unsigned{value_types} >> static_cast<unsigned>(value.type) & 1U) != 0;
}

}  // namespace cleave
