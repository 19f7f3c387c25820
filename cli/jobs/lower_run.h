// Jobs of formats/lowering for commands: made from the options, with a progress bar and messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/terminal/exit_code.h"
#include "formats/io/temporary.h"
#include "formats/lowering/lower_job.h"

namespace cleave {

// Prints the fault; returns what the process exits with.
ExitCode refuse(const LowerFault& fault);

// A folder for what compilers read and write. Prints why there is none; then nullopt.
std::optional<Temporary> open_work_folder();

// False, and said, when the model is not ONNX.
bool is_for_compilers(const LoadedModel& model, const std::string& path);

// lower_model() with a progress bar on `subject`. Prints what went wrong.
Result<LowerOutcome, ExitCode> lower_with_progress(const LowerInput& input, LowerOptions& options,
                                                   const std::string& subject);

}  // namespace cleave
