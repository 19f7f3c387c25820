#include "core/balance/instance.h"

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
namespace {

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
}  // namespace cleave::balance
