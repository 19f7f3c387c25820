// Options of pipeline stages, however they are cut: where, parameters, skip connections, devices.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/options.h"
#include "core/base/base.h"
#include "core/stages/stages.h"
#include "formats/run/jobs/stage_jobs.h"

namespace cleave {

// All of these throw OptionRefused.

// --shared-params, --relay
StageBoundaryOptions stage_boundary_options(const Given& given);
// The devices of --device-map by stage, "" for none; empty when none were given. Refuses a stage that does not exist.
Result<std::vector<std::string>> stage_devices(const Given& given, std::size_t stage_count);

// Where a pipeline is cut, with the cost of a stage, the devices, and the effort of the search.
StagePlanRequest stage_plan_request(const Given& given);
// Error if an option was given that has no effect together with the others; else nullopt.
std::optional<Error> idle_stage_option(const Given& given, const StagePlanRequest& asked);
// The first given option that does not apply to a workload, which has no scopes, no model to write, and its own
// costs; empty when there is none.
std::string first_not_for_workload(const Given& given);

// --schedule. nullopt: no schedule was asked for.
std::optional<ScheduleRequest> schedule_request(const Given& given);

}  // namespace cleave
