// Trail: the steps between an earlier result and the present one, made by splitting the present
// graph again with what the earlier result was made from. See core/study/comparison.h for what they are
// good for.
#pragma once

#include <optional>
#include <vector>

#include "core/base/link.h"
#include "core/split/options.h"
#include "core/study/comparison.h"
#include "core/support/op_facts.h"
#include "core/support/support_list.h"

namespace cleave {

// What the earlier result was made from, as far as it is known. Facts are of the model's format.
struct Origin {
  std::optional<bool> is_same_model = {};  // nothing: not known, taken to be another
  // Nothing: not known. Then the lists are taken to be those of now, and what the first step shows
  // is blamed on them, or on model and lists together.
  std::optional<std::vector<SupportList>> lists = {};
  bool are_same_lists = false;  // lists of now; then `lists` is not looked at
  SplitOptions options = {};
  Link link = default_link();
  // The model as it is now, read under the earlier settings, where these give it other shapes.
  const Graph* graph = nullptr;
};

struct Present {
  const Graph& graph;
  const OpFacts& facts;
  const std::vector<SupportList>& lists;
  const SplitOptions& options;
  const Partition& partition;
  Link link = default_link();
};

// One step for each change that can have been made; the last one is the present result. An
// extension of a subgraph that the present graph does not have is left out of the earlier settings.
// Cost: a split for each step but the last.
std::vector<Step> make_trail(const Present& now, const Origin& before);

}  // namespace cleave
