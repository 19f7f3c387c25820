// Balanced stages from files and options to a result with its words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/balance_args.h"
#include "cli/terminal/exit_code.h"
#include "core/balance/problem.h"
#include "core/graph/graph.h"
#include "formats/report/stages/stage_balance.h"
#include "formats/tables/workload_file.h"

namespace cleave {

struct BalanceRun {
  BalanceProblem problem;  // of a graph: refers to it
  BalanceResult result;
  StageBalance balance;
  std::vector<std::string> notes;
};

// At most `stages` stages of the graph (0: as many as --devices has). Prints what is wrong,
// warnings too; nothing: `code` tells what to exit with.
std::optional<BalanceRun> balance_graph(const Graph& graph, BalanceBy by, std::uint32_t stages,
                                        const BalanceArgs& args, ExitCode& code);

// The same of a workload: on its own devices, or with `stages` on so many accelerators without a
// host.
std::optional<BalanceRun> balance_workload(const Workload& workload, std::uint32_t stages,
                                           const BalanceArgs& args, ExitCode& code);

}  // namespace cleave
