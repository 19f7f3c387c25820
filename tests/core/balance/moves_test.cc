#include "core/balance/moves.h"

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
namespace {

constexpr const char* kFork = "a 1 !10\nb 5 < a:2 !20\nc 4 < a:2 !40\nd 2 < b:1 c:0.5";

StageState two_stages(const InstanceOf& made) {
  const Candidate candidate{.stage_of = {0, 0, 0, 1}, .kind_of_stage = {0, 0}};
  return StageState(made.instance(), candidate, {0, 0});
}

TEST_CASE("a stage's load is its time and what crosses its border") {
  const InstanceOf made(balance_problem(kFork));
  const StageState state = two_stages(made);
  CHECK(state.load(0) == 10 + 1.5);
  CHECK(state.load(1) == 2 + 1.5);
  CHECK(state.members(0).size() == 3);
}

TEST_CASE("a group may go no further than its neighbours") {
  const InstanceOf made(balance_problem(kFork));
  const StageState state = two_stages(made);
  CHECK(state.range_of(2).first == 0);
  CHECK(state.range_of(2).last == 1);
  CHECK(state.range_of(0).last == 0);
  CHECK(state.range_of(3).first == 0);
}

TEST_CASE("a move changes two stages, and moving back restores them") {
  const InstanceOf made(balance_problem(kFork));
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
  BalanceProblem problem = balance_problem(kFork);
  problem.devices = {{.name = "d", .memory = 50, .count = 2}};
  const InstanceOf made(std::move(problem));
  StageState state = two_stages(made);
  CHECK(state.overflow(0) == Approx(0.4));  // 70 of 50
  state.move(2, 1);
  CHECK(state.overflow(0) == 0);
}

}  // namespace
}  // namespace cleave::balance
