// Calibration: fits the time of an op to measured kernels as a + b * FLOPs + c * bytes.
//
// Each op with enough kernels has its own numbers; all other ops share numbers fitted to all
// kernels. None of a, b, c is below 0. The error is measured by leaving models out: the numbers are
// fitted to the other models and predict the times of the one left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/device.h"

namespace cleave {

// One run of a node. Its FLOPs and bytes are known.
struct Kernel {
  std::string op;  // op_key()
  double us = 0;
  double flops = 0;
  double bytes = 0;
  std::uint32_t model = 0;  // below the number of models
};

struct LeftOutError {
  double node_factor = 1;             // half of the kernels are predicted within this factor
  std::vector<double> model_factors;  // by model: predicted time / measured time
  double model_factor = 1;            // half of the models are predicted within this factor
};

struct Calibration {
  std::vector<OpTime> times;  // sorted by op; the common numbers, op "", come first
  std::size_t kernels = 0;
  std::size_t models = 0;
  std::optional<LeftOutError> error;  // nullopt when there is only one model
};

inline constexpr std::size_t kLeastKernelsOfOp = 8;

// Ignores kernels with a time of 0 or less; without kernels there are no times. Method:
// non-negative least squares in which the square of an error is weighted by 1 / time. Linear in
// kernels; the error takes that once per model.
Calibration calibrate(const std::vector<Kernel>& kernels, std::size_t models);

}  // namespace cleave
