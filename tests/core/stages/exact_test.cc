#include <utility>

#include "core/stages/solvers.h"
#include "tests/catch2.h"
#include "tests/core/stages/balance_text.h"
#include "tests/core/stages/instance_of.h"

namespace cleave::balance {

// ---- bound test ----

namespace {

// The least cut when the groups are on these sides.
struct Cut {
  double least, with_time;
};
Cut cut(std::string_view text, const std::vector<Side>& sides) {
  const InstanceOf made(balance_problem(text));
  CutNetwork network(made.instance());
  network.start();
  for (std::uint32_t net = 0; net < made.instance().net_count(); ++net) {
    network.add_net(net, [&](std::uint32_t group) { return sides[group]; });
  }
  const double least = network.least_cut(kUnlimited);
  return {least, network.least_cut_with_time(kUnlimited)};
}

constexpr const char* kChain = "a 1\nb 2 < a:5\nc 1 < b:3";

TEST_CASE("a value between a group inside and one outside is always cut") {
  CHECK(cut(kChain, {Side::in, Side::out, Side::out}).least == 5);
}

TEST_CASE("an undecided group goes to the side where less is cut") {
  CHECK(cut(kChain, {Side::in, Side::open, Side::out}).least == 3);
}

TEST_CASE("an undecided group may join at the price of its time") {
  CHECK(cut(kChain, {Side::in, Side::open, Side::out}).with_time == 5);  // either way: 3 + 2, or 5
  CHECK(cut("a 1\nb 1 < a:5\nc 1 < b:3", {Side::in, Side::open, Side::out}).with_time == 4);
}

TEST_CASE("with nothing outside nothing is cut") {
  CHECK(cut(kChain, {Side::in, Side::open, Side::in}).least == 0);
}

TEST_CASE("a stage holds the groups between its links; a group beside the chain is open") {
  // a, b, c and d are the chain; e is after a and before d, beside b and c.
  const InstanceOf made(balance_problem("a 1\nb 2 < a\nc 4 < b\ne 8 < a\nd 16 < c e"));
  const Chain chain(made.instance(), {0, 1, 2, 4});
  CHECK(chain.size() == 4);
  CHECK(chain.side(1, 2, 3) == Side::in);    // b is link 2
  CHECK(chain.side(0, 2, 3) == Side::out);   // a comes before
  CHECK(chain.side(4, 2, 3) == Side::out);   // d comes after
  CHECK(chain.side(3, 2, 3) == Side::open);  // e may be with b and c
  CHECK(chain.side(3, 1, 4) == Side::in);    // e is between a and d
}

TEST_CASE("a stage's time is at least that of the groups between its links") {
  const InstanceOf made(balance_problem("a 1\nb 2 < a\nc 4 < b\ne 8 < a\nd 16 < c e"));
  const Chain chain(made.instance(), {0, 1, 2, 4});
  CHECK(chain.forced(2, 3).time == 2 + 4);
  CHECK(chain.forced(1, 4).time == 1 + 2 + 4 + 8 + 16);
  CHECK(chain.forced(1, 1).time == 1);
}

TEST_CASE("the longest path by time is among the heavy chains") {
  const InstanceOf made(balance_problem("a 1\nb 9 < a\nc 1 < a\nd 1 < b c"));
  const std::vector<Chain> chains = heavy_chains(made.instance(), 10);
  REQUIRE_FALSE(chains.empty());
  CHECK(chains.front().size() == 3);
  CHECK(chains.front().side(1, 2, 2) == Side::in);  // b, not c
}

TEST_CASE("the path with the largest share of the link's cost is among the heavy chains") {
  // b takes the more time; c's values have all of the cost, however small it is.
  const InstanceOf made(
      balance_problem("a 1\nb 9 < a:0\nc 1 < a:0\ne 1 < b:0\nf 1 < c:0.01\nd 1 < e:0 f:0.01"));
  const std::vector<Chain> chains = heavy_chains(made.instance(), 10);
  REQUIRE(chains.size() == 2);
  CHECK(chains.front().side(1, 2, 2) == Side::in);  // b by time
  CHECK(chains.back().side(2, 2, 2) == Side::in);   // c by cost
}

constexpr BoundOptions kPlenty = {.flow_steps = 1000000};

TEST_CASE("the work of all groups spread over all devices bounds the objective") {
  const InstanceOf made(balance_problem("a 3\nb 3 < a:0\nc 4 < b:0"));
  const Bound bound = simple_bound(made.instance());
  CHECK(bound.objective == Approx(5));
  CHECK(bound.certificate == "work");
}

TEST_CASE("the longest group bounds the objective") {
  const InstanceOf made(balance_problem("a 1\nb 9 < a:0\nc 1 < b:0"));
  const Bound bound = simple_bound(made.instance());
  CHECK(bound.objective == Approx(9));
  CHECK(bound.certificate == "single-node");
}

TEST_CASE("a chain is bounded by its work and the cheapest cuts between runs") {
  // Work alone would allow 9, with no group split: whatever is cut, a value crosses.
  const InstanceOf made(balance_problem("a 6\nb 6 < a:2\nc 6 < b:2"));
  CHECK(simple_bound(made.instance()).objective == Approx(9));
  CHECK(flow_bound(made.instance(), kPlenty).objective >= 9);
  CHECK(flow_bound(made.instance(), kPlenty).objective <= 14);  // a b, 2 out | 2 in, c
}

TEST_CASE("a group pays for its value, or for the group that reads it") {
  const InstanceOf made(balance_problem("a 4\nb 4 < a:3"));
  const Bound bound = flow_bound(made.instance(), kPlenty);
  CHECK(bound.objective == Approx(7));
  CHECK(bound.certificate == "single-node");
}

TEST_CASE("no bound is above an objective that was reached") {
  const InstanceOf made(balance_problem("a 4\nb 4 < a:3"));
  BoundOptions options = kPlenty;
  options.reached = 6;
  CHECK(flow_bound(made.instance(), options).objective <= 6);
}

}  // namespace

// ---- capacity test ----

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

// ---- exact test ----

namespace {

std::size_t ideals(std::string_view text, std::size_t most = 1000) {
  const InstanceOf made(balance_problem(text));
  const auto found = Ideals::enumerate(made.instance(), most);
  return found ? found->count() : 0;
}

TEST_CASE("a chain has an ideal for each length, with the empty one") {
  CHECK(ideals("a 1\nb 1 < a\nc 1 < b") == 4);
}

TEST_CASE("groups without an order have an ideal for each subset") {
  CHECK(ideals("a 1\nb 1\nc 1\nd 1") == 16);
}

TEST_CASE("a diamond has six ideals") { CHECK(ideals("a 1\nb 1 < a\nc 1 < a\nd 1 < b c") == 6); }

TEST_CASE("each way on adds one group, and the last ideal has none") {
  const InstanceOf made(balance_problem("a 1\nb 1 < a\nc 1 < a"));
  const auto found = Ideals::enumerate(made.instance(), 1000);
  REQUIRE(found);
  REQUIRE(found->next(0).size() == 1);
  CHECK(found->next(0)[0].group == 0);
  CHECK(found->next(found->next(0)[0].ideal).size() == 2);
  CHECK(found->next(static_cast<std::uint32_t>(found->count() - 1)).empty());
}

TEST_CASE("enumeration stops at the limit") { CHECK(ideals("a 1\nb 1\nc 1\nd 1", 15) == 0); }

constexpr ExactOptions kPlentyIdeals = {.most_ideals = 1000, .most_stages = 100000};
constexpr const char* kFork = "a 1\nb 5 < a:0\nc 4 < a:0\nd 2 < b:0 c:0";

TEST_CASE("the best stages of all are found, and proved") {
  const InstanceOf made(balance_problem(kFork));
  const ExactResult result = exact_search(made.instance(), kPlentyIdeals);
  CHECK(result.is_complete);
  CHECK(result.best.objective == 6);  // a b | c d
  CHECK(result.best.stage_of[0] == result.best.stage_of[1]);
  CHECK(result.best.stage_of[2] == result.best.stage_of[3]);
}

TEST_CASE("that nothing is better than an objective is proved, too") {
  const InstanceOf made(balance_problem(kFork));
  ExactOptions options = kPlentyIdeals;
  options.below = 6;
  const ExactResult result = exact_search(made.instance(), options);
  CHECK(result.is_complete);
  CHECK(result.best.objective == kUnlimited);
}

TEST_CASE("with too many ideals there is no search, and no proof") {
  const InstanceOf made(balance_problem(kFork));
  ExactOptions options = kPlentyIdeals;
  options.most_ideals = 3;
  CHECK_FALSE(exact_search(made.instance(), options).is_complete);
}

// 12 items without order have 4,096 ideals, and 3^12 pairs of them.
constexpr const char* kLoose = "a 1\nb 2\nc 3\nd 4\ne 5\nf 6\ng 7\nh 8\ni 9\nj 1\nk 2\nl 3";
constexpr ExactOptions kEveryPair = {.most_ideals = 4096, .most_stages = 600'000};

TEST_CASE("the search ends with a proof when it has no deadline, and without one after it") {
  const InstanceOf made(balance_problem(kLoose));
  const ExactResult proved = exact_search(made.instance(), kEveryPair);
  CHECK(proved.is_complete);
  CHECK(proved.best.objective == 26);
  ExactOptions options = kEveryPair;
  const Deadline passed(0), never(kUnlimited);
  options.deadline = &passed;
  CHECK_FALSE(exact_search(made.instance(), options).is_complete);
  options.deadline = &never;
  CHECK(exact_search(made.instance(), options).is_complete);
}

TEST_CASE("the search ends without proof after the stages it may try") {
  const InstanceOf made(balance_problem(kLoose));
  ExactOptions options = kEveryPair;
  options.most_stages = 1000;
  CHECK_FALSE(exact_search(made.instance(), options).is_complete);
}

}  // namespace

}  // namespace cleave::balance
