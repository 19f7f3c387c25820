// Runs the jobs on stages for commands: takes the options, shows progress, prints messages.
#pragma once

#include <string>

#include "cli/jobs/write_stages.h"
#include "cli/options/stage_args.h"
#include "cli/terminal/exit_code.h"
#include "formats/models/model_file.h"
#include "formats/run/jobs/stage_plan.h"

namespace cleave {

// Decides where the model is cut. Prints warnings, and on failure what is wrong; the error is the
// exit code.
Result<StagePlan, ExitCode> plan_stages(const LoadedModel& model, const Graph& graph,
                                        const StagePlanArgs& args);

// cleave stage --workload: balanced stages of a public workload instead of a model. Reads,
// balances, reports. Prints what is wrong.
ExitCode stage_workload(const std::string& path, const StagePlanArgs& args,
                        const StagesOutput& output);

}  // namespace cleave
