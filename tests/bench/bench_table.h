// The measurements as tables, and whether the targets are met.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/bench_steps.h"

namespace cleave::bench {

// One line per step: ns per node for each size, and the growth of its time from each size to the
// next.
void print_table(const std::string& kind, const std::vector<Measured>& sizes);

// A line for each target, met or missed; true when all are met. `sizes` in ascending order.
bool print_targets(const std::string& kind, const std::vector<Measured>& sizes);

}  // namespace cleave::bench
