#include <algorithm>
#include <cmath>
#include <random>

#include "core/cost/cost.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

// ---- calibration test ----

namespace {

double below(std::mt19937& random, double most) {
  return most * static_cast<double>(random() % 10'000) / 10'000;
}

// Kernels of an op that take exactly this.
void add(std::vector<Kernel>& kernels, const OpTime& time, std::size_t count, std::uint32_t model) {
  std::mt19937 random(static_cast<std::uint32_t>(kernels.size()) + 1);
  for (std::size_t i = 0; i < count; ++i) {
    Kernel kernel{.op = time.op, .flops = below(random, 1e9), .bytes = below(random, 1e7)};
    kernel.us = time.us + time.us_per_flop * kernel.flops + time.us_per_byte * kernel.bytes;
    kernel.model = model;
    kernels.push_back(kernel);
  }
}

const OpTime& time_of(const Calibration& found, const std::string& op) {
  for (const OpTime& time : found.times) {
    if (time.op == op) return time;
  }
  FAIL("no times of " << op);
  return found.times.front();
}

TEST_CASE("Calibration finds the times of made-up kernels again, op by op") {
  std::vector<Kernel> kernels;
  add(kernels, {"conv", 5, 1e-5, 2e-5}, 30, 0);
  add(kernels, {"relu", 1, 0, 3e-5}, 30, 1);
  const Calibration found = calibrate(kernels, 2);
  CHECK(found.kernels == 60);
  CHECK(found.times.front().op.empty());
  CHECK(time_of(found, "conv").us == Approx(5).epsilon(1e-4));
  CHECK(time_of(found, "conv").us_per_flop == Approx(1e-5));
  CHECK(time_of(found, "conv").us_per_byte == Approx(2e-5).epsilon(1e-4));
  CHECK(time_of(found, "relu").us_per_flop == Approx(0).margin(1e-9));
  CHECK(time_of(found, "relu").us_per_byte == Approx(3e-5).epsilon(1e-4));
}

TEST_CASE("An op with few kernels uses the common numbers") {
  std::vector<Kernel> kernels;
  add(kernels, {"conv", 5, 1e-5, 0}, 30, 0);
  add(kernels, {"rare", 2, 0, 0}, kLeastKernelsOfOp - 1, 0);
  const Calibration found = calibrate(kernels, 1);
  CHECK(found.times.size() == 2);
  CHECK(!found.error);
}

TEST_CASE("No fitted number is below 0, whatever the kernels' times") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    std::vector<Kernel> kernels;
    for (std::size_t i = 0; i < 20; ++i) {
      kernels.push_back({.op = "any",
                         .us = 1 + below(random, 100),
                         .flops = random() % 3 == 0 ? 0 : below(random, 1e9),
                         .bytes = below(random, 1e6)});
    }
    INFO("seed " << seed);
    for (const OpTime& time : calibrate(kernels, 1).times) {
      CHECK(time.us >= 0);
      CHECK(time.us_per_flop >= 0);
      CHECK(time.us_per_byte >= 0);
      CHECK(time.us + time.us_per_flop + time.us_per_byte > 0);
    }
  }
}

// What the fit makes small: each kernel's squared error over its time.
double error_of(const OpTime& time, const std::vector<Kernel>& kernels) {
  double error = 0;
  for (const Kernel& kernel : kernels) {
    const double told = time.us + time.us_per_flop * kernel.flops + time.us_per_byte * kernel.bytes;
    error += (told - kernel.us) * (told - kernel.us) / kernel.us;
  }
  return error;
}

TEST_CASE("No numbers near those fitted have a smaller error, so that none have") {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    std::vector<Kernel> kernels;
    const double us = below(random, 50) - 10, per_flop = below(random, 3) - 1,
                 per_byte = below(random, 3) - 1;
    for (std::size_t i = 0; i < 15; ++i) {
      Kernel kernel{.op = "any", .flops = below(random, 20), .bytes = below(random, 30)};
      kernel.us = 1 + std::abs(us + per_flop * kernel.flops + per_byte * kernel.bytes);
      kernels.push_back(kernel);
    }
    const OpTime found = time_of(calibrate(kernels, 1), "any");
    const double least = error_of(found, kernels);
    INFO("seed " << seed);
    for (int step = 0; step < 27; ++step) {
      const auto near = [](double number, int way) { return std::max(0.0, number + way * 1e-3); };
      const OpTime other{"any", near(found.us, step % 3 - 1),
                         near(found.us_per_flop, step / 3 % 3 - 1),
                         near(found.us_per_byte, step / 9 - 1)};
      CHECK(error_of(other, kernels) >= least * (1 - 1e-9));
    }
  }
}

