// The options of a schedule for the stages of a pipeline.
#pragma once

#include <optional>

#include "formats/run/jobs/stage_schedule.h"

namespace CLI {
class App;
}

namespace cleave {

// --schedule, --microbatches, --ranks, --backward-factor
class ScheduleArgs {
 public:
  void add_to(CLI::App& app);

  // nullopt: no schedule was asked for.
  std::optional<ScheduleRequest> request() const;

 private:
  ScheduleRequest request_;
  const CLI::App* app_ = nullptr;  // to see which options were given
};

}  // namespace cleave
