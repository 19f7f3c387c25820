#include "cli/jobs/split_run.h"

#include <utility>

#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"
#include "formats/run/jobs/measured_shapes.h"

namespace cleave {
namespace {

std::string subject_of(const std::string& path) { return path == "-" ? "standard input" : path; }

ExitCode exit_code_of(FaultCause cause) {
  switch (cause) {
    case FaultCause::request:
      return ExitCode::usage;
    case FaultCause::input:
      return ExitCode::bad_input;
    case FaultCause::output:
      return ExitCode::cannot_write;
    case FaultCause::program:
      return ExitCode::external_failed;
    case FaultCause::infeasible:
      break;
  }
  return ExitCode::check_failed;
}

// Call after the progress bar is gone: this prints.
Result<SplitJob, ExitCode> finished(Result<SplitJob, JobFault> job) {
  if (!job) return refuse(job.error());
  print_diagnostics(job->warnings());
  return *std::move(job);
}

Result<SplitJob, JobFault> with_progress(const SplitRequest& request, const MeasuredModel* model) {
  ProgressBar bar(subject_of(model == nullptr ? request.model.path : model->model.source.path()));
  if (model == nullptr) return run_split(request, bar.observer());
  return run_split(ReadModel{model->model, &model->costs}, request, bar.observer());
}

Loaded<LoadedModel> read_with_progress(const ModelArgs& args) {
  ProgressBar bar(subject_of(args.path));
  return read_model(args.path, args.bindings, args.limits, bar.observer());
}

}  // namespace

SplitRequest split_request(const ModelArgs& model, const SupportArgs& support,
                           const SplitArgs& split) {
  return {.model = {.path = model.path, .bindings = model.bindings, .limits = model.limits},
          .lists = support.request(),
          .options = split.options,
          .link = split.link,
          .targets = split.targets,
          .costs = model.costs,
          .require = split.require};
}

ExitCode refuse(const JobFault& fault) { return refuse(fault.faults, exit_code_of(fault.cause)); }

Result<SplitJob, ExitCode> run_split(const ModelArgs& model, const SupportArgs& support,
                                     const SplitArgs& split) {
  return finished(with_progress(split_request(model, support, split), nullptr));
}

Result<SplitJob, ExitCode> run_split(const MeasuredModel& model, const SupportArgs& support,
                                     const SplitArgs& split) {
  return finished(with_progress(split_request({}, support, split), &model));
}

std::optional<std::vector<SupportList>> load_lists(const SupportArgs& args) {
  auto read = read_lists(args.request());
  print_diagnostics(read ? read->warnings : read.error());
  if (!read) return std::nullopt;
  return std::move(read->lists);
}

std::optional<LoadedModel> load_model(const ModelArgs& args) {
  auto loaded = read_with_progress(args);
  print_diagnostics(loaded ? loaded->warnings : loaded.error());
  if (!loaded) return std::nullopt;
  return *std::move(loaded);
}

std::optional<MeasuredModel> load_measured_model(const ModelArgs& args) {
  auto model = load_model(args);
  if (!model) return std::nullopt;
  auto costs = read_costs_and_shapes(args.costs, *model);
  print_diagnostics(costs ? costs->warnings : costs.error());
  if (!costs) return std::nullopt;
  return MeasuredModel{*std::move(model), *std::move(costs)};
}

Result<WrittenModels, JobFault> write_models_with_progress(const LoadedModel& model,
                                                           const ModelPieces& pieces,
                                                           const OnnxWriteOptions& options,
                                                           const OutputFolder& folder) {
  ProgressBar bar(folder.final_path());
  OnnxWriteOptions observed = options;
  observed.progress = bar.observer();
  return write_models(model, pieces, observed, folder);
}

}  // namespace cleave