TEST_CASE("Kernels without FLOPs or bytes, or with as many of one as of the other, have numbers") {
  const auto exact = [](double flops, double bytes) {
    std::vector<Kernel> kernels;
    for (int i = 1; i <= 12; ++i) {
      kernels.push_back({.op = "any", .us = 3.0 + i, .flops = flops * i, .bytes = bytes * i});
    }
    const OpTime found = time_of(calibrate(kernels, 1), "any");
    CHECK(error_of(found, kernels) < 1e-12);
  };
  exact(1, 0);
  exact(0, 2);
  exact(1000, 1);
  std::vector<Kernel> kernels(8, {.op = "any", .us = 5});
  const OpTime found = time_of(calibrate(kernels, 1), "any");
  CHECK(found.us == Approx(5));
  CHECK(found.us_per_flop == 0);
  CHECK(found.us_per_byte == 0);
}

TEST_CASE(
    "An op has numbers of its own from the least number of kernels on; times of 0 count nowhere") {
  const auto ops = [](std::size_t kernels, double us) {
    std::vector<Kernel> all(20, {.op = "conv", .us = 5});
    all.insert(all.end(), kernels, {.op = "relu", .us = us});
    all.insert(all.end(), 20, {.op = "", .us = 5});
    const Calibration found = calibrate(all, 1);
    CHECK(found.models == 1);
    CHECK(found.kernels == (us > 0 ? 40 + kernels : 40));
    std::string text;
    for (const OpTime& time : found.times) text += "[" + time.op + "]";
    return text;
  };
  CHECK(ops(kLeastKernelsOfOp - 1, 1) == "[][conv]");
  CHECK(ops(kLeastKernelsOfOp, 1) == "[][conv][relu]");
  CHECK(ops(kLeastKernelsOfOp, 0) == "[][conv]");
  CHECK(ops(kLeastKernelsOfOp, -1) == "[][conv]");
}

// Kernels that take one time, whatever they compute.
void add_same(std::vector<Kernel>& kernels, const std::string& op, double us, std::size_t count,
              std::uint32_t model) {
  kernels.insert(kernels.end(), count, {.op = op, .us = us, .model = model});
}

TEST_CASE("What a left-out model would be told is the mean of the others, op by op") {
  std::vector<Kernel> kernels;
  add_same(kernels, "conv", 10, 20, 0);
  add_same(kernels, "conv", 20, 20, 1);
  add_same(kernels, "conv", 40, 10, 2);
  add_same(kernels, "conv", 0, 9, 2);
  add_same(kernels, "relu", 2, 6, 0);
  add_same(kernels, "add", 8, 4,
           2);  // told the common number: 20 conv of 20 us, 20 of 10, 6 relu of 2
  const Calibration found = calibrate(kernels, 4);
  REQUIRE(found.error);
  REQUIRE(found.error->model_factors.size() == 4);
  // The mean of kernels weighted by 1 / time is harmonic.
  const double conv0 = 30.0 / (20.0 / 20 + 10.0 / 40), all0 = 34.0 / (1.0 + 0.25 + 0.5);
  const double conv1 = 30.0 / (20.0 / 10 + 10.0 / 40);
  const double conv2 = 40.0 / (20.0 / 10 + 20.0 / 20), all2 = 46.0 / (2.0 + 1.0 + 3.0);
  const double told0 = 20 * conv0 + 6 * all0, told2 = 10 * conv2 + 4 * all2;
  CHECK(found.error->model_factors[0] == Approx(told0 / 212));
  CHECK(found.error->model_factors[1] == Approx(conv1 / 20));
  CHECK(found.error->model_factors[2] == Approx(told2 / 432));
  CHECK(found.error->model_factors[3] == 1);                // without kernels
  CHECK(found.error->model_factor == Approx(432 / told2));  // 2.5, 1.5 and 2.6
  CHECK(found.error->node_factor == Approx(conv0 / 10));    // 20 times 2.4, 20 times 1.5, others
}

