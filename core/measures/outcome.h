// Outcome: a few numbers of splits that can be summed over models, and which of two outcomes is
// better for a goal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/link.h"
#include "core/base/result.h"
#include "core/condition/op_facts.h"
#include "core/cost/target_times.h"
#include "core/measures/preview.h"
#include "core/split/options.h"
#include "core/split/split.h"
#include "core/support/support_list.h"

namespace cleave {

struct ModelToSplit {
  const Graph& graph;
  const OpFacts& facts;
  const TargetTimes* times = nullptr;  // null: by the machine's rates
  const NodeSet* required = nullptr;   // as in SplitInput
  FoundPlacements* found = nullptr;    // as in SplitInput
};

// The numbers of splits, summed over the models.
struct Outcome {
  std::size_t acc_subgraphs = 0;
  std::size_t subgraphs = 0;
  std::uint64_t link_bytes = 0;    // in and out of accelerator subgraphs
  double link_seconds = 0;         // of each model's bottleneck; 0: the link bounds no model
  double shared_link_seconds = 0;  // when all subgraphs of a model share the link
  std::size_t unknown_bytes = 0;   // values over the link that are left out for their unknown size
  double latency_us = 0;           // of one inference of each model whose latency is known
  std::size_t unknown_latencies = 0;  // models
  std::size_t supported = 0;          // nodes that the lists accept
  Coverage nodes;
  FlopsCoverage flops;
  std::size_t required_on_cpu = 0;  // nodes of ModelToSplit::required

  void add(const Outcome& other);
  // Inferences per second when every model runs once for each; nullopt when the link bounds no
  // model.
  std::optional<double> qps() const;
  std::optional<double> shared_qps() const;
  // Microseconds of one inference of every model; nullopt when the latency of a model is unknown.
  std::optional<double> latency() const {
    return unknown_latencies > 0 ? std::nullopt : std::optional(latency_us);
  }
};

// The numbers of one split, whose preview this is, without its latency: that needs times.
Outcome outcome_of(const Split& split, const Preview& preview);
// The same with the latency, where the model has times. `machine`: of the one accelerator, or the first
// of several.
Outcome outcome_of(const ModelToSplit& model, const Split& split, const Preview& preview,
                   const SplitOptions& options, const Machine& machine);

// What split_graph takes to split the model. `lists` must outlive it.
SplitInput split_input_of(const ModelToSplit& model, const std::vector<SupportList>& lists,
                          const Link& link);

struct SplitOutcome {
  Outcome outcome;
  NodeSet supported;                        // the nodes that the lists accept
  std::vector<std::size_t> acc_sizes = {};  // of accelerator subgraphs, before any was merged
  std::vector<double> acc_work = {};  // FLOPs of each accelerator subgraph; nodes if none are known
};

// Splits the model and keeps the numbers. Refuses what split_graph refuses.
Result<SplitOutcome> split_outcome(const ModelToSplit& model, const std::vector<SupportList>& lists,
                                   const SplitOptions& options, const Link& link);

enum class Goal : std::uint8_t {
  subgraphs,  // fewest accelerator subgraphs
  bytes,      // fewest bytes over the link
  qps,        // most inferences a second over the link; when equal, if all subgraphs share it
  flops,      // most FLOPs on the accelerator
  latency,    // least time of an inference
};

// True when `a` is better for the goal; when both are equal, by the other goals in their order,
// then by nodes on the accelerator.
bool is_better(const Outcome& a, const Outcome& b, Goal goal);
// True when `a` is better by the goal's own number.
bool is_nearer(const Outcome& a, const Outcome& b, Goal goal);

}  // namespace cleave
