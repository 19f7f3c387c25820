#include <algorithm>
#include <vector>

#include "core/stages/solvers.h"
#include "tests/catch2.h"
#include "tests/core/stages/balance_text.h"
#include "tests/core/stages/instance_of.h"

namespace cleave::balance {

// ---- orders test ----

namespace {

constexpr const char* kDiamond = "a 1\nb 5 < a\nc 2 < a\nd 1 < b c";

TEST_CASE("the given order is that of the items") {
  const InstanceOf made(balance_problem(kDiamond));
  CHECK(given_order(made.instance()) == Order{0, 1, 2, 3});
}

TEST_CASE("each standard order has every group once, successors later") {
  const InstanceOf made(balance_problem(kDiamond));
  const std::vector<Order> orders = standard_orders(made.instance());
  CHECK(orders.size() == 7);
  for (const Order& order : orders) {
    REQUIRE(order.size() == 4);
    CHECK(std::is_permutation(order.begin(), order.end(), Order{0, 1, 2, 3}.begin()));
    CHECK(order.front() == 0);
    CHECK(order.back() == 3);
  }
}

TEST_CASE("the ready group with the least key goes first; among equals, the lower number") {
  const InstanceOf made(balance_problem(kDiamond));
  CHECK(order_by_key(made.instance(), std::vector<double>{9, 2, 1, 0}) == Order{0, 2, 1, 3});
  CHECK(order_by_key(made.instance(), std::vector<double>{0, 1, 1, 0}) == Order{0, 1, 2, 3});
}

}  // namespace

// ---- portfolio test ----

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

// ---- search test ----

namespace {

constexpr const char* kWeighedFork = "a 1 !10\nb 5 < a:2 !20\nc 4 < a:2 !40\nd 2 < b:1 c:0.5";

StageState two_stages(const InstanceOf& made) {
  const Candidate candidate{.stage_of = {0, 0, 0, 1}, .kind_of_stage = {0, 0}};
  return StageState(made.instance(), candidate, {0, 0});
}

TEST_CASE("a stage's load is its time and what crosses its border") {
  const InstanceOf made(balance_problem(kWeighedFork));
  const StageState state = two_stages(made);
  CHECK(state.load(0) == 10 + 1.5);
  CHECK(state.load(1) == 2 + 1.5);
  CHECK(state.members(0).size() == 3);
}

TEST_CASE("a group may go no further than its neighbours") {
  const InstanceOf made(balance_problem(kWeighedFork));
  const StageState state = two_stages(made);
  CHECK(state.range_of(2).first == 0);
  CHECK(state.range_of(2).last == 1);
  CHECK(state.range_of(0).last == 0);
  CHECK(state.range_of(3).first == 0);
}

TEST_CASE("a move changes two stages, and moving back restores them") {
  const InstanceOf made(balance_problem(kWeighedFork));
  StageState state = two_stages(made);
  state.move(2, 1);
  CHECK(state.stage_of(2) == 1);
  CHECK(state.load(0) == 6 + 2 + 1);  // a's value goes out once
  CHECK(state.load(1) == 6 + 2 + 1);
  state.move(2, 0);
  CHECK(state.load(0) == 10 + 1.5);
  CHECK(state.load(1) == 2 + 1.5);
}

TEST_CASE("overflow is the share of its memory by which a stage is too large") {
  BalanceProblem problem = balance_problem(kWeighedFork);
  problem.devices = {{.name = "d", .memory = 50, .count = 2}};
  const InstanceOf made(std::move(problem));
  StageState state = two_stages(made);
  CHECK(state.overflow(0) == Approx(0.4));  // 70 of 50
  state.move(2, 1);
  CHECK(state.overflow(0) == 0);
}

constexpr const char* kFork = "a 1\nb 5 < a:0\nc 4 < a:0\nd 2 < b:0 c:0";

Candidate all_in_one() {
  return {.objective = 12, .stage_of = {0, 0, 0, 0}, .kind_of_stage = {0, 0}};
}

TEST_CASE("the search leaves a bad start, and keeps the order of the groups") {
  const InstanceOf made(balance_problem(kFork));
  const SearchResult result = local_search(made.instance(), all_in_one(), {.moves = 20000});
  CHECK(result.best.objective == 6);
  CHECK(result.best.stage_of[0] <= result.best.stage_of[1]);
  CHECK(result.best.stage_of[2] <= result.best.stage_of[3]);
}

TEST_CASE("the search stops at what is enough, and is the same each time") {
  const InstanceOf made(balance_problem(kFork));
  const SearchOptions options{.moves = 1000000, .enough = 6};
  const SearchResult first = local_search(made.instance(), all_in_one(), options);
  const SearchResult second = local_search(made.instance(), all_in_one(), options);
  CHECK(first.moves < options.moves);
  CHECK(first.moves == second.moves);
  CHECK(first.best.stage_of == second.best.stage_of);
}

TEST_CASE("a start that exceeds the memory is made to fit") {
  BalanceProblem problem = balance_problem("a 3 !60\nb 3 < a:0 !60\nc 1 < b:0 !60");
  problem.devices = {{.name = "d", .memory = 130, .count = 2}};
  const InstanceOf made(std::move(problem));
  const Candidate start{.stage_of = {0, 0, 0}, .kind_of_stage = {0, 0}};
  const SearchResult result =
      local_search(made.instance(), start, {.moves = 20000, .start_fits = false});
  CHECK(result.best.objective == 4);
}

TEST_CASE("devices that the start leaves out are added as what they are") {
  BalanceProblem problem =
      balance_problem("a 4\nb 4 < a:0\nc 4 < b:0\nd 4 < c:0\ne 4 < d:0\nf 4 < e:0");
  problem.devices = {{.name = "slow", .speed = 1, .count = 2},
                     {.name = "fast", .speed = 4, .count = 1}};
  const InstanceOf made(std::move(problem));
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Candidate start{.objective = 24, .stage_of = {0, 0, 0, 0, 0, 0}, .kind_of_stage = {0}};
    const SearchResult result =
        local_search(made.instance(), start, {.moves = 20000, .seed = seed});
    // Four items on the fast device and one on each slow one.
    CHECK(result.best.objective == 4);
    std::vector<std::uint32_t> kinds = result.best.kind_of_stage;
    CHECK(std::count(kinds.begin(), kinds.end(), 0U) <= 2);
    CHECK(std::count(kinds.begin(), kinds.end(), 1U) == 1);
  }
}

TEST_CASE("a deadline of 0 seconds has passed, one without limit never does") {
  CHECK(Deadline(0).has_passed());
  CHECK_FALSE(Deadline(kUnlimited).has_passed());
}

}  // namespace

}  // namespace cleave::balance
