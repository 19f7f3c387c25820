// Schedules for the stages of a model: their costs from the balance or estimated, and all schedules
// that can be made of them.
#pragma once

#include <cstdint>
#include <optional>

#include "core/split/partition.h"
#include "formats/jobs/balance_job.h"
#include "formats/report/stages/schedule_report.h"

namespace cleave {

struct ScheduleRequest {
  ScheduleKind kind = ScheduleKind::one_f_one_b;
  std::uint32_t microbatches = 1;
  std::uint32_t ranks = 0;     // 0: one a stage; for interleaved one for two stages
  double backward_factor = 2;  // a backward pass takes so many times as long as a forward pass
};

// What the costs of the stages come from.
struct ScheduleBasis {
  const Graph& graph;
  const Partition& partition;
  const BalanceRequest& costs;
  const std::optional<StageBalance>& balance;  // nullopt: the stages were not balanced
};

// Times of stages are those of the balance where it balanced times, else measured or estimated as
// balance_graph.h says. Memory of a rank: parameters, times the optimizer's factor, and for each
// microbatch in flight all tensors that the stage's nodes make. Where a time is not known, works
// are ordered as if all stages took equally long. Refuses a request that the schedule cannot take,
// and files of times that cannot be read.
Result<ScheduleReport, JobFault> schedule_stages(const ScheduleBasis& basis,
                                                 const ScheduleRequest& request);

}  // namespace cleave
