// Plans that runtimes obey: which device runs each node, in the words of each runtime. `split` writes
// them beside the manifest, where there are several targets.
#pragma once

#include <string>
#include <vector>

#include "formats/report/words/report.h"

namespace cleave {

struct PlanFile {
  std::string name;  // "plans.txt"
  std::string text;
};

// Of ONNX models: OpenVINO's affinities and ONNX Runtime's setting. Of TensorFlow Lite models: LiteRT's
// options. Each says what of it was verified. Empty for other models, and where there is one target.
std::vector<PlanFile> plan_files(const Report& report);

}  // namespace cleave
