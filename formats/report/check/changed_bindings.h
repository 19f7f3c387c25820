// Compares the shapes that two runs gave to a model's inputs.
#pragma once

#include <string>
#include <vector>

#include "formats/models/bind/shape_bindings.h"

namespace cleave {

// One line for each difference: `dim N: 8, was not given`.
std::vector<std::string> changed_bindings(const ShapeBindings& before, const ShapeBindings& now);

}  // namespace cleave
