// The JSON documents of what is written: a part as a program of its own, and the root, which is the
// whole program with its nodes in modules, one a part, so that torch.export.unflatten gives a
// submodule for each.
#pragma once

#include <string>
#include <vector>

#include "formats/pt2/model.h"
#include "formats/pt2/write/split_plan.h"

namespace cleave {

// The program of a part. Its arguments are a flat tuple in the order of `part.inputs`, its results
// one in the order of `part.outputs`.
std::string pt2_part_document(const Pt2Model& model, const Pt2Part& part);

// `modules`: by part of the partition, the module's name; `names`: the partition's. Nodes stand in
// the order of the parts.
std::string pt2_root_document(const Pt2Model& model, const Pt2Plan& plan,
                              const std::vector<std::string>& modules,
                              const std::vector<std::string>& names);

}  // namespace cleave
