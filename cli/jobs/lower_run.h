// Jobs of lowering for commands: made from the options, with a progress bar and messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/run/jobs/lower_job.h"

namespace cleave {

// Makes a folder for the files of compilers; nullopt, after printing why, when it cannot.
std::optional<WorkFolder> open_work_folder();

// Returns false, after printing why, when no pieces of models of this format can be cut: of native JSON.
bool is_for_compilers(const LoadedModel& model, const std::string& path);

// Says that so many nodes, which only compute known integers, are compiled as constants.
void say_folded(std::size_t nodes);

// lower_model() with a progress bar. Prints what went wrong.
Result<LowerOutcome, ExitCode> lower_with_progress(const SplitJob& split,
                                                   const std::vector<Backend>& backends,
                                                   LowerOptions& options);

}  // namespace cleave
