// Calibration from files: profiles, and the models that ran.
//
//   CalibrateRequest request{.models = {{.path = "a.onnx"}}, .profiles = {"a.profile.json"}};
//   auto calibration = run_calibration(request);
#pragma once

#include <string>
#include <vector>

#include "core/base/progress.h"
#include "core/cost/calibration.h"
#include "formats/base/text/fault.h"
#include "formats/run/jobs/split_job.h"

namespace cleave {

struct CalibrateRequest {
  std::vector<ModelRequest> models;
  std::vector<std::string> profiles;  // one of each model, in the same order
};

struct CalibrateJob {
  Calibration calibration;
  std::vector<std::size_t> kernels;  // by model: how many were used
  std::vector<std::size_t> unused;   // by model: how many had unknown FLOPs or bytes
  Diagnostics warnings;
};

// A kernel is a measured node with a time above 0 whose FLOPs and bytes are known, also from shapes
// that the profile saw. Refuses a model or profile that cannot be read, with the faults of the
// first such file, and profiles without any kernel.
Result<CalibrateJob, Fault> run_calibration(const CalibrateRequest& request,
                                            const Progress& progress = {});

}  // namespace cleave
