#include "core/cost/calibration.h"

#include <algorithm>
#include <cmath>
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

// What the fit makes small: each kernel's squared error over its time.
double error_of(const OpTime& time, const std::vector<Kernel>& kernels) {
  double error = 0;
  for (const Kernel& kernel : kernels) {
    const double told = time.us + time.us_per_flop * kernel.flops + time.us_per_byte * kernel.bytes;
    error += (told - kernel.us) * (told - kernel.us) / kernel.us;
  }
  return error;
}

TEST_CASE("No numbers near those fitted have a smaller error, so that none have") {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    std::vector<Kernel> kernels;
    const double us = below(random, 50) - 10, per_flop = below(random, 3) - 1,
                 per_byte = below(random, 3) - 1;
    for (std::size_t i = 0; i < 15; ++i) {
      Kernel kernel{.op = "any", .flops = below(random, 20), .bytes = below(random, 30)};
      kernel.us = 1 + std::abs(us + per_flop * kernel.flops + per_byte * kernel.bytes);
      kernels.push_back(kernel);
    }
    const OpTime found = time_of(calibrate(kernels, 1), "any");
    const double least = error_of(found, kernels);
    INFO("seed " << seed);
    for (int step = 0; step < 27; ++step) {
      const auto near = [](double number, int way) { return std::max(0.0, number + way * 1e-3); };
      const OpTime other{"any", near(found.us, step % 3 - 1),
                         near(found.us_per_flop, step / 3 % 3 - 1),
                         near(found.us_per_byte, step / 9 - 1)};
      CHECK(error_of(other, kernels) >= least * (1 - 1e-9));
    }
  }
}

TEST_CASE("Kernels without FLOPs or bytes, or with as many of one as of the other, have numbers") {
  const auto exact = [](double flops, double bytes) {
    std::vector<Kernel> kernels;
    for (int i = 1; i <= 12; ++i) {
      kernels.push_back({.op = "any", .us = 3.0 + i, .flops = flops * i, .bytes = bytes * i});
    }
    const OpTime found = time_of(calibrate(kernels, 1), "any");
    CHECK(error_of(found, kernels) < 1e-12);
  };
  exact(1, 0);
  exact(0, 2);
  exact(1000, 1);
  std::vector<Kernel> kernels(8, {.op = "any", .us = 5});
  const OpTime found = time_of(calibrate(kernels, 1), "any");
  CHECK(found.us == Approx(5));
  CHECK(found.us_per_flop == 0);
  CHECK(found.us_per_byte == 0);
}

TEST_CASE(
    "An op has numbers of its own from the least number of kernels on; times of 0 count nowhere") {
  const auto ops = [](std::size_t kernels, double us) {
    std::vector<Kernel> all(20, {.op = "conv", .us = 5});
    all.insert(all.end(), kernels, {.op = "relu", .us = us});
    all.insert(all.end(), 20, {.op = "", .us = 5});
    const Calibration found = calibrate(all, 1);
    CHECK(found.models == 1);
    CHECK(found.kernels == (us > 0 ? 40 + kernels : 40));
    std::string text;
    for (const OpTime& time : found.times) text += "[" + time.op + "]";
    return text;
  };
  CHECK(ops(kLeastKernelsOfOp - 1, 1) == "[][conv]");
  CHECK(ops(kLeastKernelsOfOp, 1) == "[][conv][relu]");
  CHECK(ops(kLeastKernelsOfOp, 0) == "[][conv]");
  CHECK(ops(kLeastKernelsOfOp, -1) == "[][conv]");
}

// Kernels that take one time, whatever they compute.
void add_same(std::vector<Kernel>& kernels, const std::string& op, double us, std::size_t count,
              std::uint32_t model) {
  kernels.insert(kernels.end(), count, {.op = op, .us = us, .model = model});
}

TEST_CASE("What a left-out model would be told is the mean of the others, op by op") {
  std::vector<Kernel> kernels;
  add_same(kernels, "conv", 10, 20, 0);
  add_same(kernels, "conv", 20, 20, 1);
  add_same(kernels, "conv", 40, 10, 2);
  add_same(kernels, "conv", 0, 9, 2);
  add_same(kernels, "relu", 2, 6, 0);
  add_same(kernels, "add", 8, 4,
           2);  // told the common number: 20 conv of 20 us, 20 of 10, 6 relu of 2
  const Calibration found = calibrate(kernels, 4);
  REQUIRE(found.error);
  REQUIRE(found.error->model_factors.size() == 4);
  // The mean of kernels weighted by 1 / time is harmonic.
  const double conv0 = 30.0 / (20.0 / 20 + 10.0 / 40), all0 = 34.0 / (1.0 + 0.25 + 0.5);
  const double conv1 = 30.0 / (20.0 / 10 + 10.0 / 40);
  const double conv2 = 40.0 / (20.0 / 10 + 20.0 / 20), all2 = 46.0 / (2.0 + 1.0 + 3.0);
  const double told0 = 20 * conv0 + 6 * all0, told2 = 10 * conv2 + 4 * all2;
  CHECK(found.error->model_factors[0] == Approx(told0 / 212));
  CHECK(found.error->model_factors[1] == Approx(conv1 / 20));
  CHECK(found.error->model_factors[2] == Approx(told2 / 432));
  CHECK(found.error->model_factors[3] == 1);                // without kernels
  CHECK(found.error->model_factor == Approx(432 / told2));  // 2.5, 1.5 and 2.6
  CHECK(found.error->node_factor == Approx(conv0 / 10));    // 20 times 2.4, 20 times 1.5, others
}

TEST_CASE("A model that is told to take no time is infinitely far off") {
  std::vector<Kernel> kernels;
  for (int i = 1; i <= 10; ++i) kernels.push_back({.op = "conv", .us = 1.0 * i, .flops = 1.0 * i});
  kernels.push_back({.op = "conv", .us = 3, .model = 1});
  const Calibration found = calibrate(kernels, 2);
  REQUIRE(found.error);
  CHECK(found.error->model_factors[1] == Approx(0).margin(1e-9));
  CHECK(found.error->model_factor > 1e9);
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
