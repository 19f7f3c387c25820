#include "core/balance/line.h"

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

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

}  // namespace
}  // namespace cleave::balance
