#include "core/balance/fleet.h"

#include <vector>

#include "tests/catch2.h"

namespace cleave::balance {
namespace {

TEST_CASE("equal devices are one kind: their states count how many are taken") {
  BalanceProblem problem;
  problem.devices = {{.name = "d", .count = 3}};
  const Fleet fleet(problem, false);
  CHECK(fleet.is_uniform());
  CHECK(fleet.state_count() == 4);
  REQUIRE(fleet.steps(0).size() == 1);
  CHECK(fleet.steps(0)[0].to == 1);
  CHECK(fleet.steps(fleet.full_state()).empty());
  CHECK(fleet.used(fleet.full_state()) == 3);
}

TEST_CASE("with a host and any order, each state has a step to each kind with free devices") {
  BalanceProblem problem;
  problem.devices = {{.name = "a", .count = 2}, {.name = "h", .is_host = true}};
  const Fleet fleet(problem, false);
  CHECK(fleet.has_host());
  CHECK_FALSE(fleet.is_uniform());
  CHECK(fleet.state_count() == 3 * 2);
  CHECK(fleet.steps(0).size() == 2);
  CHECK(fleet.device_count() == 3);
  CHECK(fleet.kinds()[1].comm_scale == 0);
  CHECK(fleet.devices_of(std::vector<std::uint32_t>{0, 1, 0}) ==
        std::vector<std::uint32_t>{0, 1, 0});
}

TEST_CASE("different devices in order may be skipped, unless each must have a stage") {
  BalanceProblem problem;
  problem.devices = {{.name = "slow", .speed = 0.5}, {.name = "fast", .speed = 2}};
  problem.devices_in_order = true;
  const Fleet fleet(problem, false);
  CHECK(fleet.in_order());
  CHECK(fleet.may_skip());
  CHECK(fleet.state_count() == 3);
  CHECK(fleet.kinds()[0].time_scale == 2);
  CHECK(fleet.kinds()[1].time_scale == 0.5);
  CHECK_FALSE(Fleet(problem, true).may_skip());
}

TEST_CASE("memory that holds everything is no limit") {
  BalanceProblem problem;
  problem.items = {{.bytes = 60}, {.bytes = 40}};
  problem.devices = {{.name = "d", .memory = 100}};
  CHECK_FALSE(Fleet(problem, false).has_caps());
  problem.devices[0].memory = 99;
  CHECK(Fleet(problem, false).has_caps());
}

}  // namespace
}  // namespace cleave::balance
