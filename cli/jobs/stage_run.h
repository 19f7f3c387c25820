// cleave stage --workload: balanced stages of a public workload instead of a model.
#pragma once

#include <string>

#include "cli/jobs/stage_plan.h"
#include "cli/jobs/write_stages.h"
#include "cli/terminal/exit_code.h"

namespace cleave {

// Reads, balances, reports. Prints what is wrong.
ExitCode stage_workload(const std::string& path, const StagePlanArgs& plan,
                        const StagesOutput& output);

}  // namespace cleave
