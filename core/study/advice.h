// Advice: what to implement next. Every gap of the support lists is closed by itself and the models
// are split again; then gaps are closed one after the other, each time the one that gains most.
//
//   now                 4 accelerator subgraphs, 6.1 MiB over the link
//   with Resize alone   2                        3.0 MiB
//   Resize, then Pad    1                        0.2 MiB
//
// No gain is estimated: each number is that of a real split, by all passes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/progress.h"
#include "core/study/outcome.h"
#include "core/support/gaps.h"

namespace cleave {

// One gap closed, and what the models come to then.
struct Remedy {
  Gap gap;
  std::size_t nodes = 0;            // that come to be accepted
  std::vector<std::size_t> models;  // indices of those that have the gap, ascending
  Outcome then;
};

struct Advice {
  Outcome now;
  std::vector<Remedy> each;   // every gap tried, closed by itself, the best first
  std::vector<Remedy> steps;  // gaps closed one after the other; `nodes` are those of the step
  std::size_t untried = 0;    // gaps that were left out, each with no more nodes than those tried
};

struct AdviceOptions {
  Goal goal = Goal::subgraphs;
  std::size_t steps = 5;  // at most; fewer where nothing more is gained
  // Gaps tried in a round at most. Those are tried that have the most nodes, which is a bound on how
  // many nodes closing them brings to the accelerator's side by themselves.
  std::size_t most_tried = 64;
  Progress progress = {};  // told the gaps tried, of those that may be tried
};

// Refuses what split_graph refuses. Cost: a split of the models with the gap, for each gap tried and
// each step.
Result<Advice> advise(std::span<const ModelToSplit> models, const std::vector<SupportList>& lists,
                      const SplitOptions& split, const Link& link, const AdviceOptions& options);

}  // namespace cleave
