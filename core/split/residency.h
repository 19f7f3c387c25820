// Residency: which values the accelerator holds from one part to the next, so that none is sent to
// it twice. For each accelerator part, in call order:
//
//   resident  its inputs that are there already; the others are sent to it
//   keep      values that stay there after it has run: a later accelerator part reads them
//   free      values that were there, sent, or made, and that no later accelerator part reads
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
  PerPartLists<ValueId> keep;  // by PartId, empty lists for CPU parts; likewise below
  PerPartLists<ValueId> resident;
  PerPartLists<ValueId> free;
  // The most that is held at once: before a part, with what is sent to it and what it gives out.
  // Tensors of known size.
  std::uint64_t peak_bytes = 0;
  PartId peak_part = kNone<PartId>;  // none: there is no accelerator part
};

// Lists are in the order of the part's inputs, then its outputs. Linear in what boundaries list.
ResidencyPlan plan_residency(const Graph& graph, const Partition& partition,
                             const Boundaries& boundaries);

}  // namespace cleave
