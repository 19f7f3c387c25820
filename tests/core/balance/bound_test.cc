#include "core/balance/bound.h"

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
namespace {

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
