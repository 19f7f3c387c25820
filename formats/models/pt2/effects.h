// The side effects of a program's operators: they write their arguments (`relu_`, `index_copy_`,
// batch norm in training), and results share memory with arguments (`view`).
//
// Values that may share memory are a *memory class*. A class that is never written needs no care.
// In a written class every write makes a new name: after y = relu_(x) a reader of x reads y, which
// is exact. That fails only where a view is written and the tensor that it views is read later, or
// the other way round: then the nodes that use the memory must stay in one partition, up to the last
// write. Programs after run_decompositions() write no memory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "formats/models/pt2/program.h"

namespace cleave {

// A graph input that operators write in place.
struct Pt2WrittenInput {
  std::uint32_t value = 0;
  std::uint32_t newest = 0;          // the value with its final contents
  std::uint32_t last_writer = 0;     // node
  std::vector<std::uint32_t> nodes;  // that use its memory, in order
};

struct Pt2Effects {
  // By number of the ref: the value to read, which differs from the name in the text if an operator
  // has written it in between.
  std::vector<std::uint32_t> read_as;
  std::vector<bool> is_renamed;                                // by node: some ref of it is renamed
  std::vector<std::uint32_t> newest;                           // by value: after all nodes
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // nodes: first before second
  std::vector<std::vector<std::uint32_t>> whole;  // nodes that must be in one partition, in order
  std::vector<Pt2WrittenInput> written_inputs;    // in order of the inputs
};

// Linear in nodes and refs, near enough.
Pt2Effects find_effects(const Pt2Program& program);

}  // namespace cleave
