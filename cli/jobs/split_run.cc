#include "cli/jobs/split_run.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/terminal/progress_bar.h"
#include "cli/terminal/terminal.h"
#include "core/base/number_text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/format_options.h"
#include "formats/report/words/report_values.h"
#include "formats/run/jobs/measured_shapes.h"

namespace cleave {
namespace {

using Clock = std::chrono::steady_clock;

// "in 3.2 ms"
std::string time_since(Clock::time_point begin) {
  return "in " +
         duration_text(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
}

// With --verbose: what was done, and how long it took.
void print_detail(const std::string& done) { spdlog::debug("{}", escaped(done)); }

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

}  // namespace

ExitCode refuse(const Fault& fault) { return refuse(fault.faults, exit_code_of(fault.cause)); }

Result<SplitJob, ExitCode> split_with_progress(const SplitRequest& request, const InputsRead& read,
                                               const Diagnostics& told) {
  const Clock::time_point begin = Clock::now();
  auto job = [&] {
    ProgressBar bar(
        subject_of(read.model == nullptr ? request.model.path : read.model->source.path()));
    return run_split(request, bar.observer(), read);
  }();
  if (!job) return refuse(job.error());
  print_diagnostics(without_told(job->warnings(), told));
  for (const SupportList& list : job->lists()) {
    print_detail("list " + list.path + ": " +
                 counted(list.allow.size() + list.deny.size(), "rule"));
  }
  print_detail("split " + subject_of(job->model().source.path()) + ": " +
               counted(job->graph().node_count(), "node") + " into " +
               counted(job->report().split.partition.count(), "partition") + ", " +
               time_since(begin));
  return *std::move(job);
}

Diagnostics without_told(Diagnostics warnings, const Diagnostics& told) {
  std::erase_if(warnings, [&](const Diagnostic& warning) {
    return std::any_of(told.begin(), told.end(), [&](const Diagnostic& other) {
      return format_diagnostic(other) == format_diagnostic(warning);
    });
  });
  return warnings;
}

Diagnostics limit_warnings(const SplitJob& job) {
  Diagnostics warnings;
  for (std::string& note : job.limit_notes()) {
    if (note.empty()) continue;
    warnings.push_back({.severity = Severity::warning,
                        .file = job.model().source.path(),
                        .message = std::move(note)});
  }
  return warnings;
}

std::optional<ListsRead> load_lists(const ListsRequest& request) {
  auto read = read_lists(request);
  print_diagnostics(read ? read->warnings : read.error());
  if (!read) return std::nullopt;
  return *std::move(read);
}

std::optional<LoadedModel> load_model(const ModelRequest& request) {
  const Clock::time_point begin = Clock::now();
  auto loaded = [&] {
    ProgressBar bar(subject_of(request.path));
    return read_model(request.path, request.bindings, request.limits, bar.observer());
  }();
  print_diagnostics(loaded ? loaded->warnings : loaded.error());
  if (!loaded) return std::nullopt;
  print_diagnostics(idle_option_warnings(*loaded));
  print_detail("read " + subject_of(request.path) + ": " +
               counted(loaded->graph.node_count(), "node") + ", " + time_since(begin));
  return *std::move(loaded);
}

std::optional<MeasuredModel> load_measured_model(const ModelRequest& request,
                                                 const std::vector<CostSource>& sources) {
  auto model = load_model(request);
  if (!model) return std::nullopt;
  auto costs = read_costs_and_shapes(sources, *model);
  print_diagnostics(costs ? costs->warnings : costs.error());
  if (!costs) return std::nullopt;
  return MeasuredModel{*std::move(model), *std::move(costs)};
}

Result<WrittenModels, Fault> write_models_with_progress(const LoadedModel& model,
                                                        const ModelPieces& pieces,
                                                        const OnnxWriteOptions& options,
                                                        const OutputFolder& folder) {
  ProgressBar bar(folder.final_path());
  OnnxWriteOptions observed = options;
  observed.progress = bar.observer();
  return write_models(model, pieces, observed, folder);
}

}  // namespace cleave
