// Balanced stages: cuts a set of ordered items into stages, one a device, so that the slowest stage
// is as fast as possible, and bounds how far the answer may be from the best possible.
//
// A stage is what one device runs; an item's stage is never later than its successors' stages. The
// comm model combines compute, in and out into a stage's load; the objective is the greatest load.
//
// Method, in this order:
// 1. contraction that keeps the optimum;
// 2. topological orders, each cut optimally by a dynamic program (above 20,000 items on blocks);
// 3. a lower bound from a chain of items and minimum cuts;
// 4. local search with re-cut;
// 5. an exact search over the order's ideals while there are few.
// After Archer et al. 2023 (MTPP) and Tarnawski et al. 2020.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/balance/problem.h"
#include "core/base/progress.h"
#include "core/base/result.h"

namespace cleave {

enum class Effort : std::uint8_t { low, normal, high };

struct BalanceOptions {
  CommModel comm = CommModel::serial;
  bool exact_stages = false;       // use every device; else at most all
  double target = kUnlimited;      // finite: the fewest stages with no load above it
  Effort effort = Effort::normal;  // counted in moves, so that the same input gives the same answer
  std::uint64_t seed = 1;
  double time_limit_seconds = kUnlimited;  // safety stop; see BalanceResult::time_limit_hit
  // reports each search as a task of its own; each may end early
  Progress progress = {};
};

struct CurvePoint {
  std::uint32_t stages = 0;  // at most this many (in order: the first devices)
  double objective = 0;      // kUnlimited: no fitting assignment was found
};

struct BalanceResult {
  std::vector<BalanceStage> stages;     // none is empty
  std::vector<std::uint32_t> stage_of;  // by item
  double objective = 0;
  double bound = 0;  // no assignment is better than this
  double gap = 0;    // objective / bound - 1; 0 when proved optimal
  // What the bound rests on: "ideals" (exact search), "path-mincut", "single-node", "work".
  std::string certificate;
  std::vector<CurvePoint> curve;    // 1 to all devices, at most 4,096
  std::uint32_t enough_stages = 0;  // the fewest on the curve with (about) the same objective
  std::uint64_t moves = 0;          // of the local search
  bool time_limit_hit = false;      // then the answer may differ from run to run
  std::vector<std::string> notes;
};

// Refuses, naming the constraint that does not hold and by how much: an item larger than every
// device, all items larger than all devices, fewer items than exact stages, a target below an
// item's time, more than about 2,000 devices; and when no assignment within the limits was found.
Result<BalanceResult> balance_stages(const BalanceProblem& problem, const BalanceOptions& options);

}  // namespace cleave
