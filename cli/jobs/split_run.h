// The jobs of formats/run/jobs for commands: made from the options, with a progress bar and messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/options/model_args.h"
#include "cli/terminal/exit_code.h"
#include "formats/run/jobs/split_job.h"
#include "formats/run/jobs/write_models.h"

namespace cleave {

// Prints the faults of a job; returns the exit code.
ExitCode refuse(const JobFault& fault);

// What the options ask for.
SplitRequest split_request(const ModelArgs& model, const SupportArgs& support,
                           const SplitArgs& split);

// Reads the model and the lists and runs the passes. Prints warnings. On failure the faults are
// printed, and the error is the exit code.
Result<SplitJob, ExitCode> run_split(const ModelArgs& model, const SupportArgs& support,
                                     const SplitArgs& split);

// A model and its costs from --costs. The model's graph has the declared shapes.
struct MeasuredModel {
  LoadedModel model;
  CostSet costs;
};

// The same for a model that was read before and outlives the job.
Result<SplitJob, ExitCode> run_split(const MeasuredModel& model, const SupportArgs& support,
                                     const SplitArgs& split);

// Reads the lists and prints warnings; nullopt when a list has faults, which are printed.
std::optional<std::vector<SupportList>> load_lists(const SupportArgs& args);

// Reads a model and prints warnings; nullopt when it has faults, which are printed.
std::optional<LoadedModel> load_model(const ModelArgs& args);

// The same, and the files of --costs.
std::optional<MeasuredModel> load_measured_model(const ModelArgs& args);

// write_models() with a progress bar.
Result<WrittenModels, JobFault> write_models_with_progress(const LoadedModel& model,
                                                           const ModelPieces& pieces,
                                                           const OnnxWriteOptions& options,
                                                           const OutputFolder& folder);

}  // namespace cleave
