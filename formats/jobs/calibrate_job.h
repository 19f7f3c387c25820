// Calibration from files: profiles, and the models that ran.
//
//   CalibrateRequest request{.models = {{.path = "a.onnx"}}, .profiles = {"a.profile.json"}};
//   auto calibration = run_calibration(request);
#pragma once

#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/cost/calibration.h"
#include "formats/jobs/job_fault.h"
#include "formats/jobs/split_job.h"

namespace cleave {

struct CalibrateRequest {
  std::vector<ModelRequest> models;
  std::vector<std::string> profiles;  // one of each model, in the same order
};

struct CalibrateJob {
  Calibration calibration;
  std::vector<std::size_t> kernels;  // by model: those that were used
  std::vector<std::size_t> unused;   // by model: measured, but of unknown FLOPs or sizes
  Diagnostics warnings;
};

// A kernel is a measured node with a time above 0 whose FLOPs and bytes are known; shapes that the
// profile saw count. On error the faults of the first model or profile that has any; also where no
// profile has a kernel.
Result<CalibrateJob, JobFault> run_calibration(const CalibrateRequest& request,
                                               const Progress& progress = {});

}  // namespace cleave
