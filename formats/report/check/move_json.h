// Fields that the JSON of checks and diffs share.
#pragma once

#include "core/measures/measures.h"
#include "formats/base/json/text.h"
#include "formats/report/check/checked_node.h"

namespace cleave {

// Writes coverage, acc_subgraphs, cpu_nodes, boundary_bytes, boundary_known and qps into the
// current object; of several targets `targets`, too.
void write_measures(JsonText& json, const Measures& measures);

// Writes node, op, from, to, cause, code, detail and because into the current object. `targets`: the
// names of places.
void write_move(JsonText& json, const CheckedMove& move, const std::vector<std::string>& targets);

}  // namespace cleave
