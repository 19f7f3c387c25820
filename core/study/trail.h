// Trail: the steps from an earlier result to the present one, found by splitting the present graph
// again with the inputs of the earlier result. core/study/comparison.h says what they are used for.
#pragma once

#include <optional>
#include <vector>

#include "core/base/link.h"
#include "core/condition/op_facts.h"
#include "core/cost/target_times.h"
#include "core/split/options.h"
#include "core/study/comparison.h"
#include "core/support/support_list.h"

namespace cleave {

// The inputs of the earlier result, as far as they are known. Facts are those of the model's
// format.
struct Origin {
  std::optional<bool> is_same_model = {};  // nullopt: unknown, assumed to be another model
  // nullopt: unknown. Then the lists are assumed to be the present ones, and the first step's moves
  // are blamed on them, or on model and lists together.
  std::optional<std::vector<SupportList>> lists = {};
  bool are_same_lists = false;  // same as the present lists; `lists` is then ignored
  SplitOptions options = {};
  Link link = default_link();
  // The present model, read under the earlier settings, if these give it other shapes.
  const Graph* graph = nullptr;
};

struct Present {
  const Graph& graph;
  const OpFacts& facts;
  const std::vector<SupportList>& lists;
  const SplitOptions& options;
  const Partition& partition;
  Link link = default_link();
  const TargetTimes* times = nullptr;  // taken for the earlier result's, too
};

// One step for each change that may have been made; the last one is the present result. The earlier
// settings omit an extension of a subgraph that the present graph does not have. Cost: a split for
// each step but the last.
std::vector<Step> make_trail(const Present& now, const Origin& before);

}  // namespace cleave
