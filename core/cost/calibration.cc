// Least squares with three unknowns that must not be below 0: for each of the seven non-empty
// subsets of the unknowns, the others are set to 0 and the normal equations are solved. The best
// solution without negative numbers wins.
#include "core/cost/calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace cleave {
namespace {

using Three = std::array<double, 3>;  // coefficients: constant, per FLOP, per byte
using Square = std::array<Three, 3>;

// The sums that the normal equations need.
class Fit {
 public:
  void add(const Kernel& kernel) {
    const Three x = {1, kernel.flops, kernel.bytes};
    const double weight = 1 / kernel.us;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) products_[i][j] += weight * x[i] * x[j];
      targets_[i] += weight * x[i] * kernel.us;
    }
    ++count_;
  }

  std::size_t count() const { return count_; }

  OpTime solve(std::string op) const {
    Three best = {0, 0, 0};
    double best_error = 0;  // without the constant part, which all zeros has
    for (unsigned subset = 1; subset < 8; ++subset) {
      const auto found = solve_subset(subset);
      if (!found || *std::min_element(found->begin(), found->end()) < 0) continue;
      const double error = error_of(*found);
      if (error >= best_error) continue;
      best_error = error;
      best = *found;
    }
    return {std::move(op), best[0], best[1], best[2]};
  }

 private:
  // The sum of squares without the part that does not depend on x: x'Px - 2 x't.
  double error_of(const Three& x) const {
    double error = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 3; ++j) error += x[i] * products_[i][j] * x[j];
      error -= 2 * x[i] * targets_[i];
    }
    return error;
  }

  // Gauss elimination of the unknowns in the subset, scaled to a diagonal of ones; nullopt when
  // they are not independent.
  std::optional<Three> solve_subset(unsigned subset) const {
    std::vector<std::size_t> unknowns;
    for (std::size_t i = 0; i < 3; ++i) {
      if ((subset >> i & 1U) == 0) continue;
      if (products_[i][i] <= 0) return std::nullopt;
      unknowns.push_back(i);
    }
    Square a{};
    Three b{};
    const std::size_t count = unknowns.size();
    const auto scale = [&](std::size_t i) {
      return std::sqrt(products_[unknowns[i]][unknowns[i]]);
    };
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        a[i][j] = products_[unknowns[i]][unknowns[j]] / scale(i) / scale(j);
      }
      b[i] = targets_[unknowns[i]] / scale(i);
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (a[i][i] < 1e-9) return std::nullopt;
      for (std::size_t k = i + 1; k < count; ++k) {
        const double factor = a[k][i] / a[i][i];
        for (std::size_t j = i; j < count; ++j) a[k][j] -= factor * a[i][j];
        b[k] -= factor * b[i];
      }
    }
    Three x{};
    for (std::size_t i = count; i-- > 0;) {
      double rest = b[i];
      for (std::size_t j = i + 1; j < count; ++j) rest -= a[i][j] * x[unknowns[j]] * scale(j);
      x[unknowns[i]] = rest / a[i][i] / scale(i);
    }
    return x;
  }

  Square products_{};
  Three targets_{};
  std::size_t count_ = 0;
};

constexpr auto kNoModel = static_cast<std::uint32_t>(-1);

// Fitted to the kernels of all models but one.
std::vector<OpTime> times_without(const std::vector<Kernel>& kernels, std::uint32_t left_out) {
  Fit common;
  std::map<std::string, Fit> by_op;
  for (const Kernel& kernel : kernels) {
    if (kernel.us <= 0 || kernel.model == left_out) continue;
    common.add(kernel);
    by_op[kernel.op].add(kernel);
  }
  std::vector<OpTime> times;
  if (common.count() == 0) return times;
  times.push_back(common.solve(""));
  for (const auto& [op, fit] : by_op) {
    if (fit.count() >= kLeastKernelsOfOp && !op.empty()) times.push_back(fit.solve(op));
  }
  return times;
}

double told_us(const std::vector<OpTime>& times, const Kernel& kernel) {
  const auto found =
      std::lower_bound(times.begin(), times.end(), kernel.op,
                       [](const OpTime& time, const std::string& op) { return time.op < op; });
  const OpTime& time = found != times.end() && found->op == kernel.op ? *found : times.front();
  return time.us + time.us_per_flop * kernel.flops + time.us_per_byte * kernel.bytes;
}

// 2 both for twice as much and for half.
double as_factor(double ratio) { return ratio > 0 ? std::max(ratio, 1 / ratio) : HUGE_VAL; }

double median(std::vector<double> numbers) {
  if (numbers.empty()) return 1;
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

LeftOutError left_out_error(const std::vector<Kernel>& kernels, std::size_t models) {
  LeftOutError error;
  std::vector<double> node_factors;
  std::vector<double> model_factors;
  for (std::uint32_t model = 0; model < models; ++model) {
    const std::vector<OpTime> times = times_without(kernels, model);
    double told = 0;
    double measured = 0;
    for (const Kernel& kernel : kernels) {
      if (kernel.model != model || kernel.us <= 0 || times.empty()) continue;
      const double us = told_us(times, kernel);
      told += us;
      measured += kernel.us;
      node_factors.push_back(as_factor(us / kernel.us));
    }
    error.model_factors.push_back(measured > 0 ? told / measured : 1);
    if (measured > 0) model_factors.push_back(as_factor(told / measured));
  }
  error.node_factor = median(std::move(node_factors));
  error.model_factor = median(std::move(model_factors));
  return error;
}

}  // namespace

Calibration calibrate(const std::vector<Kernel>& kernels, std::size_t models) {
  Calibration found;
  found.times = times_without(kernels, kNoModel);
  found.kernels = static_cast<std::size_t>(std::count_if(
      kernels.begin(), kernels.end(), [](const Kernel& kernel) { return kernel.us > 0; }));
  found.models = models;
  if (models > 1) found.error = left_out_error(kernels, models);
  return found;
}

}  // namespace cleave
