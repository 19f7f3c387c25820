// The inputs, outputs and state of each partition of a split program, so that the partitions run
// one after another compute what the program does, including its state and its in-place writes.
//
//   native    a write in the only partition that uses its target: the partition's file keeps the
//             state across calls, as the program does
//   lifted    state that several partitions use: an ordinary input and output, kept by the caller
//   repeated  a node computed again in a partition that reads its result, because truth values and
//             real symbols cannot cross
//
// A constant is in each partition that reads its result, a check in one that makes what it reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/split/partition.h"
#include "formats/models/pt2/model.h"

namespace cleave {

struct Pt2Part {
  PartId part;
  std::vector<std::uint32_t> nodes;             // of the program, in order, with repeated ones
  std::vector<std::uint32_t> repeated;          // of these, in order
  std::vector<std::uint32_t> lifted_inputs;     // values in its archive
  std::vector<std::uint32_t> inputs;            // values that the caller passes
  std::vector<std::uint32_t> native_mutations;  // outputs of the program, by number
  std::vector<std::uint32_t> outputs;           // values that the caller receives
  std::vector<std::uint32_t> written_inputs;    // those of `inputs` that it writes in place
};

// `target` gets `value` after the last partition.
struct Pt2Mutation {
  std::string_view kind;    // "buffer", "parameter", "user_input"; "gradient", "token"
  std::string_view target;  // full name of the target, or the input's
  std::uint32_t value = 0;
};

struct Pt2Plan {
  std::vector<Pt2Part> parts = {};   // in call order
  std::vector<std::uint32_t> state;  // values that the caller keeps
  std::vector<Pt2Mutation> mutations;
};

// `partition` may be a piece of the program: then what the other nodes read leaves it, and writes of
// state by other nodes are left out. Refuses, with a remedy: partitions that wait for each other because of in-place operators,
// written memory with views in several partitions, values that cannot cross, tokens. Linear in
// nodes and refs.
Result<Pt2Plan> plan_pt2_split(const Pt2Model& model, const Partition& partition);

}  // namespace cleave
