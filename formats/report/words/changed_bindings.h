// What differs between the shapes that two runs read a model under.
#pragma once

#include <string>
#include <vector>

#include "formats/model/shape_bindings.h"

namespace cleave {

// The same of what shapes a model was read under: `dim N: 8, was not given`.
std::vector<std::string> changed_bindings(const ShapeBindings& before, const ShapeBindings& now);

}  // namespace cleave
