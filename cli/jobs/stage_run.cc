#include "cli/jobs/stage_workload.h"

#include "cli/jobs/balance_run.h"
#include "cli/terminal/terminal.h"
#include "formats/io/source_file.h"
#include "formats/report/stages/workload_report.h"

namespace cleave {

ExitCode stage_workload(const std::string& path, const StagePlanArgs& plan,
                        const StagesOutput& output) {
  if (const std::string option = plan.first_not_for_workload(); !option.empty()) {
    print_error(option +
                " means nothing for a workload: it has costs and edges of its own, and no model");
    return ExitCode::usage;
  }
  auto folder = output.create_folder();
  if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
  const auto source = SourceFile::open(path);
  if (!source) return refuse(source.error());
  const auto workload = read_workload(*source);
  if (!workload) return refuse(workload.error());
  print_diagnostics(workload->warnings);
  ExitCode code = ExitCode::done;
  const auto run = balance_workload(*workload, plan.stages(), plan.balance(), code);
  if (!run) return code;
  const WorkloadReport report{.path = source->path(),
                              .workload = *workload,
                              .problem = run->problem,
                              .result = run->result,
                              .balance = run->balance,
                              .notes = run->notes};
  return output.write({workload_json(report), workload_text(report), draw_workload(report)},
                      *folder);
}

}  // namespace cleave
