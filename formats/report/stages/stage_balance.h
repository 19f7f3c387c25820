// The result of balancing stages, for reports, with the assumptions and caveats of its numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/balance/problem.h"
#include "core/balance/solver.h"
#include "core/base/link.h"
#include "core/graph/graph.h"
#include "core/stages/problem_of_graph.h"
#include "formats/base/json/text.h"
#include "formats/lists/costs/cost_set.h"
#include "formats/lists/tables/device_file.h"

namespace cleave {

// The load of one stage on its device, in the unit of the balance.
struct StageLoad {
  double compute = 0;
  double in = 0;
  double out = 0;
  double load = 0;                          // from compute and transfers
  std::optional<double> memory_bytes = {};  // parameters and live activations
};

struct StageBalance {
  std::string unit;  // "us", "ms": times; else "count"
  BalanceBy by = BalanceBy::time;
  double objective = 0;
  double bound = 0;
  double gap = 0;
  std::string certificate;
  std::vector<CurvePoint> curve;
  std::uint32_t enough_stages = 0;       // the fewest stages that are about as good
  std::vector<StageLoad> loads;          // by stage
  std::vector<std::string> assumptions;  // "10 TFLOP/s, 100 GB/s; link 107 GB/s", one per line
  std::optional<double> measured_share;  // of the times; nullopt when node times are not balanced
  bool is_partly_known = false;          // some costs or sizes are unknown and count 0
  std::vector<std::string> caveats;      // warnings about how to read the numbers
};

StageBalance stage_balance_of(const BalanceProblem& problem, const BalanceResult& result,
                              BalanceBy by);

// The devices of the stages by name; empty when the problem has only one kind of device.
std::vector<std::string> device_names(const BalanceProblem& problem, const BalanceResult& result);

// An amount of what is balanced: "12.3 ms", "3.4 GFLOP", "1.2 M", "64 KiB", "12".
std::string amount_text(const StageBalance& balance, double amount);

// The conclusions, one per line: the slowest stage and what is proved about it; the rate and the
// efficiency; the caveats, or, if there are none and all costs are known, whether fewer stages are
// as good. If no stage costs anything: that there is nothing to balance, and the caveats.
std::vector<std::string> balance_conclusions(const StageBalance& balance,
                                             const std::vector<std::string>& names);

// A stage's load relative to the slowest stage's: "######==    81%", '#' for compute, '=' for
// transfers. `width` characters before the number.
std::string share_bar(const StageBalance& balance, const StageLoad& load, std::size_t width);

// The best objective with at most 1, 2, ... stages, as a table of about twenty rows; empty when
// there is only one row. `what` is what the first column counts: "stages", or "devices" of a list, which
// need not all have a stage.
std::string curve_text(const StageBalance& balance, std::string_view what = "stages");

// Writes the fields "objective", "bound", "gap", "certificate", "unit" and "curve" of
// cleave.stages; null and empty without a balance.
void write_balance(JsonText& json, const std::optional<StageBalance>& balance);
// Writes the fields "compute" to "memory_bytes" of a stage's cost.
void write_load(JsonText& json, const StageLoad& load);

// "a stage takes compute + in + out (serial)"
std::string comm_text(CommModel comm);

// One of several targets that the devices of stages are of.
struct TargetOfStages {
  std::string name;             // "cpu": the host
  std::size_t takes = 0;        // nodes
  std::size_t measured = 0;     // of all nodes
  bool is_scaled = false;       // estimates are scaled to what was measured
  double measured_share = 0;    // of the times
  double flops_per_second = 0;  // for nodes that were not measured
  double bytes_per_second = 0;
};

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
  std::vector<TargetOfStages> targets = {};  // empty: all devices are of one
};

// The assumptions of the numbers, one per line, with the text after the label at column 11.
std::vector<std::string> assumptions_of(const BalanceFacts& facts);

// Says how many nodes have unknown costs and which option would supply them; empty if none.
std::vector<std::string> caveats_of(const BalanceFacts& facts);

// Notes the tensors of unknown size, which count as 0.
std::vector<std::string> notes_of(const BalanceFacts& facts);

}  // namespace cleave
