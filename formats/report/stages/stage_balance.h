// What a balancing policy knows of its stages, in the words of reports.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/balance/solver.h"
#include "core/stages/balance_graph.h"
#include "formats/json/text.h"

namespace cleave {

// What one stage takes on its device, in the unit of the balance.
struct StageLoad {
  double compute = 0;
  double in = 0;
  double out = 0;
  double load = 0;                          // what compute and transfers come to
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
  std::uint32_t enough_stages = 0;       // the fewest that are about as good
  std::vector<StageLoad> loads;          // by stage
  std::vector<std::string> assumptions;  // "10 TFLOP/s, 100 GB/s; link 107 GB/s", one a line
  std::optional<double> measured_share;  // of the times; none where no times of nodes are balanced
  bool is_partly_known = false;          // some costs or sizes are not known and count nothing
  std::vector<std::string> caveats;      // conclusions that keep the numbers from misleading
};

StageBalance stage_balance_of(const BalanceProblem& problem, const BalanceResult& result,
                              BalanceBy by);

// The devices of the stages by name; empty where the problem tells of one kind of them only.
std::vector<std::string> device_names(const BalanceProblem& problem, const BalanceResult& result);

// "12.3 ms", "3.4 GFLOP", "1.2 M", "64 KiB", "12": an amount of what is balanced.
std::string amount_text(const StageBalance& balance, double amount);

// The conclusions, a line each: the slowest of the named stages and what is proved of it; the rate
// and the efficiency; the caveats, or where there are none and all is known, whether fewer stages
// are as good. Where no stage costs anything, that there is nothing to balance, and the caveats.
std::vector<std::string> balance_conclusions(const StageBalance& balance,
                                             const std::vector<std::string>& names);

// A stage's load beside that of the slowest: "######==    81%", '#' for compute, '=' for what
// transfers add. `width` characters before the number.
std::string share_bar(const StageBalance& balance, const StageLoad& load, std::size_t width);

// The best objective with at most 1, 2, ... stages, as a table of some twenty rows; empty where
// there is one row only.
std::string curve_text(const StageBalance& balance);

// The fields "objective", "bound", "gap", "certificate", "unit" and "curve" of cleave.stages; null
// and empty without a balance.
void write_balance(JsonText& json, const std::optional<StageBalance>& balance);
// The fields "compute" to "memory_bytes" of a stage's cost.
void write_load(JsonText& json, const StageLoad& load);

}  // namespace cleave
