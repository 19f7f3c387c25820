// What the commands that make stages share.
#include "cli/jobs/stage_run.h"

#include <filesystem>
#include <utility>

#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/lists/stage_tables.h"
#include "formats/report/split/split_texts.h"
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
                                        const Given& given, StagePlanRequest request) {
  if (const auto idle = idle_stage_option(given, request)) {
    print_error(idle->message, idle->notes);
    return ExitCode::usage;
  }
  request.ties = model_ties(model);
  const OpFacts facts = op_facts(model);
  request.balance.facts = &facts;
  auto plan = plan_with_progress(graph, request);
  if (!plan) return refuse(plan.error());
  print_diagnostics(plan->warnings);
  return *std::move(plan);
}

bool names_workload(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;  // a pipe is read once
  const auto source = SourceFile::open(path);
  return source && is_workload(*source);
}

ExitCode stage_workload(const Given& given, const StagePlanRequest& request,
                        const StagesOutput& output) {
  if (const std::string option = first_not_for_workload(given); !option.empty()) {
    print_error(option +
                " cannot be used with a workload, which has its own costs and edges and no model");
    return ExitCode::usage;
  }
  auto folder = output.create_folder();
  if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
  const auto source = open_side_file(given.split.model.path);
  if (!source) return refuse(source.error());
  const auto workload = read_workload(*source);
  if (!workload) return refuse(workload.error());
  print_diagnostics(workload->warnings);
  const auto run = balance_with_progress(*workload, request);
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

Loaded<std::optional<OutputFolder>> StagesOutput::create_folder() const {
  if (auto may = page.check(); !may) return std::move(may).error();
  std::optional<OutputFolder> none;
  if (path.empty()) return none;
  auto folder = open_output(path, page.is_forced(), onnx);
  if (!folder) return std::move(folder).error();
  return std::optional<OutputFolder>(*std::move(folder));
}

ExitCode StagesOutput::write(StagesReport& report, const ModelPieces& pieces,
                             std::optional<OutputFolder>& folder) const {
  const auto make_page = [&](const LayoutLimits& limits) { return stages_page(report, limits); };
  if (!folder) {
    return write(
        {json ? stages_json(report) : "", json ? "" : stages_text(report), "", {}, make_page},
        folder);
  }
  ModelPieces chosen = pieces;
  chosen.files = files;
  chosen.tflite_lift = lift;
  const auto written = write_models_with_progress(report.model, chosen, onnx, *folder);
  if (!written) return refuse(written.error());
  report.part_files = written->part_files;
  report.chain = written->chain;
  report.notes.insert(report.notes.end(), written->notes.begin(), written->notes.end());
  Texts texts{stages_json(report), stages_text(report), stages_dot(report), {}, make_page};
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
  auto written = folder ? std::vector<std::string>{path} : std::vector<std::string>{};
  if (page.is_asked()) {
    const ExitCode code = page.write(texts.page(page.limits()));
    if (code != ExitCode::done) return code;
    written.push_back(page.written().front());
  }
  write_stdout(json ? texts.json : texts.text, written);
  if (folder) print_info("wrote " + path);
  return ExitCode::done;
}

// ---- split by a map ----

ExitCode split_by_map(const Given& given, std::span<const std::string_view> for_lists, bool nodes) {
  const auto refused =
      refuse_idle(given, for_lists, "is for a split by lists, and --map splits", "leave --map out");
  if (refused) return *refused;
  constexpr std::string_view kOfMap[] = {"default", "affix", "parameters"};
  const NamedTexts asked = named_texts(given, "--map-option", kOfMap);
  const auto text_of = [&](std::string_view key) {
    const auto found = asked.find(key);
    return found == asked.end() ? std::string() : found->second;
  };
  const std::string parameters = text_of("parameters");
  const bool are_copied = parameters == "copy";
  if (asked.contains("parameters") && !are_copied && parameters != "root") {
    refuse_option("--map-option", in_quotes(parameters) + " is no parameters: write root or copy");
  }
  const StagesOutput output(given);
  auto folder = output.create_folder();
  if (!folder) return refuse(folder.error(), ExitCode::cannot_write);
  const auto model = load_model(given.split.model);
  if (!model) return ExitCode::bad_input;
  std::string path = given.text("--map");
  if (std::filesystem::is_directory(path)) path += "/manifest.json";
  PartitionMapOptions names{.affix = text_of("affix")};
  if (asked.contains("default")) names.fallback = text_of("default");
  const auto assignment = read_partition_map(path, model->graph, names);
  if (!assignment) return refuse(assignment.error());
  const auto partition =
      order_parts(model->graph, *assignment,
                  {.keep_original_order = given.flag("--keep-original-order")}, model_ties(*model));
  if (!partition) {
    Diagnostic fault = diagnostic_of(path, partition.error().message);
    fault.notes = partition.error().notes;
    return refuse({fault});
  }
  const Boundaries boundaries =
      find_boundaries(model->graph, *partition, {.pass_parameters = !are_copied});
  if (nodes) {
    write_stdout(print_split(model->graph, *partition, boundaries));
    return ExitCode::done;
  }
  StagesReport report{.model = *model,
                      .graph = model->graph,
                      .part_word = "partition",
                      .partition = *partition,
                      .boundaries = boundaries,
                      .root = boundaries,
                      .notes = model->notes};
  return output.write(report, {*partition, boundaries, boundaries}, *folder);
}

}  // namespace cleave
