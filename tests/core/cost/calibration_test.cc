#include "core/cost/calibration.h"

#include <random>

#include "tests/catch2.h"

namespace cleave {
namespace {

double below(std::mt19937& random, double most) {
  return most * static_cast<double>(random() % 10'000) / 10'000;
}

// Kernels of an op that take exactly this.
void add(std::vector<Kernel>& kernels, const OpTime& time, std::size_t count, std::uint32_t model) {
  std::mt19937 random(static_cast<std::uint32_t>(kernels.size()) + 1);
  for (std::size_t i = 0; i < count; ++i) {
    Kernel kernel{.op = time.op, .flops = below(random, 1e9), .bytes = below(random, 1e7)};
    kernel.us = time.us + time.us_per_flop * kernel.flops + time.us_per_byte * kernel.bytes;
    kernel.model = model;
    kernels.push_back(kernel);
  }
}

const OpTime& time_of(const Calibration& found, const std::string& op) {
  for (const OpTime& time : found.times) {
    if (time.op == op) return time;
  }
  FAIL("no times of " << op);
  return found.times.front();
}

TEST_CASE("Calibration finds the times of made-up kernels again, op by op") {
  std::vector<Kernel> kernels;
  add(kernels, {"conv", 5, 1e-5, 2e-5}, 30, 0);
  add(kernels, {"relu", 1, 0, 3e-5}, 30, 1);
  const Calibration found = calibrate(kernels, 2);
  CHECK(found.kernels == 60);
  CHECK(found.times.front().op.empty());
  CHECK(time_of(found, "conv").us == Approx(5).epsilon(1e-4));
  CHECK(time_of(found, "conv").us_per_flop == Approx(1e-5));
  CHECK(time_of(found, "conv").us_per_byte == Approx(2e-5).epsilon(1e-4));
  CHECK(time_of(found, "relu").us_per_flop == Approx(0).margin(1e-9));
  CHECK(time_of(found, "relu").us_per_byte == Approx(3e-5).epsilon(1e-4));
}

TEST_CASE("An op with few kernels uses the common numbers") {
  std::vector<Kernel> kernels;
  add(kernels, {"conv", 5, 1e-5, 0}, 30, 0);
  add(kernels, {"rare", 2, 0, 0}, kLeastKernelsOfOp - 1, 0);
  const Calibration found = calibrate(kernels, 1);
  CHECK(found.times.size() == 2);
  CHECK(!found.error);
}

TEST_CASE("No fitted number is below 0, whatever the kernels' times") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<Kernel> kernels;
    for (std::size_t i = 0; i < 20; ++i) {
      kernels.push_back({.op = "any",
                         .us = 1 + below(random, 100),
                         .flops = random() % 3 == 0 ? 0 : below(random, 1e9),
                         .bytes = below(random, 1e6)});
    }
    INFO("seed " << seed);
    for (const OpTime& time : calibrate(kernels, 1).times) {
      CHECK(time.us >= 0);
      CHECK(time.us_per_flop >= 0);
      CHECK(time.us_per_byte >= 0);
      CHECK(time.us + time.us_per_flop + time.us_per_byte > 0);
    }
  }
}

TEST_CASE("The error is measured on models that were left out") {
  std::vector<Kernel> kernels;
  add(kernels, {"conv", 10, 0, 0}, 20, 0);
  add(kernels, {"conv", 10, 0, 0}, 20, 1);
  add(kernels, {"conv", 20, 0, 0}, 20, 2);
  const Calibration found = calibrate(kernels, 3);
  REQUIRE(found.error);
  CHECK(found.error->model_factors.size() == 3);
  CHECK(found.error->model_factors[2] == Approx(0.5));
  CHECK(found.error->model_factor >= 1);
  CHECK(found.error->node_factor > 1.2);
}

TEST_CASE("Without kernels there are no times") { CHECK(calibrate({}, 0).times.empty()); }

}  // namespace
}  // namespace cleave
