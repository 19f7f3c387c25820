// The result of a calibration as text.
#pragma once

#include <string>
#include <vector>

#include "core/cost/calibration.h"

namespace cleave {

struct CalibratedModel {
  std::string name;
  std::size_t kernels = 0;
  std::size_t unused = 0;
};

// `2,100 kernels of 9 models; typical error of a node 1.4x, of a model 1.15x (each model
// predicted from the others)`, then a row for each model and for each op.
std::string calibration_text(const Calibration& calibration,
                             const std::vector<CalibratedModel>& models);

}  // namespace cleave
