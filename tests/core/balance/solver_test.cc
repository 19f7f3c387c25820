#include "core/balance/solver.h"

#include <string>
#include <utility>

#include "tests/catch2.h"
#include "tests/core/balance/balance_text.h"

namespace cleave {
namespace {

BalanceProblem on_devices(BalanceProblem problem, std::uint32_t count, double memory = kUnlimited) {
  problem.devices = {{.name = "d", .memory = memory, .count = count}};
  return problem;
}

constexpr const char* kLine = R"(
  a 3
  b 3 < a:0.5
  c 2 < b:0.25
  d 4 < c:0.5
)";

std::string refusal(const BalanceProblem& problem, const BalanceOptions& options = {}) {
  const Result<BalanceResult> result = balance_stages(problem, options);
  if (result) return "no refusal";
  std::string text = result.error().message;
  for (const std::string& note : result.error().notes) text += "\n" + note;
  return text;
}

TEST_CASE("a line of items is cut where the slower half takes least") {
  const BalanceProblem problem = on_devices(balance_problem(kLine), 2);
  const BalanceResult result = balance_stages(problem, {}).value();
  CHECK(stages_text(problem, result) == "a b | c d");
  CHECK(result.objective == Approx(6.25));
  CHECK(result.stages[0].compute == 6);
  CHECK(result.stages[0].in == 0);
  CHECK(result.stages[0].out == 0.25);
  CHECK(result.stages[1].in == 0.25);
  CHECK(result.gap == 0);
  CHECK(result.bound == Approx(6.25));
  CHECK_FALSE(result.certificate.empty());
}

TEST_CASE("a stage pays once for a value, however many of its items read it") {
  const BalanceProblem problem = balance_problem(R"(
    a 1
    b 1 < a:2
    c 1 < a
    d 1 < a
  )");
  BalanceProblem two = on_devices(problem, 2);
  const std::vector<BalanceStage> stages =
      evaluate_stages(two, CommModel::serial, std::vector<std::uint32_t>{0, 1, 1, 1},
                      std::vector<std::uint32_t>{0, 0});
  CHECK(stages[0].load == 3);
  CHECK(stages[1].load == 5);
}

TEST_CASE("the comm model adds transfers to compute, or runs them beside it") {
  const BalanceProblem problem = on_devices(balance_problem(R"(
    a 4
    b 5 < a:3
    c 4 < b:4
  )"),
                                            3);
  const std::vector<std::uint32_t> stage_of = {0, 1, 2};
  const std::vector<std::uint32_t> device_of = {0, 0, 0};
  const auto middle = [&](CommModel comm) {
    return evaluate_stages(problem, comm, stage_of, device_of)[1].load;
  };
  CHECK(middle(CommModel::serial) == 12);
  CHECK(middle(CommModel::overlap) == 7);
  CHECK(middle(CommModel::duplex) == 5);
  CHECK(middle(CommModel::none) == 5);
}

TEST_CASE("fewer stages are used when more would not help, and the curve shows it") {
  const BalanceProblem problem = on_devices(balance_problem(R"(
    a 5
    b 1 < a:9
    c 1 < b:9
  )"),
                                            3);
  const BalanceResult result = balance_stages(problem, {}).value();
  CHECK(stages_text(problem, result) == "a b c");
  REQUIRE(result.curve.size() == 3);
  CHECK(result.curve[0].objective == 7);
  CHECK(result.curve[2].objective == 7);
  CHECK(result.enough_stages == 1);
}

TEST_CASE("with exact_stages every device gets a stage") {
  const BalanceProblem problem = on_devices(balance_problem(R"(
    a 5
    b 1 < a:9
    c 1 < b:9
  )"),
                                            2);
  const BalanceResult result = balance_stages(problem, {.exact_stages = true}).value();
  CHECK(result.stages.size() == 2);
  CHECK(result.objective == Approx(14));
  CHECK(result.gap == 0);
}

TEST_CASE("when there are more devices than items, some devices get no work") {
  const BalanceProblem problem = on_devices(balance_problem("a 1\nb 2 < a:0\n"), 64);
  const BalanceResult result = balance_stages(problem, {}).value();
  CHECK(stages_text(problem, result) == "a | b");
  CHECK(result.objective == 2);
  CHECK(result.curve.size() == 64);
  CHECK(result.enough_stages == 2);
}

TEST_CASE("exactly more stages than items is refused") {
  CHECK(refusal(on_devices(balance_problem("a 1\nb 2 < a:0\n"), 3), {.exact_stages = true}) ==
        "exactly 3 stages asked for, but the graph has 2 nodes that can be in different stages");
}

TEST_CASE("one item heavier than all others together bounds the objective by itself") {
  const BalanceProblem problem = on_devices(balance_problem(R"(
    a 1
    b 100 < a:0
    c 1 < b:0
    d 1 < c:0
  )"),
                                            3);
  const BalanceResult result = balance_stages(problem, {}).value();
  CHECK(result.objective == 100);
  CHECK(result.certificate == "single-node");
  CHECK(result.gap == 0);
}

TEST_CASE("items of one colour stay together, with the items between them") {
  const BalanceProblem problem = on_devices(balance_problem(R"(
    a 2 #1
    b 2 < a:0
    c 2 #1 < b:0
    d 2 < c:0
  )"),
                                            2);
  CHECK(stages_text(problem, balance_stages(problem, {}).value()) == "a b c | d");
}

TEST_CASE("all items in one colour are one stage") {
  const BalanceProblem problem = on_devices(balance_problem("a 2 #0\nb 3 #0\nc 4 #0\n"), 3);
  const BalanceResult result = balance_stages(problem, {}).value();
  CHECK(stages_text(problem, result) == "a b c");
  CHECK(result.gap == 0);
}

TEST_CASE("unconnected parts are spread over the devices") {
  const BalanceProblem problem = on_devices(balance_problem(R"(
    a 3
    b 3 < a:1
    x 3
    y 3 < x:1
  )"),
                                            2);
  const BalanceResult result = balance_stages(problem, {}).value();
  CHECK(result.objective == 6);
  CHECK(stages_text(problem, result) == "a b | x y");
}

TEST_CASE("memory just enough is enough, and a byte less is not") {
  const char* const text = R"(
    a 1 !60
    b 1 !40 < a:0
    c 1 !50 < b:0
    d 1 !50 < c:0
  )";
  const BalanceProblem enough = on_devices(balance_problem(text), 2, 100);
  CHECK(stages_text(enough, balance_stages(enough, {}).value()) == "a b | c d");
  CHECK(refusal(on_devices(balance_problem(text), 2, 99)) ==
        "the parameters need 200 B, 2 B more than 2 devices have (198 B)\n"
        "at least 3 devices are needed");
  CHECK(refusal(on_devices(balance_problem(text), 8, 59)) ==
        "\"a\" needs 60 B, 1 B more than a device has (59 B)");
}

