// What was measured, as tables; and whether the targets are met.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/bench_steps.h"

namespace cleave::bench {

// A line a step: ns a node for each size, and how its time grew from each size to the next.
void print_table(const std::string& kind, const std::vector<Measured>& sizes);

// A line for each target, met or missed; true when all are met. `sizes` in ascending order.
bool print_targets(const std::string& kind, const std::vector<Measured>& sizes);

}  // namespace cleave::bench