TEST_CASE("A model that is told to take no time is infinitely far off") {
  std::vector<Kernel> kernels;
  for (int i = 1; i <= 10; ++i) kernels.push_back({.op = "conv", .us = 1.0 * i, .flops = 1.0 * i});
  kernels.push_back({.op = "conv", .us = 3, .model = 1});
  const Calibration found = calibrate(kernels, 2);
  REQUIRE(found.error);
  CHECK(found.error->model_factors[1] == Approx(0).margin(1e-9));
  CHECK(found.error->model_factor > 1e9);
}

TEST_CASE("The error is measured on models that were left out") {
  std::vector<Kernel> kernels;
  add(kernels, {"conv", 10, 0, 0}, 20, 0);
  add(kernels, {"conv", 10, 0, 0}, 20, 1);
  add(kernels, {"conv", 20, 0, 0}, 20, 2);
  const Calibration found = calibrate(kernels, 3);
  REQUIRE(found.error);
  CHECK(found.error->model_factors.size() == 3);
  CHECK(found.error->model_factors[2] == Approx(0.5));
  CHECK(found.error->model_factor >= 1);
  CHECK(found.error->node_factor > 1.2);
}

TEST_CASE("Without kernels there are no times") { CHECK(calibrate({}, 0).times.empty()); }

}  // namespace

// ---- target spec test ----

