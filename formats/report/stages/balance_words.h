// What a report on balanced stages says beside the numbers: what they assume, and what they lack.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options/balance_args.h"
#include "core/balance/problem.h"
#include "core/graph/graph.h"
#include "core/stages/balance_graph.h"
#include "formats/costs/cost_set.h"
#include "formats/tables/device_file.h"

namespace cleave {

// "a stage takes compute + in + out (serial)"
std::string comm_text(CommModel comm);

// What the stages of a graph were balanced by, with the values that were really used. `devices`:
// those of --devices that were used; empty: all are alike.
struct BalanceFacts {
  const Graph& graph;
  const GraphBalance& made;
  const BalanceArgs& args;
  std::string_view unit;  // of the problem
  BalanceBy by = BalanceBy::time;
  CommModel comm = CommModel::serial;
  std::vector<DeviceSpec> devices = {};
  const CostSet* costs = nullptr;  // null: no files of times
};

// What the numbers assume, one a line, the words behind the label at column 11.
std::vector<std::string> assumptions_of(const BalanceFacts& facts);

// That the costs of nodes are not known, of how many, and what to give; nothing when they are.
std::vector<std::string> caveats_of(const BalanceFacts& facts);

// Tensors of unknown size, which count nothing.
std::vector<std::string> notes_of(const BalanceFacts& facts);

}  // namespace cleave
