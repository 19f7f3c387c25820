// Balanced stages: cut a set of ordered items into stages, one a device, so that the slowest stage
// is as fast as can be; and how far from the best possible the answer may be.
//
// A stage is what one device runs; a successor's stage is never earlier than its item's. A stage's
// load is what its device and the comm model make of compute, in and out; the objective is the
// greatest load.
//
// Method, in the order in which it runs: contraction that keeps the optimum; topological orders,
// each cut optimally by a dynamic program; a lower bound from a chain of items and minimum cuts;
// local search with re-cut; an exact search over the order's ideals while they are few. Above
// 20,000 items the dynamic program works on blocks. After Archer et al. 2023 (MTPP) and Tarnawski
// et al. 2020.
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
  Progress progress = {};                  // told of each search by itself; each may end early
};

struct CurvePoint {
  std::uint32_t stages = 0;  // at most so many (in order: the first so many devices)
  double objective = 0;      // kUnlimited: none found that fits
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
  std::uint32_t enough_stages = 0;  // the fewest of the curve with (about) the same objective
  std::uint64_t moves = 0;          // of the local search
  bool time_limit_hit = false;      // the answer may not repeat
  std::vector<std::string> notes;
};

// Refuses, saying which constraint does not hold and by how much: an item larger than every
// device, all items larger than all devices, fewer items than exact stages, a target below an
// item's time; when no assignment within the limits was found; and more than about 2,000 devices.
Result<BalanceResult> balance_stages(const BalanceProblem& problem, const BalanceOptions& options);

}  // namespace cleave
