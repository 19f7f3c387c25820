// Inputs of a program that are views of one memory in its archive: a buffer `stack` and a buffer `c0` that is `stack[0]`.
#pragma once

#include <cstdint>
#include <vector>

#include "formats/models/pt2/archive.h"
#include "formats/models/pt2/program.h"

namespace cleave {

// Two values of the program, inputs whose bytes overlap.
struct Pt2Overlap {
  std::uint32_t first, second;
};

// Enough pairs to join all lifted tensors that overlap and are read, in order of their bytes: one that nothing reads is left
// out, since nobody sees what is written to it. A tensor counts as all bytes from its first element to its last.
// O(n log n) in the inputs.
std::vector<Pt2Overlap> overlapping_inputs(const Pt2Archive& archive, const Pt2Program& program);

}  // namespace cleave
