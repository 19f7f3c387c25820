// Small balance problems written as text, for tests.
#pragma once

#include <string>
#include <string_view>

#include "core/stages/balance.h"

namespace cleave {

// One item per line, "name time", then what it reads: "name time < producer producer:cost". The
// cost is that of the producer's value; the last one given counts; the default is 1. After "!": the
// item's own bytes; after "=": those of its value; after "#": its colour.
//   a 3 !100 =8
//   b 2 < a:0.5
BalanceProblem balance_problem(std::string_view text);

// "a b | c | d": the items of each stage.
std::string stages_text(const BalanceProblem& problem, const BalanceResult& result);

}  // namespace cleave
