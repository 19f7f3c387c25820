// Reduces nodes that a backend does not lower to the smallest piece that still fails in the same
// way, and writes it as a folder to attach to an issue.
#pragma once

#include <string>
#include <vector>

#include "formats/base/text/fault.h"
#include "formats/run/lowering/part_search.h"

namespace cleave {

struct ReduceOptions {
  PoolOptions pool = {};
  SearchSettings search = {};
  std::string folder = {};  // where the finding is written; "": nowhere
};

struct ReduceInput {
  const LoadedModel& model;              // see PieceCutter
  const std::vector<Backend>& backends;  // one
  std::vector<NodeId> nodes;             // model order, convex
  std::string name;                      // their name in reports
};

struct ReduceOutcome {
  std::string identity;                      // of the backend
  LoweredPart part;                          // all nodes
  std::optional<LowerFinding> finding = {};  // nullopt: the backend lowers them
  std::size_t compiler_runs = 0;
  double seconds = 0;
};

// All of `input` must outlive the outcome.
Result<ReduceOutcome, Fault> reduce_piece(const ReduceInput& input, const ReduceOptions& options);

}  // namespace cleave
