// What each operator of a program does to memory: which of its arguments it writes in place, and
// which results share memory with an argument. From the operators' schemas, and from what these do
// not state.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/models/pt2/program.h"

namespace cleave {

// Two values that share memory.
struct Pt2Share {
  std::uint32_t from, to;  // an argument and a result
  bool is_same;            // the result is the argument itself, after the write
};

struct Pt2NodeEffects {
  std::vector<std::uint32_t> writes;  // values
  std::vector<Pt2Share> shares;
};

// By node. Linear.
std::vector<Pt2NodeEffects> find_node_effects(const Pt2Program& program);

}  // namespace cleave
