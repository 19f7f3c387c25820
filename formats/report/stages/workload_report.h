// Reports on the stages of a workload. There is no graph: nodes have their ids as names, and values
// the id of the node that makes them.
#pragma once

#include <string>
#include <vector>

#include "core/balance/solver.h"
#include "formats/lists/tables/workload_file.h"
#include "formats/report/drawings/html_report.h"
#include "formats/report/stages/stage_balance.h"

namespace cleave {

struct WorkloadReport {
  std::string path;
  const Workload& workload;
  const BalanceProblem& problem;  // with the devices that were used
  const BalanceResult& result;
  const StageBalance& balance;
  std::vector<std::string> notes = {};
};

// "stage_0", ...
std::string workload_stage_name(std::size_t stage);

// cleave.stages version 1. Stages depend on earlier ones, in the given order of stages; gradients
// that flow back are among the inputs.
std::string workload_json(const WorkloadReport& report);

// The report as text, conclusion first.
std::string workload_text(const WorkloadReport& report);

// The same as a page for a browser.
HtmlPage workload_page(const WorkloadReport& report, const LayoutLimits& limits);

// The drawing: see report/drawings/dot_stages.h.
std::string draw_workload(const WorkloadReport& report);

}  // namespace cleave
