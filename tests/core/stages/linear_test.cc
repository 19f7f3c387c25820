#include "core/stages/solvers.h"

#include <string>

#include "tests/catch2.h"
#include "tests/core/stages/balance_text.h"
#include "tests/core/stages/instance_of.h"

namespace cleave::balance {

namespace {

TEST_CASE("a window's time, in and out grow with its blocks") {
  const InstanceOf made(balance_problem("a 3\nb 3 < a:0.5\nc 2 < b:0.25\nd 4 < c:0.5"));
  const Line line = make_line(made.instance(), given_order(made.instance()));
  CHECK(line.size() == 4);
  Window window(line);
  window.start(1);
  window.grow(1);
  CHECK(window.time == 3);
  CHECK(window.in == 0.5);
  CHECK(window.out == 0.25);
  window.grow(2);
  CHECK(window.time == 5);
  CHECK(window.in == 0.5);
  CHECK(window.out == 0.5);
  window.grow(3);
  CHECK(window.time == 9);
  CHECK(window.out == 0);
}

TEST_CASE("a value that a window's blocks read several times comes in once") {
  const InstanceOf made(balance_problem("a 1\nb 1 < a:2\nc 1 < a"));
  const Line line = make_line(made.instance(), given_order(made.instance()));
  Window window(line);
  window.start(1);
  window.grow(1);
  CHECK(window.in == 2);
  window.grow(2);
  CHECK(window.in == 2);
}

TEST_CASE("blocks of several groups sum their times") {
  const InstanceOf made(balance_problem("a 3\nb 3 < a:0.5\nc 2 < b:0.25\nd 4 < c:0.5"));
  const std::vector<std::uint32_t> ends = {2, 4};
  const Line line = make_line(made.instance(), given_order(made.instance()), ends);
  CHECK(line.time == std::vector<double>{6, 6});
}

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

// Long orders are cut over blocks: cut_order() and rough_curve() of linear.h.

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
