// A torch.export archive as it is read: what its writer needs beside the graph. Nodes of the graph
// have the numbers of the program's.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graph/graph.h"
#include "formats/pt2/archive.h"
#include "formats/pt2/effects.h"
#include "formats/pt2/program.h"

namespace cleave {

struct Pt2Model {
  Pt2Archive archive;
  Pt2Program program;
  Pt2Effects effects;
  PerValue<std::uint32_t> value_numbers;  // of the graph's values, in program.values
};

}  // namespace cleave
