// Balances stages: from files and options to a result with its notes. Does not print; warnings are
// part of the result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/balance/problem.h"
#include "core/balance/solver.h"
#include "core/base/link.h"
#include "core/base/progress.h"
#include "core/condition/op_facts.h"
#include "core/cost/target_spec.h"
#include "core/graph/graph.h"
#include "core/stages/problem_of_graph.h"
#include "formats/base/text/fault.h"
#include "formats/lists/costs/cost_set.h"
#include "formats/lists/tables/workload_file.h"
#include "formats/report/stages/stage_balance.h"
#include "formats/run/jobs/split_request.h"

namespace cleave {

// What a stage costs, on which devices, and how hard to search.
struct BalanceRequest {
  BalanceOptions options = {};    // except the target and the progress
  GraphCostOptions costs = {};    // except what is balanced, bandwidths, and measured times
  std::optional<Link> link = {};  // nullopt: the default
  Link device_bandwidth = {.name = "100GB/s", .bytes_per_second = 100e9};
  // What a device holds at most: bytes count parameters and live activations, or parameters alone.
  enum class Memory : std::uint8_t { unset, none, bytes, parameters };
  Memory memory = Memory::unset;
  std::uint64_t memory_bytes = 0;
  std::vector<CostSource> costs_files = {};
  std::string devices_path = {};  // empty: all devices are equal
  // Of devices of several targets: what each takes, and its rates where those of `costs` do not hold.
  ListsRequest lists = {};
  std::vector<TargetSpec> targets = {};
  const OpFacts* facts = nullptr;             // of the model; lists need them
  std::optional<double> target_seconds = {};  // use the fewest stages that take no longer
  std::optional<double> target_number = {};   // the same when something other than time is balanced

  // True if a limit on parameters decides how many stages there are: the fewest that keep it.
  bool asks_fewest() const {
    return memory == Memory::parameters && devices_path.empty() && !target_seconds &&
           !target_number;
  }
};

struct BalanceRun {
  BalanceProblem problem;  // refers to the graph or workload that it was made of
  BalanceResult result = {};
  StageBalance balance = {};
  std::vector<std::string> notes = {};
  Diagnostics warnings = {};  // about the files of times
};

// Balances the graph over at most `stages` stages (0: as many as request.devices_path lists, or the
// fewest that keep a limit on parameters). The fault is `infeasible` when the devices cannot hold the nodes.
Result<BalanceRun, Fault> balance_model(const Graph& graph, std::uint32_t stages,
                                        const BalanceRequest& request,
                                        const Progress& progress = {});

// Balances a workload: on its own devices, or, with `stages`, on that many accelerators without a
// host. Does not use the times, link and devices of the request.
Result<BalanceRun, Fault> balance_workload(const Workload& workload, std::uint32_t stages,
                                           const BalanceRequest& request,
                                           const Progress& progress = {});

}  // namespace cleave
