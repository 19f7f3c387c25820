// Option trials: which one option of a split would change most, each tried by a split made with it.
//
//   now                        66 accelerator subgraphs
//   --fold write               34
//   --min-acc-module-size 2    60
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/measures/outcome.h"

namespace cleave {

struct OptionTrial {
  enum class Kind : std::uint8_t {
    fold,   // nodes that compute what is known become constants
    opset,  // rules are asked as if the model were of a newer opset
    extend,
    host_shapes,
    allow_non_tensor,
    start,
    min_acc_size,
    place_by_cost,
    keep,  // the most valuable accelerator subgraphs only
  };
  Kind kind = Kind::fold;
  std::size_t min_acc_size = 0;  // of that kind
  std::size_t most_kept = 0;     // of the kind keep
  std::int64_t opset = 0;        // of that kind
  Outcome then = {};
  bool gains = false;  // see try_options()
};

struct OptionTrials {
  Outcome now;
  std::vector<OptionTrial> trials;  // the best first

  // The best trial; null when none gains.
  const OptionTrial* best() const {
    return trials.empty() || !trials.front().gains ? nullptr : &trials.front();
  }
};

// Tries each option that `options` does not have. `folded` are the models with known nodes folded;
// empty: folding is not tried.
//
// A trial gains when it takes at least 3% less time, where times are known. Else it must not take more
// than 1% of the accelerator's work off it, and must bring 10% of the work to it, or give fewer
// accelerator subgraphs, or as many and 5% fewer bytes over the link. The best is by the same: less
// time; else who brings work first, then fewest subgraphs, bytes, and most nodes on the accelerator.
// None gains that takes required nodes off the accelerator. Refuses what split_graph refuses.
//
// A newer opset is tried where rules fail on the opset alone: the lowest that such a rule takes, the
// four newest of them. The nodes stay as they are, so an operator that a converter writes in another way
// counts as it is. Placement by cost is tried where all times are known. Of accelerator subgraphs, those are
// kept that have 99% of the work, and one more. Minimum sizes are tried from the smallest on, as long as
// work stays.
//
// Cost: one split a model for each trial, of which there are at most 36.
Result<OptionTrials> try_options(std::span<const ModelToSplit> models,
                                 std::span<const ModelToSplit> folded,
                                 const std::vector<SupportList>& lists, const SplitOptions& options,
                                 const Link& link);

}  // namespace cleave
