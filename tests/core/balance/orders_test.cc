#include "core/balance/orders.h"

#include <algorithm>

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
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
}  // namespace cleave::balance
