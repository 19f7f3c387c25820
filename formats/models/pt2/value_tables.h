// Reads a graph's tables of values: types, sizes and strides by name.
//
//   {"x": {"dtype": 7, "sizes": [{"as_int": 2}, {"as_expr": {"expr_str": "Symbol('s0')", ...}}], ...}}
#pragma once

#include <cstdint>

#include "formats/models/pt2/arguments.h"

namespace cleave {

// Reads the table at the cursor into the program's values; `table` is its number in
// kPt2ValueTables.
void read_value_table(const Pt2Reading& reading, std::uint8_t table);

}  // namespace cleave
