// What the commands that make stages share.
#include "cli/jobs/stage_run.h"

#include <utility>

#include <CLI/CLI.hpp>

#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/report/stages/stages_report.h"
#include "formats/report/words/report.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {

// ---- stage run ----

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

// ---- write stages ----

void StagesOutput::add_to(CLI::App& app) {
  auto* const output = add_output_folder_option(
      app, "-o,--output", path_, "folder to write; written completely or not at all");
  page_.add_with_drawings(app);
  add_onnx_options(app, onnx_);
  add_bundle_option(app, part_files_);
  add_tflite_options(app, tflite_lift_);
  for (const char* const option : {"--weights", "--annotate", "--bundle"})
    app.get_option(option)->needs(output);
  app.add_flag("--json", json_, "print the report as JSON instead of text");
}

Loaded<std::optional<OutputFolder>> StagesOutput::create_folder() const {
  if (auto may = page_.check(); !may) return std::move(may).error();
  std::optional<OutputFolder> none;
  if (path_.empty()) return none;
  auto folder = open_output(path_, page_.is_forced(), onnx_);
  if (!folder) return std::move(folder).error();
  return std::optional<OutputFolder>(*std::move(folder));
}

ExitCode StagesOutput::write(StagesReport& report, const ModelPieces& pieces,
                             std::optional<OutputFolder>& folder) const {
  const auto page = [&](const LayoutLimits& limits) { return stages_page(report, limits); };
  if (!folder) {
    return write({json_ ? stages_json(report) : "", json_ ? "" : stages_text(report), "", {}, page},
                 folder);
  }
  ModelPieces chosen = pieces;
  chosen.files = part_files_;
  chosen.tflite_lift = tflite_lift_;
  const auto written = write_models_with_progress(report.model, chosen, onnx_, *folder);
  if (!written) return refuse(written.error());
  report.part_files = written->part_files;
  report.chain = written->chain;
  report.notes.insert(report.notes.end(), written->notes.begin(), written->notes.end());
  Texts texts{stages_json(report), stages_text(report), stages_dot(report), {}, page};
  if (report.schedule) {
    const ScheduleReport& schedule = *report.schedule;
    texts.more.emplace_back("schedule.csv", schedule_csv(schedule.schedules[schedule.chosen]));
    texts.more.emplace_back("schedule.html", schedule_page(schedule, model_name(report.model)));
  }
  return write(texts, folder);
}

ExitCode StagesOutput::write(const Texts& texts, std::optional<OutputFolder>& folder) const {
  if (folder) {
    auto written = folder->write("report.txt", texts.text);
    if (written) written = folder->write("stages.dot", texts.drawing);
    for (const auto& [name, content] : texts.more) {
      if (written) written = folder->write(name, content);
    }
    if (written) written = folder->write_manifest(texts.json);
    if (written) written = folder->commit();
    if (!written) return refuse(written.error(), ExitCode::cannot_write);
  }
  auto written = folder ? std::vector<std::string>{path_} : std::vector<std::string>{};
  if (page_.is_asked()) {
    const ExitCode code = page_.write(texts.page(page_.limits()));
    if (code != ExitCode::done) return code;
    written.push_back(page_.written().front());
  }
  write_stdout(json_ ? texts.json : texts.text, written);
  if (folder) print_info("wrote " + path_);
  return ExitCode::done;
}

}  // namespace cleave
