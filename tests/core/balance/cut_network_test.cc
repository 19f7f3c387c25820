#include "core/balance/cut_network.h"

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

}  // namespace
}  // namespace cleave::balance
