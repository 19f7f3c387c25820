// Groups that stay together: tied_items() and contracted() of instance.h.
#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"
#include "tests/core/balance/instance_of.h"

namespace cleave::balance {
namespace {

std::size_t groups_left(std::string_view text) {
  const InstanceOf made(balance_problem(text));
  return contracted(made.instance()).size();
}

TEST_CASE("a group joins its only reader when its value is dearer than its time") {
  CHECK(groups_left("a 1\nb 2 < a:5\nc 9 < b:0") == 2);
}

TEST_CASE("a group whose value is cheaper than its time may go to a stage of its own") {
  CHECK(groups_left("a 5\nb 5 < a:1\nc 5 < b:1") == 3);
}

TEST_CASE("contraction keeps the sum of the times") {
  const InstanceOf made(balance_problem("a 1\nb 2 < a:5\nc 4 < b:0"));
  const Instance instance = contracted(made.instance());
  double sum = 0;
  for (const double time : instance.time) sum += time;
  CHECK(sum == 7);
  CHECK(instance.group_of[0] == instance.group_of[1]);
}

TEST_CASE("items of one colour and what lies between them are one component") {
  const Components tied = tied_items(balance_problem("a 1 #0\nb 1 < a\nc 1 < b #0\nd 1 < c"));
  CHECK(tied.count == 2);
  CHECK(tied.of[0] == tied.of[1]);
  CHECK(tied.of[1] == tied.of[2]);
  CHECK(tied.of[3] != tied.of[0]);
}

}  // namespace
}  // namespace cleave::balance