TEST_CASE("memory that no order of stages fits is refused though the sum would fit") {
  const char* const text = R"(
    a 1 !60
    b 1 !60 < a:0
    c 1 !60 < b:0
  )";
  CHECK(refusal(on_devices(balance_problem(text), 2, 100)) ==
        "no assignment to 2 devices fits their memory; the nearest one found lacks 20 B on one "
        "of them");
}

TEST_CASE("memory counts values from outside throughout, and own values while they are needed") {
  const BalanceProblem problem = on_devices(balance_problem(R"(
    a 1 =10
    b 1 =20 < a:0
    c 1 =5 < b:0
    d 1 =1 < c:0
  )"),
                                            2);
  const auto peaks = [&](std::vector<std::uint32_t> stage_of) {
    const std::vector<std::uint32_t> device_of = {0, 0};
    const auto stages = evaluate_stages(problem, CommModel::serial, stage_of, device_of);
    return std::pair(stages[0].activation_bytes, stages[1].activation_bytes);
  };
  CHECK(peaks({0, 0, 1, 1}) == std::pair(30.0, 26.0));
  CHECK(peaks({0, 0, 0, 1}) == std::pair(30.0, 6.0));
}

TEST_CASE("a parameter that stages share counts in each of them") {
  BalanceProblem problem = on_devices(balance_problem(R"(
    a 1
    b 1 < a:0
    c 1 < b:0
  )"),
                                      2, 10);
  problem.shared_bytes = {8};
  for (const std::uint32_t item : {0U, 1U, 2U}) problem.shared_users.add(item);
  problem.shared_users.end_list();
  const BalanceResult result = balance_stages(problem, {}).value();
  REQUIRE(result.stages.size() == 2);
  CHECK(result.stages[0].parameter_bytes == 8);
  CHECK(result.stages[1].parameter_bytes == 8);
}

