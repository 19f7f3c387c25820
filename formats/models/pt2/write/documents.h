// The JSON documents that are written: a partition as a program of its own, and the root, which is
// the whole program with its nodes in modules, one per partition, so that torch.export.unflatten
// gives a submodule for each.
#pragma once

#include <string>
#include <vector>

#include "formats/models/pt2/model.h"
#include "formats/models/pt2/write/split_plan.h"

namespace cleave {

// The program of a partition. Its arguments are a flat tuple in the order of `part.inputs`, its
// results one in the order of `part.outputs`.
std::string pt2_part_document(const Pt2Model& model, const Pt2Part& part);

// `modules` are the names of the partitions' modules, `names` those of the partitions. Nodes are in
// the order of the partitions.
std::string pt2_root_document(const Pt2Model& model, const Pt2Plan& plan,
                              const std::vector<std::string>& modules,
                              const std::vector<std::string>& names);

}  // namespace cleave
