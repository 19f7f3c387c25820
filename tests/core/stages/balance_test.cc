#include <string>
#include <utility>
#include <vector>

#include "core/stages/balance.h"
#include "core/stages/solvers.h"
#include "tests/catch2.h"
#include "tests/core/stages/balance_text.h"
#include "tests/core/stages/instance_of.h"

namespace cleave::balance {

// ---- instance test ----

namespace {

TEST_CASE("equal devices are one kind: their states count how many are taken") {
  BalanceProblem problem;
  problem.devices = {{.name = "d", .count = 3}};
  const Fleet fleet(problem, false);
  CHECK(fleet.is_uniform());
  CHECK(fleet.state_count() == 4);
  REQUIRE(fleet.steps(0).size() == 1);
  CHECK(fleet.steps(0)[0].to == 1);
  CHECK(fleet.steps(fleet.full_state()).empty());
  CHECK(fleet.used(fleet.full_state()) == 3);
}

TEST_CASE("with a host and any order, each state has a step to each kind with free devices") {
  BalanceProblem problem;
  problem.devices = {{.name = "a", .count = 2}, {.name = "h", .is_host = true}};
  const Fleet fleet(problem, false);
  CHECK(fleet.has_host());
  CHECK_FALSE(fleet.is_uniform());
  CHECK(fleet.state_count() == 3 * 2);
  CHECK(fleet.steps(0).size() == 2);
  CHECK(fleet.device_count() == 3);
  CHECK(fleet.kinds()[1].comm_scale == 0);
  CHECK(fleet.devices_of(std::vector<std::uint32_t>{0, 1, 0}) ==
        std::vector<std::uint32_t>{0, 1, 0});
}

TEST_CASE("different devices in order may be skipped, unless each must have a stage") {
  BalanceProblem problem;
  problem.devices = {{.name = "slow", .speed = 0.5}, {.name = "fast", .speed = 2}};
  problem.devices_in_order = true;
  const Fleet fleet(problem, false);
  CHECK(fleet.in_order());
  CHECK(fleet.may_skip());
  CHECK(fleet.state_count() == 3);
  CHECK(fleet.kinds()[0].time_scale == 2);
  CHECK(fleet.kinds()[1].time_scale == 0.5);
  CHECK_FALSE(Fleet(problem, true).may_skip());
}

TEST_CASE("memory that holds everything is no limit") {
  BalanceProblem problem;
  problem.items = {{.bytes = 60}, {.bytes = 40}};
  problem.devices = {{.name = "d", .memory = 100}};
  CHECK_FALSE(Fleet(problem, false).has_caps());
  problem.devices[0].memory = 99;
  CHECK(Fleet(problem, false).has_caps());
}

std::vector<std::uint32_t> list(std::span<const std::uint32_t> items) {
  return {items.begin(), items.end()};
}

TEST_CASE("a group sums the costs of its items, and keeps the nets between groups") {
  const InstanceOf made(balance_problem("a 3\nb 4 < a:0.5\nc 2 < a:0.5"));
  const Instance& instance = made.instance();
  CHECK(instance.size() == 3);
  CHECK(instance.time == std::vector<double>{3, 4, 2});
  REQUIRE(instance.net_count() == 1);  // what nobody reads crosses no border
  CHECK(instance.net_cost[0] == 0.5);
  CHECK(instance.net_home[0] == 0);
  CHECK(list(instance.pins.of(0)) == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(list(instance.successors.of(0)) == std::vector<std::uint32_t>{1, 2});
  CHECK(list(instance.predecessors.of(2)) == std::vector<std::uint32_t>{0});
}

TEST_CASE("a value within a group crosses no border") {
  const BalanceProblem problem = [] {
    BalanceProblem made = balance_problem("a 3\nb 4 < a:0.5\nc 2 < b:0.25");
    made.devices = {{.name = "d", .count = 2}};
    return made;
  }();
  const Fleet fleet(problem, false);
  const Instance instance = make_instance(problem, fleet, CommModel::serial, {0, 0, 1}, 2);
  CHECK(instance.time == std::vector<double>{7, 2});
  REQUIRE(instance.net_count() == 1);
  CHECK(instance.net_cost[0] == 0.25);
}

TEST_CASE("items of one colour are tied, with the items between them") {
  const auto groups = [](std::string_view text) { return tied_items(balance_problem(text)).count; };
  CHECK(groups("a 1\nb 1 < a\nc 1 < b") == 3);
  CHECK(groups("a 1 #0\nb 1 < a\nc 1 < b #0") == 1);
  CHECK(groups("a 1 #0\nb 1\nc 1 < b #0") == 2);
}

}  // namespace

// Groups that stay together: tied_items() and contracted() of instance.h.

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

namespace cleave {

// ---- problem test ----

namespace {

TEST_CASE("a stage's load combines compute, in and out by the comm model and the device") {
  CHECK(stage_load(CommModel::serial, 5, 2, 4) == 11);
  CHECK(stage_load(CommModel::overlap, 5, 2, 4) == 6);
  CHECK(stage_load(CommModel::duplex, 5, 2, 4) == 5);
  CHECK(stage_load(CommModel::duplex, 3, 2, 4) == 4);
  CHECK(stage_load(CommModel::none, 5, 2, 4) == 5);
}

std::vector<std::uint32_t> list(std::span<const std::uint32_t> items) {
  return {items.begin(), items.end()};
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

// ---- solver test ----

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
