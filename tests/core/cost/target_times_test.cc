#include "core/cost/target_times.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

PerNode<double> table(std::initializer_list<double> numbers) {
  PerNode<double> made(numbers.size());
  std::size_t i = 0;
  for (const double number : numbers) made[id_at<NodeId>(i++)] = number;
  return made;
}

TEST_CASE("unmeasured nodes are guessed in the unit of the measured ones") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    a: float32[4] = Relu(x)
    b: float32[4] = Relu(a)
    c: float32[4] = Exp(b)
    d: float32[4] = Exp(c)
  )");
  // Measured over guessed: 3, 5 and 10; the median is 5.
  const ScaledTimes made = scale_guesses(graph, table({1, 2, 3, 4}), table({3, 10, 30, -1}));
  CHECK(made.times == table({3, 10, 30, 20}));
  CHECK(made.scaled == 1);
}

TEST_CASE("five measured nodes of an op have a scale of their own") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    a: float32[4] = Relu(x)
    b: float32[4] = Relu(a)
    c: float32[4] = Relu(b)
    d: float32[4] = Relu(c)
    e: float32[4] = Relu(d)
    f: float32[4] = Relu(e)
    g: float32[4] = Exp(f)
    h: float32[4] = Exp(g)
    i: float32[4] = Exp(h)
  )");
  const ScaledTimes made = scale_guesses(graph, table({1, 1, 1, 1, 1, 1, 1, 1, 1}),
                                         table({2, 2, 2, 2, 2, -1, 40, 40, -1}));
  CHECK(made.times[NodeId{5}] == 2);
  CHECK(made.times[NodeId{8}] == 2);  // the median of all seven
  CHECK(made.scaled == 2);
}

TEST_CASE("without measurements guesses are unchanged, and unknown times stay unknown") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    a: float32[4] = Relu(x)
    b: float32[4] = Relu(a)
  )");
  CHECK(scale_guesses(graph, table({1, -1}), table({-1, -1})).times == table({1, -1}));
  CHECK(scale_guesses(graph, table({0, 3}), table({7, -1})).times == table({7, 3}));
  CHECK(scale_guesses(graph, table({0, 3}), table({7, -1})).scaled == 0);
  CHECK(scale_guesses(graph, table({2, 3}), table({0, -1})).times == table({0, 3}));
}

constexpr const char* kText = R"(
  input x: float32[100,100]
  input y: float32[?,100]
  a: float32[100,100] = MatMul(x, x)
  b: float32[100,100] = Relu(a)
  c: float32[?,100] = Relu(y)
  output b, c)";

TEST_CASE("A node takes the longer of computing and memory, plus its fixed cost") {
  const Graph graph = graph_from_text(kText);
  const Machine machine{.cpu = {.flops_per_second = 1e9, .bytes_per_second = 1e9, .node_us = 3},
                        .acc = {.flops_per_second = 1e12, .bytes_per_second = 1e8}};
  const TargetTimes times = target_times(graph, machine, {}, {});
  CHECK(times.cpu.of(node_named(graph, "a")) == Approx(2000 + 3));
  CHECK(times.cpu.of(node_named(graph, "b")) == Approx(80 + 3));
  CHECK(times.acc.of(node_named(graph, "a")) == Approx(800));
  CHECK(times.cpu.origins[node_named(graph, "a")] == TimeOrigin::estimated);
}

TEST_CASE("A time of 0 was measured, one below 0 was not") {
  const Graph graph = graph_from_text(kText);
  MeasuredTimes cpu(graph.node_count(), -1), acc(graph.node_count(), -1);
  cpu[node_named(graph, "a")] = 0;
  acc[node_named(graph, "b")] = 0;
  const TargetTimes times = target_times(graph, {}, cpu, acc);
  CHECK(times.cpu.of(node_named(graph, "a")) == 0);
  CHECK(times.cpu.origins[node_named(graph, "a")] == TimeOrigin::measured);
  CHECK_FALSE(times.cpu.of(node_named(graph, "b")));
  CHECK(times.acc.of(node_named(graph, "b")) == 0);
  CHECK_FALSE(times.acc.of(node_named(graph, "a")));
}

