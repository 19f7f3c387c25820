// A torch.export archive as read: what its writer needs besides the graph. The graph's nodes have
// the same numbers as the program's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "formats/models/pt2/archive.h"
#include "formats/models/pt2/effects.h"
#include "formats/models/pt2/program.h"

namespace cleave {

struct Pt2Model {
  Pt2Archive archive;
  Pt2Program program;
  Pt2Effects effects;
  std::map<std::string, std::int64_t, std::less<>> symbol_sizes;  // that the user gave
  PerValue<std::uint32_t> value_numbers;  // of the graph's values, in program.values
};

}  // namespace cleave
