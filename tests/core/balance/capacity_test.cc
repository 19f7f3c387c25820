#include "core/balance/capacity.h"

#include <utility>

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
namespace {

BalanceProblem with_host() {
  BalanceProblem problem = balance_problem("a 4\nb 6 < a:0");
  problem.items[0].host_time = 8;
  problem.items[1].host_time = 60;
  problem.devices = {{.name = "d", .speed = 2, .count = 3}, {.name = "h", .is_host = true}};
  return problem;
}

TEST_CASE("an accelerator does as much as its speed allows, less its transfers") {
  const InstanceOf made(with_host());
  const Capacity capacity(made.instance());
  CHECK(capacity.total_time() == 10);
  const DeviceKind& fast = made.instance().fleet->kinds()[0];
  CHECK(capacity.of(fast, 5, 0) == Approx(10));
  CHECK(capacity.of(fast, 5, 1) == Approx(8));
}

TEST_CASE("a host takes first what it does best, fractions included") {
  const InstanceOf made(with_host());
  const Capacity capacity(made.instance());
  const DeviceKind& host = made.instance().fleet->kinds()[1];
  REQUIRE(host.is_host);
  CHECK(capacity.of(host, 8, 0) == Approx(4));       // all of a
  CHECK(capacity.of(host, 38, 0) == Approx(4 + 3));  // and half of b
  CHECK(capacity.of_fleet(8) == Approx(3 * 16 + 4));
}

TEST_CASE("the peak of a stage counts its own values and those from outside") {
  BalanceProblem problem = balance_problem("a 1 =8\nb 1 =4 < a\nc 1 =2 < b");
  problem.devices = {{.name = "d", .memory = 13, .count = 2}};  // less than all values take
  const InstanceOf made(std::move(problem));
  StageMemory memory(made.instance());
  const auto peak = [&](std::vector<std::uint32_t> groups) {
    return memory.activation_bytes(groups);
  };
  CHECK(peak({0}) == 8);
  CHECK(peak({0, 1, 2}) == 8 + 4);   // a is gone when c is made
  CHECK(peak({1, 2}) == 8 + 4 + 2);  // a is from outside, and held
  CHECK(peak({2}) == 4 + 2);
  CHECK(peak({0, 1, 2}) == 8 + 4);  // a second call counts anew
}

}  // namespace

}  // namespace cleave::balance