TEST_CASE("Estimates beside a profile share what it leaves") {
  const Graph graph = graph_from_text(kText);
  const Machine machine{.cpu = {.flops_per_second = 1e9, .bytes_per_second = 1e9, .node_us = 3}};
  MeasuredTimes measured(graph.node_count(), -1);
  measured[node_named(graph, "a")] = 100;
  const TargetTimes times = target_times(graph, machine, measured, {});
  const double sum = estimated_us(times.cpu);
  REQUIRE(sum > 1);
  const DeviceTimes within = with_estimates_within(times.cpu, 1);
  CHECK(estimated_us(within) == Approx(1));
  CHECK(within.of(node_named(graph, "a")) == 100);
  CHECK(with_estimates_within(times.cpu, sum) == times.cpu);
}

TEST_CASE("Without both rates, or without a size, there is no time") {
  const Graph graph = graph_from_text(kText);
  const TargetTimes times = target_times(
      graph,
      {.cpu = {.flops_per_second = 1e9, .bytes_per_second = 1e9}, .acc = {.flops_per_second = 1e9}},
      {}, {});
  CHECK(!times.cpu.of(node_named(graph, "c")));
  CHECK(!times.acc.of(node_named(graph, "a")));
  CHECK(times.acc.origins[node_named(graph, "a")] == TimeOrigin::unknown);
}

TEST_CASE("Measured times win over calibrated ones, and calibrated over estimated ones") {
  const Graph graph = graph_from_text(kText);
  Machine machine{.cpu = {.flops_per_second = 1e9, .bytes_per_second = 1e9}};
  machine.cpu.calibrated = {{.op = "", .us = 7}, {.op = "matmul", .us = 1, .us_per_flop = 1e-6}};
  MeasuredTimes measured(graph.node_count(), -1);
  measured[node_named(graph, "b")] = 42;
  const TargetTimes times = target_times(graph, machine, measured, {});
  CHECK(times.cpu.of(node_named(graph, "a")) == Approx(1 + 2));
  CHECK(times.cpu.of(node_named(graph, "b")) == 42);
  CHECK(times.cpu.of(node_named(graph, "c")) == 7);
  CHECK(times.cpu.origins[node_named(graph, "c")] == TimeOrigin::calibrated);
}

TEST_CASE("Estimates are scaled to what was measured, with or without rates") {
  const Graph graph = graph_from_text(R"(
    input x: float32[100,100]
    a: float32[100,100] = Relu(x)
    b: float32[100,100] = Relu(a)
    c: float32[200,100] = Concat(a, b)
    d: float32[?,100] = Mystery(c)
    output c, d)");
  MeasuredTimes measured(graph.node_count(), -1);
  measured[node_named(graph, "a")] = 40;
  const TargetTimes plain = target_times(graph, {}, measured, {});
  CHECK(plain.cpu.of(node_named(graph, "b")) == Approx(40));
  CHECK(plain.cpu.of(node_named(graph, "c")) == Approx(80));
  CHECK(plain.cpu.origins[node_named(graph, "c")] == TimeOrigin::estimated);
  CHECK(!plain.cpu.of(node_named(graph, "d")));
  CHECK(!plain.acc.of(node_named(graph, "a")));
  const Machine machine{.cpu = {.flops_per_second = 1e9, .bytes_per_second = 1e9, .node_us = 3}};
  CHECK(target_times(graph, machine, measured, {}).cpu.of(node_named(graph, "b")) == Approx(40));
}

TEST_CASE("A calibrated time is the sum of a constant and of what FLOPs and bytes take") {
  const Graph graph = graph_from_text(kText);
  Machine machine;
  machine.cpu.calibrated = {{.op = "", .us = 7, .us_per_flop = 1e-3, .us_per_byte = 2e-4}};
  const TargetTimes times = target_times(graph, machine, {}, {});
  CHECK(times.cpu.of(node_named(graph, "b")) == Approx(7 + 10 + 16));
  CHECK(times.cpu.of(node_named(graph, "a")) == Approx(7 + 2000 + 16));
  CHECK_FALSE(times.cpu.of(node_named(graph, "c")));  // of an open size
  machine.cpu.calibrated[0].us_per_byte = 0;
  CHECK(target_times(graph, machine, {}, {}).cpu.of(node_named(graph, "b")) == Approx(7 + 10));
}

}  // namespace

}  // namespace cleave
