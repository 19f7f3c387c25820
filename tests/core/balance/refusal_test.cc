#include "core/balance/refusal.h"

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
namespace {

TEST_CASE("whole numbers are written without a point, others with six digits") {
  CHECK(number_text(3) == "3");
  CHECK(number_text(2.5) == "2.5");
  CHECK(number_text(1.0 / 3) == "0.333333");
  CHECK(number_text(1e20) == "1e+20");
}

TEST_CASE("times are printed with the problem's unit if it has one") {
  BalanceProblem problem;
  CHECK(time_text(problem, 2.5) == "2.5");
  problem.unit = "ms";
  CHECK(time_text(problem, 2.5) == "2.5 ms");
}

TEST_CASE("an item larger than every device, or items larger than all devices, are an obstacle") {
  const auto obstacle = [](double memory, std::uint32_t count) {
    BalanceProblem problem = balance_problem("a 1 !60\nb 1 !60 < a");
    problem.devices = {{.name = "d", .memory = memory, .count = count}};
    return find_obstacle(InstanceOf(std::move(problem)).instance()).has_value();
  };
  CHECK_FALSE(obstacle(60, 2));
  CHECK(obstacle(59, 2));   // one is larger than a device
  CHECK(obstacle(100, 1));  // both are larger than all devices
}

}  // namespace
}  // namespace cleave::balance
