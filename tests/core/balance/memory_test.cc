#include "core/balance/memory.h"

#include <utility>

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
namespace {

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
}  // namespace cleave::balance
