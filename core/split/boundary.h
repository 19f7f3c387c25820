// Boundaries: the inputs and outputs of each part, and so how the root calls the parts.
#pragma once

#include <span>
#include <vector>

#include "core/graph/graph.h"
#include "core/split/options.h"
#include "core/split/partition.h"

namespace cleave {

// One list of ids for each part (CSR).
template <class Id>
struct PerPartLists {
  std::vector<std::uint32_t> begin;
  std::vector<Id> items;
  std::span<const Id> operator[](PartId part) const {
    const std::uint32_t first = begin[index(part)];
    return std::span(items).subspan(first, begin[index(part) + 1] - first);
  }
};

struct Boundaries {
  // Values made outside the part, and parameters that are passed to it, in order of first use:
  // nodes in model order, each node's positional inputs, then keyword inputs, then captures of its
  // bodies.
  PerPartLists<ValueId> inputs;
  // Values that another part or the graph's output reads, in the order in which a walk over all
  // nodes in model order first meets such a use; graph outputs come last.
  PerPartLists<ValueId> outputs;
  // Parameters of the file that the part reads, directly, through its constants or as a module's
  // own, in order of first use. Outputs of constants are not listed: see `constants`.
  PerPartLists<ValueId> parameters;
  // Constants whose outputs the part's nodes read, in order of first use. What these are made of is
  // not listed, since a long chain that every part reads would be listed for each of them:
  // needed_constants() finds it.
  PerPartLists<NodeId> constants;
  // How many constants the parts hold in all, each counted once for each part that needs it.
  std::size_t constant_copies = 0;
};

// Nodes that are in no part are ignored. Linear in nodes + edges, plus the size of the lists and
// `constant_copies`.
// Method: FX splitter, split_by_tags.
Boundaries find_boundaries(const Graph& graph, const Partition& partition,
                           const BoundaryOptions& options = {});

// The constants that parts need, part by part, each in a time linear in its answer and the operands.
// Graph and boundaries must outlive it.
class NeededConstants {
 public:
  NeededConstants(const Graph& graph, const Boundaries& boundaries);

  // The constants that the part reads and those that they are made of; each comes before the
  // constants that use it. Valid until the next call.
  std::span<const NodeId> of(PartId part);

 private:
  const Graph& graph_;
  const Boundaries& boundaries_;
  std::vector<std::uint32_t> seen_;  // by constant: the number of the call that listed it last
  std::uint32_t calls_ = 0;
  std::vector<NodeId> needed_;
};

// The same for a single part, without a table of all constants.
std::vector<NodeId> needed_constants(const Graph& graph, const Boundaries& boundaries, PartId part);

// For each part the parts whose outputs are its inputs, in order of first use. When several parts
// pass a value on, it comes from the last of them before the reader. Linear.
PerPartLists<PartId> find_dependencies(const Graph& graph, const Boundaries& boundaries);

}  // namespace cleave
