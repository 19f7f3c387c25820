// Advice: what to implement next. First each gap of the support lists is closed by itself and the
// models are split again. Then gaps are closed one after the other, each time the one that gains
// most.
//
//   now                 4 accelerator subgraphs, 6.1 MiB over the link
//   with Resize alone   2                        3.0 MiB
//   Resize, then Pad    1                        0.2 MiB
//
// Gaps of one op in several types are closed together. Where nodes of a gap are still refused once
// it is closed (a deny rule is lifted, and no rule names the op), the second gap is closed with it.
// Where no gap gains by itself, a few are sought that gain together.
//
// No gain is estimated: each number comes from a real split with all passes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/study/outcome.h"
#include "core/support/gaps.h"

namespace cleave {

// One closed gap, and the outcome of the models with it closed.
struct Remedy {
  Gap gap;
  std::vector<Gap> with;            // closed together with it
  std::size_t nodes = 0;            // newly accepted
  std::vector<std::size_t> models;  // indices of the models with the gap, ascending
  Outcome then;
};

// Nodes of an op that no list accepts once all steps are done.
struct OpOutOfReach {
  std::string domain, op;
  std::size_t nodes = 0;
  std::size_t unknown_flops = 0;  // of these nodes
  double flops = 0;               // of the others
  double bytes = 0;               // that they read and write, where it is known
};

struct Advice {
  Outcome now;
  std::vector<Remedy> each;   // every gap tried, closed by itself, the best first
  std::vector<Remedy> steps;  // gaps closed one after the other; `nodes` are those of the step
  std::size_t untried = 0;    // gaps left out; each has at most as many nodes as those tried
  std::vector<OpOutOfReach> out_of_reach;  // most FLOPs first, then most bytes
};

struct AdviceOptions {
  Goal goal = Goal::subgraphs;
  std::size_t steps = 5;  // at most; fewer when no step gains any more
  // The most gaps tried in a round. Those with the most nodes are tried: this bounds how many nodes
  // closing a gap can bring to the accelerator's side by itself.
  std::size_t most_tried = 64;
  Progress progress = {};  // counts gaps tried, out of those that may be tried
};

// Refuses what split_graph refuses. Cost: for each gap tried and each step, a split of the models
// that have the gap.
Result<Advice> advise(std::span<const ModelToSplit> models, const std::vector<SupportList>& lists,
                      const SplitOptions& split, const Link& link, const AdviceOptions& options);

}  // namespace cleave
