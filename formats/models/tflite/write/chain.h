// How a split model is called: JSON for the manifest, for drivers of the partitions. The form is
// that of torch.export programs (pt2/write/chain.h):
//
//   order     the partitions, each with `inputs` and `outputs`, names of values in the order of its
//             file's; `variables`, those that it keeps itself
//   inputs    the model's own, in order
//   outputs   the model's own: names of values, of which some may be inputs
//   state     values that the caller keeps: variables that several partitions use
//   mutations what the state becomes after all partitions have run
//   init      the file that makes the state's first values, and their names
//   signature the names that the model's signature gives its inputs and outputs
//   open      values whose size may change: resize the inputs that read them before they run
#pragma once

#include <string>
#include <vector>

#include "formats/models/tflite/write/split_plan.h"

namespace cleave {

struct TfliteChainNames {
  const std::vector<std::string>& names;  // of the partitions
  const std::vector<std::string>& files;
  std::string init_file;                 // empty: there is none
  std::vector<std::uint32_t> init = {};  // variables, in the order of that file's outputs
};

std::string tflite_chain_json(const TfliteModel& model, const TflitePlan& plan,
                              const TfliteChainNames& names);

}  // namespace cleave
