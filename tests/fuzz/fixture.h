// The model that lists, maps, tables and baselines are tried on.
#pragma once

#include "formats/models/models.h"

namespace cleave::fuzz {

// Six nodes with attributes, a keyword, a list of inputs, a size, a module's parameter, and a
// dictionary as output. Read once.
const LoadedModel& fixture();

}  // namespace cleave::fuzz
