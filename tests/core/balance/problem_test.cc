#include "core/balance/problem.h"

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"

namespace cleave {
namespace {

std::vector<std::uint32_t> list(std::span<const std::uint32_t> items) {
  return {items.begin(), items.end()};
}

TEST_CASE("a stage's load combines compute, in and out by the comm model and the device") {
  CHECK(stage_load(CommModel::serial, 5, 2, 4) == 11);
  CHECK(stage_load(CommModel::overlap, 5, 2, 4) == 6);
  CHECK(stage_load(CommModel::duplex, 5, 2, 4) == 5);
  CHECK(stage_load(CommModel::duplex, 3, 2, 4) == 4);
  CHECK(stage_load(CommModel::none, 5, 2, 4) == 5);
}

TEST_CASE("the consumers of a net follow its producer") {
  const BalanceProblem problem = balance_problem("a 1\nb 1 < a\nc 1 < a\nd 1 < b c");
  const Adjacency successors = successors_of_nets(problem);
  CHECK(list(successors.of(0)) == std::vector<std::uint32_t>{1, 2});
  CHECK(list(successors.of(1)) == std::vector<std::uint32_t>{3});
  CHECK(list(successors.of(3)).empty());
}

TEST_CASE("values from outside are held throughout a stage, its own until their last reader") {
  BalanceProblem problem = balance_problem("a 1 =8\nb 1 =4 < a\nc 1 =2 < b");
  problem.devices = {{.name = "d", .count = 2}};
  const std::vector<std::uint32_t> devices = {0, 0};
  const auto bytes = [&](std::vector<std::uint32_t> stage_of) {
    std::vector<double> peaks;
    for (const BalanceStage& stage : evaluate_stages(problem, CommModel::serial, stage_of, devices))
      peaks.push_back(stage.activation_bytes);
    return peaks;
  };
  // a leaves its stage. In the second, a is held while b and c are made.
  CHECK(bytes({0, 1, 1}) == std::vector<double>{8, 8 + 4 + 2});
  // a is gone when c is made, but b leaves: it was made while a was there.
  CHECK(bytes({0, 0, 1}) == std::vector<double>{8 + 4, 4 + 2});
}

}  // namespace
}  // namespace cleave
