// The jobs of formats/run/jobs for commands: made from the options, with a progress bar and messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/exit_code.h"
#include "formats/run/jobs/split_job.h"
#include "formats/run/jobs/write_models.h"

namespace cleave {

// Prints the faults of a job; returns the exit code.
ExitCode refuse(const Fault& fault);

// A model and its costs from --costs. The model's graph has the declared shapes.
struct MeasuredModel {
  LoadedModel model;
  CostSet costs;
};

// run_split() with a progress bar. Prints warnings, but for those of `told`. On failure the faults are
// printed, and the error is the exit code.
Result<SplitJob, ExitCode> split_with_progress(const SplitRequest& request,
                                               const InputsRead& read = {},
                                               const Diagnostics& told = {});

// The warnings that do not read as one of those that were printed before.
Diagnostics without_told(Diagnostics warnings, const Diagnostics& told);

// Warnings of targets that hold more than they can, for commands whose report has no notes.
Diagnostics limit_warnings(const SplitJob& job);

// Reads the lists and prints warnings; nullopt when a list has faults, which are printed.
std::optional<ListsRead> load_lists(const ListsRequest& request);

// Reads a model and prints warnings; nullopt when it has faults, which are printed.
std::optional<LoadedModel> load_model(const ModelRequest& request);

// The same, and the files of --costs.
std::optional<MeasuredModel> load_measured_model(const ModelRequest& request,
                                                 const std::vector<CostSource>& costs);

// write_models() with a progress bar.
Result<WrittenModels, Fault> write_models_with_progress(const LoadedModel& model,
                                                        const ModelPieces& pieces,
                                                        const OnnxWriteOptions& options,
                                                        const OutputFolder& folder);

}  // namespace cleave
