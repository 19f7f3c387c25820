// The assumptions and caveats in a report on balanced stages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/balance/problem.h"
#include "core/base/link.h"
#include "core/graph/graph.h"
#include "core/stages/problem_of_graph.h"
#include "formats/lists/costs/cost_set.h"
#include "formats/lists/tables/device_file.h"

namespace cleave {

// "a stage takes compute + in + out (serial)"
std::string comm_text(CommModel comm);

// The costs and devices that the stages of a graph were balanced with.
struct BalanceFacts {
  const Graph& graph;
  const GraphBalance& made;
  const GraphCostOptions& costs;
  const CostSet* measured = nullptr;  // null: no files of times
  std::string unit = {};              // of the problem
  CommModel comm = CommModel::serial;
  Link device_bandwidth = {};
  Link link = {};                            // between devices without a link of their own
  std::optional<std::uint64_t> memory = {};  // of devices without their own; nullopt: no limit
  std::vector<DeviceSpec> devices = {};      // empty: all are equal
  std::string devices_path = {};             // the file that they are from
};

// The assumptions of the numbers, one per line, with the text after the label at column 11.
std::vector<std::string> assumptions_of(const BalanceFacts& facts);

// Says how many nodes have unknown costs and which option would supply them; empty if none.
std::vector<std::string> caveats_of(const BalanceFacts& facts);

// Notes the tensors of unknown size, which count as 0.
std::vector<std::string> notes_of(const BalanceFacts& facts);

}  // namespace cleave
