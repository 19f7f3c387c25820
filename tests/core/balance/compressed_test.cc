// Long orders are cut over blocks: cut_order() and rough_curve() of linear.h.
#include <string>

#include "core/balance/linear.h"
#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
namespace {

// A chain of equal items, whose values cost 1 but for one in the middle, which is free.
BalanceProblem long_chain(std::size_t count) {
  std::string text = "n0 1";
  for (std::size_t i = 1; i < count; ++i) {
    text += "\nn" + std::to_string(i) + " 1 < n" + std::to_string(i - 1) +
            (i == count / 2 ? ":0" : ":1");
  }
  return balance_problem(text);
}

TEST_CASE("a chain that is longer than its blocks is cut at the one cheap place") {
  constexpr std::size_t kCount = 25000;
  const InstanceOf made(long_chain(kCount));
  const Candidate cut = cut_order(made.instance(), given_order(made.instance()), {});
  CHECK(cut.objective == kCount / 2);
  CHECK(cut.stage_of[kCount / 2 - 1] != cut.stage_of[kCount / 2]);
}

TEST_CASE("the rough curve falls with the number of devices") {
  const InstanceOf made(long_chain(1000));
  const std::vector<double> curve = rough_curve(made.instance(), given_order(made.instance()));
  REQUIRE(curve.size() == 2);
  CHECK(curve[0] == 1000);
  CHECK(curve[1] == Approx(500).margin(2));
}

}  // namespace
}  // namespace cleave::balance
