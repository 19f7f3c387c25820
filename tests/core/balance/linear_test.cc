#include "core/balance/linear.h"

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
namespace {

constexpr const char* kChain = "a 3\nb 3 < a:1\nc 2 < b:0.5\nd 4 < c:1";

TEST_CASE("a line is cut where the slowest stage is fastest") {
  const InstanceOf made(balance_problem(kChain));
  const Candidate cut = cut_order(made.instance(), given_order(made.instance()), {});
  CHECK(cut.objective == 6.5);  // a b, 0.5 out | 0.5 in, c d
  CHECK(cut.stage_of[0] == cut.stage_of[1]);
  CHECK(cut.stage_of[1] != cut.stage_of[2]);
  CHECK(cut.stage_of[2] == cut.stage_of[3]);
}

TEST_CASE("nothing is found below the best") {
  const InstanceOf made(balance_problem(kChain));
  const Candidate cut = cut_order(made.instance(), given_order(made.instance()), {.below = 6.5});
  CHECK(cut.objective == kUnlimited);
}

TEST_CASE("the curve has the best objective for each number of devices") {
  const InstanceOf made(balance_problem(kChain));
  const Line line = make_line(made.instance(), given_order(made.instance()));
  LinearProgram program(made.instance(), line);
  program.run({});
  CHECK(program.curve() == std::vector<double>{12, 6.5});
  CHECK(program.best().ends == std::vector<std::uint32_t>{2, 4});
}

TEST_CASE("what a device has no memory for is not a stage") {
  BalanceProblem problem = balance_problem("a 3 !60\nb 3 < a:0 !60\nc 1 < b:0 !60");
  problem.devices = {{.name = "d", .memory = 130, .count = 2}};
  const InstanceOf made(std::move(problem));
  CHECK(cut_order(made.instance(), given_order(made.instance()), {}).objective == 4);
  CHECK(cut_order(made.instance(), given_order(made.instance()), {.memory_scale = 0.5}).objective ==
        kUnlimited);
}

}  // namespace
}  // namespace cleave::balance
