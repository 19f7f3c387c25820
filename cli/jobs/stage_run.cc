#include "cli/jobs/stage_run.h"

#include <utility>

#include "cli/jobs/split_run.h"
#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"
#include "formats/base/io/side_file.h"
#include "formats/report/stages/workload_report.h"
#include "formats/run/jobs/model_ties.h"

namespace cleave {
namespace {

// Erases the progress bar before it returns, so that messages can be printed.
Result<StagePlan, Fault> plan_with_progress(const Graph& graph, const StagePlanRequest& request) {
  ProgressBar bar("");
  return plan_stages(graph, request, bar.observer());
}

Result<BalanceRun, Fault> balance_with_progress(const Workload& workload,
                                                const StagePlanRequest& request) {
  ProgressBar bar("");
  return balance_workload(workload, request.stages, request.balance, bar.observer());
}

}  // namespace

Result<StagePlan, ExitCode> plan_stages(const LoadedModel& model, const Graph& graph,
                                        const StagePlanArgs& args) {
  if (const auto idle = args.idle_option()) {
    print_error(idle->message, idle->notes);
    return ExitCode::usage;
  }
  StagePlanRequest request = args.request();
  request.ties = model_ties(model);
  const OpFacts facts = op_facts(model);
  request.balance.facts = &facts;
  auto plan = plan_with_progress(graph, request);
  if (!plan) return refuse(plan.error());
  print_diagnostics(plan->warnings);
  return *std::move(plan);
}

ExitCode stage_workload(const std::string& path, const StagePlanArgs& args,
                        const StagesOutput& output) {
  if (const std::string option = args.first_not_for_workload(); !option.empty()) {
    print_error(option +
                " cannot be used with a workload, which has its own costs and edges and no model");
    return ExitCode::usage;
  }
  auto folder = output.create_folder();
  if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
  const auto source = open_side_file(path);
  if (!source) return refuse(source.error());
  const auto workload = read_workload(*source);
  if (!workload) return refuse(workload.error());
  print_diagnostics(workload->warnings);
  const auto run = balance_with_progress(*workload, args.request());
  if (!run) return refuse(run.error());
  const WorkloadReport report{.path = source->path(),
                              .workload = *workload,
                              .problem = run->problem,
                              .result = run->result,
                              .balance = run->balance,
                              .notes = run->notes};
  const auto page = [&](const LayoutLimits& limits) { return workload_page(report, limits); };
  return output.write(
      {workload_json(report), workload_text(report), draw_workload(report), {}, page}, *folder);
}

}  // namespace cleave
