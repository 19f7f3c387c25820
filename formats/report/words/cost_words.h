// Descriptions of cost files in reports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/base/json/text.h"
#include "formats/lists/costs/model_costs.h"

namespace cleave {

// `p.json (an ONNX Runtime profile, median of 5 runs): 98.2% of 31.7 ms matched (96.1% by name, 2.1%
// by order), 140 of 159 nodes, 12 of them fused into others`
std::string costs_text(const ModelCosts& costs);

// The largest times without a node: `"ReorderOutput" 43 us, "Transpose" 12 us and 3 more`; empty
// when there are none.
std::string unmatched_text(const ModelCosts& costs);

// An object of the list "costs" of reports.
void write_costs(JsonText& json, std::string_view target, const ModelCosts& costs);

}  // namespace cleave
