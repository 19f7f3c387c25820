// Parameters of which several parts hold a copy: training must keep the copies equal.
#pragma once

#include <utility>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/boundary.h"

namespace cleave {

struct SharedParameter {
  ValueId parameter;                               // canonical
  std::vector<std::pair<PartId, ValueId>> copies;  // parts in call order, with its name there
};

// The shared parameters in the order of the parameters; aliases are one parameter. Linear in what
// parts hold.
std::vector<SharedParameter> find_shared_parameters(const Graph& graph,
                                                    const Boundaries& boundaries);

}  // namespace cleave
