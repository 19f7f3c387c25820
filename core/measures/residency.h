// Residency: which values the accelerator keeps from one part to the next, so that no value is sent
// to it twice. For each accelerator part, in call order:
//
//   resident  inputs that are already on the accelerator; the others are sent
//   keep      values that stay there after the part has run, for a later accelerator part
//   free      values that were there, sent or made, and that no later accelerator part reads
//
//   x -> acc 0 -> a -> cpu 1 -> b -> acc 2 (reads b, x)      acc 0 keeps x; x is resident in acc 2,
//                                                            which frees it and b
#pragma once

#include <cstdint>

#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"

namespace cleave {

struct ResidencyPlan {
  PerPartLists<ValueId> keep;  // by PartId, empty lists for CPU parts; the same below
  PerPartLists<ValueId> resident;
  PerPartLists<ValueId> free;
  // The most bytes held at once: before a part runs, with the values sent to it and its outputs.
  // Tensors of known size only.
  std::uint64_t peak_bytes = 0;
  PartId peak_part = kNone<PartId>;  // kNone: there is no accelerator part
};

// Lists are in the order of the part's inputs, then its outputs. Linear in what boundaries list.
ResidencyPlan plan_residency(const Graph& graph, const Partition& partition,
                             const Boundaries& boundaries);

}  // namespace cleave
