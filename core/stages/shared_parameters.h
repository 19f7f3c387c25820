// Parameters that several parts hold a copy of: what training must keep equal.
#pragma once

#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/boundary.h"

namespace cleave {

struct SharedParameter {
  ValueId parameter;                               // canonical
  std::vector<std::pair<PartId, ValueId>> copies;  // parts in call order, and its name there
};

// In the order of the parameters; names of one parameter are one. Linear in what parts hold.
std::vector<SharedParameter> find_shared_parameters(const Graph& graph,
                                                    const Boundaries& boundaries);

}  // namespace cleave
