#include "core/balance/chain.h"

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
namespace {

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

}  // namespace
}  // namespace cleave::balance