TEST_CASE("stages use different devices in order, each at its speed") {
  BalanceProblem problem = balance_problem(R"(
    a 2
    b 2 < a:0
    c 2 < b:0
    d 2 < c:0
  )");
  problem.devices = {{.name = "slow", .speed = 1}, {.name = "fast", .speed = 3}};
  problem.devices_in_order = true;
  const BalanceResult result = balance_stages(problem, {}).value();
  CHECK(stages_text(problem, result) == "a | b c d");
  CHECK(result.objective == 2);
  CHECK(result.stages[1].device == 1);
  CHECK(result.stages[1].compute == 2);
}

TEST_CASE("a host runs the items that no accelerator runs, without transfers") {
  BalanceProblem problem = balance_problem(R"(
    a 2
    b 2 < a:5
  )");
  problem.items[0].runs_on_accelerator = false;
  problem.items[0].host_time = 4;
  problem.items[1].host_time = 40;
  problem.devices = {{.name = "acc"}, {.name = "cpu", .is_host = true}};
  const BalanceResult result = balance_stages(problem, {}).value();
  CHECK(stages_text(problem, result) == "a | b");
  CHECK(result.stages[0].load == 4);
  CHECK(result.stages[1].load == 7);
  problem.devices.pop_back();
  CHECK(refusal(problem) == "\"a\" cannot run on an accelerator, and there is no host");
}

TEST_CASE("a target gives the fewest stages that meet it") {
  const BalanceProblem problem = on_devices(balance_problem(R"(
    a 2
    b 2 < a:0
    c 2 < b:0
    d 2 < c:0
  )"),
                                            4);
  const BalanceResult result = balance_stages(problem, {.target = 5}).value();
  CHECK(result.stages.size() == 2);
  CHECK(result.objective == 4);
  REQUIRE(result.notes.size() == 1);
  CHECK(result.notes[0] == "proved: fewer stages cannot reach the target");
  CHECK(refusal(problem, {.target = 1}) ==
        "no assignment to 4 devices takes 1 or less\n"
        "the best found takes 2, no assignment less than 2");
}

TEST_CASE("an item heavier than all the rest is the bottleneck, and the bound says so") {
  const BalanceProblem problem = on_devices(balance_problem(R"(
    a 1
    b 100 < a:0.5
    c 2 < b:0
    d 3 < c:1
  )"),
                                            3);
  const BalanceResult result = balance_stages(problem, {}).value();
  CHECK(result.objective == 100.5);
  CHECK(result.gap == 0);
  CHECK(result.enough_stages == 3);
}

TEST_CASE("parts that are not connected may share a stage, or each have its own") {
  const char* const text = R"(
    a 4
    b 4 < a:9
    x 3
    y 3 < x:9
  )";
  const BalanceProblem two = on_devices(balance_problem(text), 2);
  CHECK(stages_text(two, balance_stages(two, {}).value()) == "a b | x y");
  const BalanceProblem one = on_devices(balance_problem(text), 1);
  CHECK(balance_stages(one, {}).value().objective == 14);
  const BalanceProblem four = on_devices(balance_problem(text), 4);
  CHECK(balance_stages(four, {}).value().objective == 8);
}

TEST_CASE(
    "a limit that is just met is met; one that is just missed is reported with the difference") {
  const char* const text = R"(
    a 1 !60
    b 1 !40 < a:0
    c 1 !100 < b:0
  )";
  const BalanceProblem met = on_devices(balance_problem(text), 2, 100);
  CHECK(stages_text(met, balance_stages(met, {}).value()) == "a b | c");
  CHECK(refusal(on_devices(balance_problem(text), 2, 99)) ==
        "\"c\" needs 100 B, 1 B more than a device has (99 B)");
  CHECK(refusal(on_devices(balance_problem(text), 1, 199)) ==
        "the parameters need 200 B, 1 B more than 1 device has (199 B)\n"
        "at least 2 devices are needed");
}

