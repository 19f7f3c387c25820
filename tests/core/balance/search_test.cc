#include "core/balance/search.h"

#include <algorithm>
#include <vector>

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
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
