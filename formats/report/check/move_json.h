// Fields that the JSON of checks and diffs share.
#pragma once

#include "core/measures/measures.h"
#include "formats/json/text.h"
#include "formats/report/check/checked_node.h"

namespace cleave {

// coverage, acc_subgraphs, cpu_nodes, boundary_bytes, boundary_known, qps: into the object begun.
void write_measures(JsonText& json, const Measures& measures);

// node, op, from, to, cause, code, detail, because: into the object begun.
void write_move(JsonText& json, const CheckedMove& move);

}  // namespace cleave
