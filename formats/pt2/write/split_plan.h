// What each part of a split program takes in, gives out and keeps, so that the parts run one after
// the other compute what the program does, its state and its in-place writes included.
//
//   native    a write that stays inside the one part that touches its target: the part's file keeps
//             the state across calls, as the program does
//   lifted    state that several parts touch: an ordinary input and output, held by the caller
//   repeated  a node computed again in a part that reads its result, because truth values and real
//             symbols cannot cross
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/split/partition.h"
#include "formats/pt2/model.h"

namespace cleave {

struct Pt2Part {
  PartId part;
  std::vector<std::uint32_t> nodes;             // of the program, in order, repeated ones too
  std::vector<std::uint32_t> repeated;          // of these
  std::vector<std::uint32_t> lifted_inputs;     // values that its archive holds
  std::vector<std::uint32_t> inputs;            // values that the caller gives
  std::vector<std::uint32_t> native_mutations;  // outputs of the program, by number
  std::vector<std::uint32_t> outputs;           // values that the caller gets
  std::vector<std::uint32_t> written_inputs;    // of `inputs`, those it writes in place
};

// `target` holds `value` after the last part.
struct Pt2Mutation {
  std::string_view kind;    // "buffer", "parameter", "user_input"; "gradient", "token"
  std::string_view target;  // full name, or the input's
  std::uint32_t value = 0;
};

struct Pt2Plan {
  std::vector<Pt2Part> parts = {};   // in call order
  std::vector<std::uint32_t> state;  // values that the caller holds
  std::vector<Pt2Mutation> mutations;
};

// Refuses, with the way out: parts that wait for each other because of in-place operators, written
// memory with views in several parts, values that cannot cross, tokens. Linear in nodes and refs.
Result<Pt2Plan> plan_pt2_split(const Pt2Model& model, const Partition& partition);

}  // namespace cleave
