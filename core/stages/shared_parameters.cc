#include "core/stages/shared_parameters.h"

#include <algorithm>

namespace cleave {

std::vector<SharedParameter> find_shared_parameters(const Graph& graph,
                                                    const Boundaries& boundaries) {
  struct Copy {
    ValueId canonical;
    PartId part;
    ValueId name;
  };
  std::vector<Copy> copies;
  for (const PartId part : IdRange<PartId>(0, boundaries.parameters.begin.size() - 1)) {
    for (const ValueId parameter : boundaries.parameters[part]) {
      copies.push_back({graph.canonical_parameter(parameter), part, parameter});
    }
  }
  const auto order = [](const Copy& a, const Copy& b) {
    return a.canonical != b.canonical ? a.canonical < b.canonical : a.part < b.part;
  };
  std::stable_sort(copies.begin(), copies.end(), order);
  std::vector<SharedParameter> shared;
  for (std::size_t i = 0; i < copies.size();) {
    SharedParameter one{copies[i].canonical, {}};
    for (; i < copies.size() && copies[i].canonical == one.parameter; ++i) {
      if (!one.copies.empty() && one.copies.back().first == copies[i].part) continue;
      one.copies.emplace_back(copies[i].part, copies[i].name);
    }
    if (one.copies.size() > 1) shared.push_back(std::move(one));
  }
  return shared;
}

}  // namespace cleave
