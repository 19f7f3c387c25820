// Calibration: from measured kernels the time of an op as a + b * FLOPs + c * bytes.
//
// Each op with enough kernels has its own numbers; the others share common ones, found over all
// kernels. None of a, b, c is below 0. How far off they are is measured on models that are left
// out: the numbers are found anew from the other models, and tell the time of the one left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cost/device.h"

namespace cleave {

// One node as it ran once. Its FLOPs and bytes are known.
struct Kernel {
  std::string op;  // op_key()
  double us = 0;
  double flops = 0;
  double bytes = 0;
  std::uint32_t model = 0;  // below the number of models
};

struct LeftOutError {
  double node_factor = 1;             // half of the kernels are told within this factor
  std::vector<double> model_factors;  // by model: told time / measured time
  double model_factor = 1;            // half of the models are told within this factor
};

struct Calibration {
  std::vector<OpTime> times;  // sorted by op; first the common one, ""
  std::size_t kernels = 0;
  std::size_t models = 0;
  std::optional<LeftOutError> error;  // none when there is one model only
};

inline constexpr std::size_t kLeastKernelsOfOp = 8;

// Kernels of a time of 0 or less are left out; without any there are no times. Non-negative least
// squares, where the square of an error counts in proportion to 1 / time. Linear in kernels, times
// models for the error.
Calibration calibrate(const std::vector<Kernel>& kernels, std::size_t models);

}  // namespace cleave
