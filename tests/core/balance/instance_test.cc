#include "core/balance/instance.h"

#include <vector>

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

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

std::vector<std::uint32_t> list(std::span<const std::uint32_t> items) {
  return {items.begin(), items.end()};
}

TEST_CASE("a group sums the costs of its items, and keeps the nets between groups") {
  const InstanceOf made(balance_problem("a 3\nb 4 < a:0.5\nc 2 < a:0.5"));
  const Instance& instance = made.instance();
  CHECK(instance.size() == 3);
  CHECK(instance.time == std::vector<double>{3, 4, 2});
  REQUIRE(instance.net_count() == 1);  // what nobody reads crosses no border
  CHECK(instance.net_cost[0] == 0.5);
  CHECK(instance.net_home[0] == 0);
  CHECK(list(instance.pins.of(0)) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(list(instance.successors.of(0)) == std::vector<std::uint32_t>{1, 2});
  CHECK(list(instance.predecessors.of(2)) == std::vector<std::uint32_t>{0});
}

TEST_CASE("a value within a group crosses no border") {
  const BalanceProblem problem = [] {
    BalanceProblem made = balance_problem("a 3\nb 4 < a:0.5\nc 2 < b:0.25");
    made.devices = {{.name = "d", .count = 2}};
    return made;
  }();
  const Fleet fleet(problem, false);
  const Instance instance = make_instance(problem, fleet, CommModel::serial, {0, 0, 1}, 2);
  CHECK(instance.time == std::vector<double>{7, 2});
  REQUIRE(instance.net_count() == 1);
  CHECK(instance.net_cost[0] == 0.25);
}

TEST_CASE("items of one colour are tied, with the items between them") {
  const auto groups = [](std::string_view text) { return tied_items(balance_problem(text)).count; };
  CHECK(groups("a 1\nb 1 < a\nc 1 < b") == 3);
  CHECK(groups("a 1 #0\nb 1 < a\nc 1 < b #0") == 1);
  CHECK(groups("a 1 #0\nb 1\nc 1 < b #0") == 2);
}

}  // namespace

// Groups that stay together: tied_items() and contracted() of instance.h.

namespace {

std::size_t groups_left(std::string_view text) {
  const InstanceOf made(balance_problem(text));
  return contracted(made.instance()).size();
}

TEST_CASE("a group joins its only reader when its value is dearer than its time") {
  CHECK(groups_left("a 1\nb 2 < a:5\nc 9 < b:0") == 2);
}

TEST_CASE("a group whose value is cheaper than its time may go to a stage of its own") {
  CHECK(groups_left("a 5\nb 5 < a:1\nc 5 < b:1") == 3);
}

TEST_CASE("contraction keeps the sum of the times") {
  const InstanceOf made(balance_problem("a 1\nb 2 < a:5\nc 4 < b:0"));
  const Instance instance = contracted(made.instance());
  double sum = 0;
  for (const double time : instance.time) sum += time;
  CHECK(sum == 7);
  CHECK(instance.group_of[0] == instance.group_of[1]);
}

TEST_CASE("items of one colour and what lies between them are one component") {
  const Components tied = tied_items(balance_problem("a 1 #0\nb 1 < a\nc 1 < b #0\nd 1 < c"));
  CHECK(tied.count == 2);
  CHECK(tied.of[0] == tied.of[1]);
  CHECK(tied.of[1] == tied.of[2]);
  CHECK(tied.of[3] != tied.of[0]);
}

}  // namespace

}  // namespace cleave::balance
