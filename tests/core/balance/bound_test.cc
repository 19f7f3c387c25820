#include "core/balance/bound.h"

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
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

}  // namespace cleave::balance
