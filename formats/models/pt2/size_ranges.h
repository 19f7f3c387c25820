// Ranges of symbols: the sizes that torch.export made the program for. torch refuses to run it with others.
#pragma once

#include "formats/base/json/fields.h"
#include "formats/models/bind/shape_bindings.h"
#include "formats/models/pt2/program.h"

namespace cleave {

// Adds a fault for each symbol whose size in `bound` is outside its range.
void report_sizes_out_of_range(const Pt2Program& program, const ShapeBindings& bound,
                               JsonFaults& faults);

}  // namespace cleave