// Layers of items that read some of the layer before: too many ideals for the exact search.
BalanceProblem wide_problem(std::uint32_t layers, std::uint32_t width) {
  BalanceProblem problem;
  std::uint32_t state = 7;
  const auto below = [&](std::uint32_t limit) {
    state = state * 1664525 + 1013904223;
    return (state >> 8U) % limit;
  };
  for (std::uint32_t item = 0; item < layers * width; ++item) {
    problem.items.push_back({.time = 1.0 + below(100)});
    problem.nets.push_back({.producer = item, .cost = 1.0 + below(30)});
    if (item < (layers - 1) * width) {
      const std::uint32_t next = (item / width + 1) * width;
      problem.consumers.add(next + below(width));
      problem.consumers.add(next + below(width));
    }
    problem.consumers.end_list();
  }
  problem.successors = successors_of_nets(problem);
  return problem;
}

TEST_CASE("the same problem and seed give the same stages, whatever else was solved meanwhile") {
  const BalanceProblem problem = on_devices(wide_problem(20, 10), 6);
  const BalanceOptions options{.effort = Effort::low, .seed = 5};
  const BalanceResult first = balance_stages(problem, options).value();
  CHECK(first.moves > 0);
  CHECK(balance_stages(on_devices(wide_problem(7, 3), 4), options));
  const BalanceResult again = balance_stages(problem, options).value();
  CHECK(again.stage_of == first.stage_of);
  CHECK(again.objective == first.objective);
  CHECK(again.bound == first.bound);
  CHECK(again.moves == first.moves);
  CHECK_FALSE(again.time_limit_hit);
}

TEST_CASE("with a time limit there is an answer, with a note that it may not repeat") {
  const BalanceProblem problem = on_devices(wide_problem(30, 20), 8);
  const BalanceResult result = balance_stages(problem, {.time_limit_seconds = 0}).value();
  CHECK(result.time_limit_hit);
  CHECK(result.bound > 0);
  CHECK(result.bound <= result.objective);
  REQUIRE(result.notes.size() == 1);
  CHECK(result.notes[0] == "the time limit stopped the search: the result may not repeat");
}

TEST_CASE("messages state times with their unit") {
  BalanceProblem problem = on_devices(balance_problem("a 2\nb 2 < a:0\n"), 2);
  problem.unit = "us";
  CHECK(refusal(problem, {.target = 1.5}) ==
        "no assignment to 2 devices takes 1.5 us or less\n"
        "the best found takes 2 us, no assignment less than 2 us");
}

TEST_CASE("a million devices count as one for each item; exactly a million stages are refused") {
  const BalanceProblem problem = on_devices(balance_problem("a 2\nb 2 < a:0\n"), 1'000'000);
  const BalanceResult result = balance_stages(problem, {}).value();
  CHECK(result.stages.size() == 2);
  CHECK(result.curve.size() == 4096);
  CHECK(result.curve.back().stages == 4096);
  CHECK(result.curve.back().objective == 2);
  CHECK(result.enough_stages == 2);
  CHECK(refusal(problem, {.exact_stages = true}) ==
        "exactly 1,000,000 stages asked for, but the graph has 2 nodes that can be in different "
        "stages");
  BalanceProblem in_order = problem;
  in_order.devices_in_order = true;
  CHECK(refusal(in_order) ==
        "there are too many devices (1000000): stages can be balanced over about 2,000");
}

TEST_CASE("a problem without items or devices has no stages") {
  CHECK(balance_stages(on_devices({}, 2), {}).value().stages.empty());
  CHECK(refusal(balance_problem("a 1\n")) == "there is no device to run on");
}

TEST_CASE("items without time or cost are placed too") {
  const BalanceProblem problem = on_devices(balance_problem("a 0\nb 0 < a:0\nc 0 < b:0\n"), 2);
  const BalanceResult result = balance_stages(problem, {}).value();
  CHECK(result.objective == 0);
  CHECK(result.stage_of.size() == 3);
}

}  // namespace
}  // namespace cleave
