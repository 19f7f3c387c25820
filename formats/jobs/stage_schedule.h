// Schedules for the stages of a model: their costs from the balance or estimated, and all schedules
// that can be made of them.
#pragma once

#include <cstdint>

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

// Times of stages are those of `balance` where it balanced times, else estimated as balance_graph.h
// says. Memory of a rank: parameters, times the optimizer's factor, and for each microbatch in
// flight all tensors that the stage's nodes make. Refuses a request that the schedule cannot take.
Result<ScheduleReport, JobFault> schedule_stages(const Graph& graph, const Partition& partition,
                                                 const BalanceRequest& costs,
                                                 const std::optional<StageBalance>& balance,
                                                 const ScheduleRequest& request);

}  // namespace cleave
