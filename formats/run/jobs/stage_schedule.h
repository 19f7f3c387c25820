// Makes schedules for the stages of a model. The costs of the stages come from the balance, or are
// estimated.
#pragma once

#include <cstdint>
#include <optional>

#include "core/split/partition.h"
#include "formats/report/stages/schedule_report.h"
#include "formats/run/jobs/balance_job.h"

namespace cleave {

struct ScheduleRequest {
  ScheduleKind kind = ScheduleKind::one_f_one_b;
  std::uint32_t microbatches = 1;
  std::uint32_t ranks = 0;     // 0: one for each stage; interleaved: one for two stages
  double backward_factor = 2;  // a backward pass takes this many times as long as a forward pass
};

// What the costs of the stages are computed from.
struct ScheduleBasis {
  const Graph& graph;
  const Partition& partition;
  const BalanceRequest& costs;
  const std::optional<StageBalance>& balance;  // nullopt: the stages were not balanced
};

// The times of stages are those of the balance if it balanced times; otherwise they are measured or
// estimated as in problem_of_graph.h. The memory of a rank is its parameters, times the optimizer's
// factor, plus all tensors that the stage's nodes make, for each microbatch in flight. If a time is
// unknown, works are ordered as if all stages took equally long. Refuses a request that the
// schedule cannot meet, and files of times that cannot be read.
Result<ScheduleReport, JobFault> schedule_stages(const ScheduleBasis& basis,
                                                 const ScheduleRequest& request);

}  // namespace cleave
