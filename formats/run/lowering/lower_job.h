// Lowers a model: real backends compile its accelerator partitions. If they refuse a partition, the
// culprits are searched for, and the model is split again without them, until nothing is refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/link.h"
#include "core/split/split.h"
#include "formats/run/lowering/lower_outcome.h"
#include "formats/run/lowering/lowering_pool.h"
#include "formats/run/lowering/part_search.h"

namespace cleave {

struct LowerOptions {
  SplitOptions split = {};
  PoolOptions pool = {};
  SearchSettings search = {};
  bool until_clean = false;
  std::size_t most_rounds = 20;
  std::string findings_folder = {};   // where a folder for each finding is made; "": nowhere
  std::string artefacts_folder = {};  // where what was compiled is kept; "": nowhere
};

// The input of lowering; all of it must outlive the job and its outcome.
struct LowerInput {
  const LoadedModel& model;
  const std::vector<SupportList>& lists;
  const OpFacts& facts;
  const std::vector<Backend>& backends;
  Link link = default_link();  // used to value subgraphs
};

// The lists, with the learned deny rules added to each.
std::vector<SupportList> with_denied(const std::vector<SupportList>& lists,
                                     const std::vector<Rule>& learned);

// Runs rounds until all partitions lower, no new rule is learned, or the limit on rounds is
// reached; without `until_clean` only one round. The model must be ONNX. The outcome does not
// depend on the number of jobs, except for times.
Result<LowerOutcome, LowerFault> lower_model(const LowerInput& input, const LowerOptions& options);

}  // namespace cleave
