// Boundaries of pipeline stages: parameters that several stages use, and values that skip stages.
//
//   stages:     0: w a      1: b      2: w c(a)
//   replicate:  0 and 2 each hold w               transmit:  0 holds w and passes it to 2
//   direct:     0 sends a straight to 2           relay:     0 sends a to 1, which sends it to 2
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/graph/graph.h"
#include "core/split/boundary.h"
#include "core/split/partition.h"

namespace cleave {

// Parameters of which several parts hold a copy: training must keep the copies equal.
struct SharedParameter {
  ValueId parameter;                               // canonical
  std::vector<std::pair<PartId, ValueId>> copies;  // parts in call order, with its name there
};

// The shared parameters in the order of the parameters; aliases are one parameter. Linear in what
// parts hold.
std::vector<SharedParameter> find_shared_parameters(const Graph& graph,
                                                    const Boundaries& boundaries);

enum class Sharing : std::uint8_t { replicate, transmit };

struct StageBoundaryOptions {
  Sharing sharing = Sharing::replicate;
  std::vector<std::pair<std::string, Sharing>> sharing_of;  // by parameter's name, any name of it
  bool relay = false;
};

// The cost of values needed two or more stages further on, for both ways, whichever was chosen.
struct SkipCosts {
  std::size_t values = 0;
  std::size_t unknown_sizes = 0;     // of those values; the bytes below leave them out
  std::size_t direct_transfers = 0;  // a value is sent once to each stage that reads it
  std::size_t relay_transfers = 0;   // a value is sent from stage to stage up to its last reader
  std::uint64_t direct_bytes = 0;    // of tensors of known size
  std::uint64_t relay_bytes = 0;
};

struct StageBoundaries {
  Boundaries stages;  // of each stage as a model of its own
  // the same with values sent straight to their readers: for one model that calls all stages
  Boundaries root;
  Boundaries copying;  // the same with every parameter copied: for a root that holds all parameters
  SkipCosts skips;
  std::vector<std::string> notes;  // parameters that could not be transmitted, or that no node uses
};

// Refuses a name in `sharing_of` that no parameter has, and relays beyond 2^26 transfers. Linear in
// nodes, edges and the size of the lists.
Result<StageBoundaries> find_stage_boundaries(const Graph& graph, const Partition& partition,
                                              const StageBoundaryOptions& options);

}  // namespace cleave
