// Outcome: what splits of some models come to in a few numbers that add up over models, and which
// of two outcomes serves a goal better.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/link.h"
#include "core/base/result.h"
#include "core/split/options.h"
#include "core/split/preview.h"
#include "core/support/op_facts.h"
#include "core/support/support_list.h"

namespace cleave {

struct ModelToSplit {
  const Graph& graph;
  const OpFacts& facts;
};

// What splits of some models came to, summed over the models.
struct Outcome {
  std::size_t acc_subgraphs = 0;
  std::size_t subgraphs = 0;
  std::uint64_t link_bytes = 0;    // in and out of accelerator subgraphs
  double link_seconds = 0;         // of each model's bottleneck; 0: the link bounds nothing
  double shared_link_seconds = 0;  // when all subgraphs of a model share the link
  std::size_t unknown_bytes = 0;   // values over the link that are left out
  std::size_t supported = 0;       // nodes that the lists accept
  Coverage nodes;
  Coverage flops;  // of nodes whose FLOPs are known

  void add(const Outcome& other);
  // Inferences a second, running every model once for one; nothing where the link bounds nothing.
  std::optional<double> qps() const;
  std::optional<double> shared_qps() const;
};

struct SplitOutcome {
  Outcome outcome;
  NodeSet supported;  // what the lists accept
};

// Splits the model and keeps the numbers. Refuses what split_graph refuses.
Result<SplitOutcome> split_outcome(const ModelToSplit& model, const std::vector<SupportList>& lists,
                                   const SplitOptions& options, const Link& link);

enum class Goal : std::uint8_t {
  subgraphs,  // fewest accelerator subgraphs
  bytes,      // fewest bytes over the link
  qps,        // most inferences a second over the link; when equal, if all subgraphs share it
  flops,      // most FLOPs on the accelerator
};

// True when `a` serves the goal better; where it serves it equally, the other goals in their order,
// then nodes on the accelerator.
bool is_better(const Outcome& a, const Outcome& b, Goal goal);

}  // namespace cleave
