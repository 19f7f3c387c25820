// How a split program is called: JSON for the manifest, for drivers of the partitions.
//
//   order     the partitions, each with `inputs` and `outputs`, names of values in the order of its
//             arguments and results, and `writes_inputs`, those that it writes in place
//   inputs    the program's own, in flat order; null for one that is a constant
//   outputs   the program's own: a value's name, or the constant
//   state     values that the caller keeps: a buffer or parameter that several partitions use
//   mutations what is written after all partitions have run: `target` becomes `value`
#pragma once

#include <string>
#include <vector>

#include "formats/models/pt2/model.h"
#include "formats/models/pt2/write/split_plan.h"

namespace cleave {

// `names` are those of the partitions, `files` their files, `models` their models within a bundle;
// `models` is empty when each partition has its own file.
struct Pt2ChainNames {
  const std::vector<std::string>& names;
  const std::vector<std::string>& files;
  const std::vector<std::string>& models;
};
std::string pt2_chain_json(const Pt2Model& model, const Pt2Plan& plan, const Pt2ChainNames& names);

}  // namespace cleave
