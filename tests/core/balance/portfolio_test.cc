#include "core/balance/portfolio.h"

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

PortfolioAnswer answer(BalanceProblem problem) {
  const InstanceOf made(std::move(problem));
  const Deadline deadline(kUnlimited);
  const BalanceOptions options;
  return Portfolio(made.instance(), options, deadline).run();
}

TEST_CASE("more effort allows no less of anything") {
  for (const std::size_t groups : {std::size_t{10}, std::size_t{1000}, std::size_t{100000}}) {
    const Budget low = budget_for(Effort::low, groups), high = budget_for(Effort::high, groups);
    CHECK(low.moves <= high.moves);
    CHECK(low.flow_steps <= high.flow_steps);
    CHECK(low.first_stages <= high.first_stages);
    CHECK(low.last_stages <= high.last_stages);
    CHECK(low.ideals <= high.ideals);
    CHECK(low.orders <= high.orders);
  }
}

TEST_CASE("the searches together find the best of a small problem, and prove it") {
  const PortfolioAnswer best = answer(balance_problem("a 1\nb 5 < a:0\nc 4 < a:0\nd 2 < b:0 c:0"));
  CHECK(best.best.objective == 6);
  CHECK(best.bound.objective == Approx(6));
  REQUIRE(best.curve.size() == 2);
  CHECK(best.curve[0] == 12);
  CHECK(best.curve[1] == 6);
}

TEST_CASE("where nothing fits, the least excess is known") {
  BalanceProblem problem = balance_problem("a 1 !150\nb 1 < a:0 !10");
  problem.devices = {{.name = "d", .memory = 100, .count = 2}};
  const PortfolioAnswer none = answer(std::move(problem));
  CHECK(none.best.objective == kUnlimited);
  CHECK(none.least_excess_bytes == 50);
}

}  // namespace

}  // namespace cleave::balance
