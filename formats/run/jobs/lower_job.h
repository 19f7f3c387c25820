// Lowers a model: real backends compile its accelerator partitions. If they refuse a partition, the
// culprits are searched for, and the model is split again without them, until nothing is refused.
#pragma once

#include <string>
#include <vector>

#include "formats/base/text/fault.h"
#include "formats/run/jobs/split_job.h"
#include "formats/run/lowering/lower_outcome.h"
#include "formats/run/lowering/lowering_pool.h"
#include "formats/run/lowering/part_search.h"

namespace cleave {

struct LowerOptions {
  PoolOptions pool = {};
  SearchSettings search = {};
  bool until_clean = false;
  std::size_t most_rounds = 20;
  std::string findings_folder = {};   // where a folder for each finding is made; "": nowhere
  std::string artefacts_folder = {};  // where what was compiled is kept; "": nowhere
  // What is kept is for deploy(): of inputs that ONNX Runtime makes one, a compiled partition reads one.
  bool deploys = false;
};

// Adds what was learned to a list.
void add_learned(SupportList& list, const Learned& learned);

// The split of the same request, with what was learned added to each list, or to those of its target.
Result<SplitJob, Fault> split_without(const SplitJob& split, const Learned& learned);

// Lowers the partitions of the split, and runs further rounds until all partitions lower, no new
// rule is learned, or the limit on rounds is reached; without `until_clean` only one round. Each
// later round is the request of the split, with the learned rules. Of several targets each partition
// goes to the backends that name its target; what they refuse is denied for that target. The model must be ONNX. The
// outcome does not depend on the number of jobs, except for times. All that is given must outlive
// it.
Result<LowerOutcome, Fault> lower_model(const SplitJob& split, const std::vector<Backend>& backends,
                                        const LowerOptions& options);

}  // namespace cleave
