// The reports of `cleave reduce`.
#pragma once

#include <string>

#include "formats/run/lowering/reduce_job.h"

namespace cleave {

struct ReduceReport {
  const ReduceInput& input;
  const ReduceOptions& options;
  const ReduceOutcome& outcome;
  std::string folder = {};  // where the finding is; "": nowhere
};

// The report as text, at most 100 columns.
std::string reduce_text(const ReduceReport& report);
// cleave.reduction version 1.
std::string reduce_json(const ReduceReport& report);

}  // namespace cleave