namespace {

std::string refusal_of(std::string_view text) {
  const auto spec = parse_target(text);
  return spec ? "" : spec.error().message;
}

TEST_CASE("A target's numbers are read") {
  const auto spec = parse_target(
      "acc:launch=100us,flops=4TFLOP/s,bandwidth=50GB/s,node=2us,memory=512MiB,max-subgraphs=8,"
      "link=gen4x4,duplex=full");
  REQUIRE(spec);
  const Machine machine = with_target({}, *spec);
  CHECK(machine.acc.flops_per_second == 4e12);
  CHECK(machine.acc.bytes_per_second == 50e9);
  CHECK(machine.acc.node_us == Approx(2));
  CHECK(*machine.launch_us == Approx(100));
  CHECK(machine.acc_memory == 512U << 20U);
  CHECK(machine.most_acc_parts == 8);
  CHECK(machine.duplex == Duplex::full);
  CHECK(spec->link->name == "gen4x4");
  CHECK(!machine.cpu.flops_per_second);
}

TEST_CASE("What a device draws is a sum of what FLOPs, bytes and launches draw") {
  const Machine machine =
      with_target(with_target({}, *parse_target("npu:energy=2pJ/FLOP+30pJ/byte+0.5mJ/launch")),
                  *parse_target("cpu:energy=40pJ/byte"));
  CHECK(machine.acc.energy == EnergyNumbers{2, 30, .5});
  CHECK(machine.cpu.energy == EnergyNumbers{0, 40, 0});
  for (const char* const wrong : {"2", "2pJ", "", "2pJ/FLOP+", "-1pJ/byte"}) {
    CHECK(refusal_of("npu:energy=" + std::string(wrong)) ==
          "\"" + std::string(wrong) +
              "\" is not a value of \"energy\": write energy=2pJ/FLOP+30pJ/byte");
  }
}

TEST_CASE("Numbers that are not given keep their values") {
  Machine machine{.launch_us = 7};
  machine = with_target(machine, *parse_target("cpu:flops=1GFLOP/s"));
  machine = with_target(machine, *parse_target("acc:node=3us"));
  CHECK(machine.launch_us == 7);
  CHECK(machine.cpu.flops_per_second == 1e9);
  CHECK(machine.acc.node_us == Approx(3));
}

TEST_CASE("An unknown target, number or value is refused with the remedy") {
  CHECK(refusal_of("Gpu:flops=1T") ==
        "\"Gpu:flops=1T\" names no target: write cpu:flops=500GFLOP/s,bandwidth=50GB/s or "
        "acc:launch=100us,...");
  CHECK(
      refusal_of("cpu:memory=1GiB") ==
      "\"memory\" is not a number of target cpu: there are flops, bandwidth, node, launch, energy");
  CHECK(refusal_of("acc:launch=100") == "\"100\" is not a value of \"launch\": write launch=100us");
  CHECK(refusal_of("acc:launch=1us,launch=2us") ==
        "\"acc:launch=1us,launch=2us\" states \"launch\" twice");
  CHECK(refusal_of("cpu:") ==
        "\"cpu:\" states no number: there are flops, bandwidth, node, launch, energy");
  CHECK(refusal_of("acc:duplex") == "\"\" is not a value of \"duplex\": write duplex=half");
}

TEST_CASE(
    "A target's name is a word of lower-case letters, digits and underscores behind a letter") {
  for (const char* const name : {"a", "z", "acc", "npu0_big", "zz9"}) {
    const auto spec = parse_target(std::string(name) + ":node=1us");
    REQUIRE(spec);
    CHECK(spec->name == name);
    CHECK(spec->target == TargetName::acc);
  }
  for (const char* const name : {"", "`", "{", "0a", "_a", "A", "aB", "a-b", "a b"}) {
    const std::string text = std::string(name) + ":node=1us";
    CHECK(refusal_of(text) ==
          "\"" + text +
              "\" names no target: write cpu:flops=500GFLOP/s,bandwidth=50GB/s or "
              "acc:launch=100us,...");
  }
  CHECK(refusal_of("acc") ==
        "\"acc\" names no target: write cpu:flops=500GFLOP/s,bandwidth=50GB/s or "
        "acc:launch=100us,...");
}

TEST_CASE(
    "All of a target's keys are listed where none is stated, those of a CPU where it is one") {
  CHECK(refusal_of("acc:") ==
        "\"acc:\" states no number: there are flops, bandwidth, node, launch, energy, memory, "
        "max-subgraphs, link, duplex");
  CHECK(refusal_of(" npu : ") ==
        "\" npu : \" states no number: there are flops, bandwidth, node, launch, energy, memory, "
        "max-subgraphs, link, duplex");
  CHECK(
      refusal_of("npu:speed=1") ==
      "\"speed\" is not a number of target npu: there are flops, bandwidth, node, launch, energy, "
      "memory, max-subgraphs, link, duplex");
}

TEST_CASE("Blanks around a target's keys and values do not count, and a comma may end them") {
  const auto spec = parse_target(" npu : launch = 3us , node=2us ,");
  REQUIRE(spec);
  CHECK(spec->name == "npu");
  CHECK(*spec->launch_us == Approx(3));
  CHECK(*spec->node_us == Approx(2));
  CHECK(parse_target("npu:energy=2pJ/FLOP + 30pJ/byte")->energy == EnergyNumbers{2, 30, 0});
  CHECK(refusal_of("npu:launch=3us,,node=2us") != "");
}

TEST_CASE("A CPU has its own launch time and energy, and a target's memory and parts are whole") {
  const Machine machine =
      with_target({}, *parse_target("cpu:launch=4us,node=1us,bandwidth=2GB/s,energy=1pJ/FLOP"));
  CHECK(machine.cpu_launch_us == Approx(4));
  CHECK_FALSE(machine.launch_us);
  CHECK(machine.cpu.node_us == Approx(1));
  CHECK(machine.cpu.bytes_per_second == 2e9);
  CHECK(machine.cpu.energy == EnergyNumbers{1, 0, 0});
  CHECK_FALSE(machine.acc.energy);
  CHECK(with_target({}, *parse_target("npu:launch=4us")).cpu_launch_us == Machine{}.cpu_launch_us);
  CHECK(with_target({}, *parse_target("npu:duplex=half")).duplex == Duplex::half);
  CHECK(refusal_of("npu:max-subgraphs=1.5") ==
        "\"1.5\" is not a value of \"max-subgraphs\": write max-subgraphs=8");
  CHECK(refusal_of("npu:max-subgraphs=8us") ==
        "\"8us\" is not a value of \"max-subgraphs\": write max-subgraphs=8");
  CHECK(refusal_of("npu:duplex=both") ==
        "\"both\" is not a value of \"duplex\": write duplex=half");
}

TEST_CASE("The names of a target's numbers are known") {
  for (const char* const name : {"flops", "bandwidth", "node", "launch", "energy", "memory",
                                 "max-subgraphs", "link", "duplex"}) {
    CHECK(is_target_number(name));
  }
  for (const char* const name : {"", "flop", "speed", "Flops"}) CHECK_FALSE(is_target_number(name));
}

}  // namespace

// ---- target times test ----

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
