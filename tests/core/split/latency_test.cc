#include "core/cost/cost.h"
#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {

// ---- device use test ----

namespace {

// A graph for an npu, a gpu and the host: each node is on the device that its op names.
struct OnDevices {
  explicit OnDevices(Graph made) : graph(std::move(made)) {
    const auto all = [&](double us) {
      DeviceTimes on_device{PerNode<double>(graph.node_count(), 0),
                            PerNode<TimeOrigin>(graph.node_count(), TimeOrigin::measured)};
      for (const NodeId node : graph.nodes()) on_device.us[node] = us * (1 + index(node) % 5);
      return on_device;
    };
    times = {.cpu = all(10), .acc = all(1), .later = {all(2)}};
    machine = {.launch_us = 3, .link_bytes_per_second = 1e9};
    later = {{.launch_us = 5, .link_bytes_per_second = 5e8, .duplex = Duplex::full}};
  }

  void split(const std::vector<std::string>& npu, const std::vector<std::string>& gpu) {
    lists.assign(2, {});
    for (const std::string& op : npu) lists[0].allow.emplace_back().op = op;
    for (const std::string& op : gpu) lists[1].allow.emplace_back().op = op;
    const std::vector<Target> targets = {{.name = "npu", .first_list = 0, .end_list = 1},
                                         {.name = "gpu", .first_list = 1, .end_list = 2}};
    SplitOptions options;
    options.target_prefixes = {"npu_", "gpu_"};
    auto made =
        split_graph({.graph = graph, .lists = lists, .facts = {}, .targets = targets}, options);
    REQUIRE(made.has_value());
    partition = std::move(made->partition);
    boundaries = std::move(made->boundaries);
  }

  LatencyInput input() const { return {times, machine, residency, later, links}; }
  DeviceUse use() const { return device_use(graph, partition, input()); }

  Graph graph;
  TargetTimes times;
  Machine machine;
  std::vector<Machine> later;
  std::vector<DirectLink> links;
  Residency residency = Residency::off;
  std::vector<SupportList> lists;
  Partition partition;
  Boundaries boundaries;
};

constexpr const char* kDevicesText = R"(
  input x: float32[100]
  param w: float32[50]
  a: float32[100] = n(x, w)
  b: float32[200] = g(a, w)
  c: float32[10] = h(b)
  output c)";

TEST_CASE("A target holds its weights and the values of the part that runs") {
  OnDevices made(graph_from_text(kDevicesText));
  made.split({"n"}, {"g"});
  CHECK(made.use().peak_bytes == std::vector<std::uint64_t>{200 + 800, 200 + 1200});
  CHECK(activation_peak(made.graph, made.partition.nodes(PartId{0})) == 800);
  CHECK(activation_peak(made.graph, made.partition.nodes(PartId{1})) == 1200);
}

TEST_CASE("What a target holds is not known where a tensor of its nodes has no known size") {
  OnDevices made(graph_from_text(R"(
    input x: float32[100]
    a: float32[100] = n(x)
    b: float32[N] = g(a)
    c: float32[10] = h(b)
    output c)"));
  made.split({"n"}, {"g"});
  CHECK(made.use().is_peak_known == std::vector<bool>{true, false});
}

TEST_CASE("Both counts of what a part holds agree") {
  OnDevices made(graph_from_text(R"(
    input x: float32[100]
    a: float32[100] = n(x)
    b: float32[300] = n(a)
    c: float32[20] = n(b, x)
    d: float32[100] = n(a, c)
    e: float32[100] = h(d, c)
    output e)"));
  made.split({"n"}, {"g"});
  const std::uint64_t peak = activation_peak(made.graph, made.partition.nodes(PartId{0}));
  CHECK(peak == 400 + 400 + 80 + 400 + 1200);  // x, d and c; a while b is there
  CHECK(made.use().peak_bytes.front() == peak);
}

TEST_CASE("Parts of different devices run at the same time where neither needs the other") {
  OnDevices made(graph_from_text(R"(
    input x: float32[100]
    a: float32[100] = n(x)
    b: float32[100] = g(x)
    c: float32[100] = h(a, b)
    output c)"));
  made.split({"n"}, {"g"});
  const DeviceUse use = made.use();
  CHECK(use.schedule.start[0] == 0);
  CHECK(use.schedule.start[1] == 0);
  CHECK(use.schedule.start[2] == std::max(use.schedule.end[0], use.schedule.end[1]));
  CHECK(use.schedule.critical.size() == 2);
}

TEST_CASE("A chain takes as long as its latency, also where the CPU's times are not known") {
  OnDevices made(graph_from_text(R"(
    input x: float32[100]
    a: float32[100] = n(x)
    b: float32[100] = g(a)
    c: float32[100] = n(b)
    output c)"));
  made.split({"n"}, {"g"});
  made.machine.cpu_launch_us = 7;
  const auto total = [&] {
    return latency(made.graph, made.partition, made.boundaries, made.input()).total_us;
  };
  CHECK(made.use().schedule.makespan == Approx(*total()));
  made.times.cpu.origins = PerNode<TimeOrigin>(made.graph.node_count(), TimeOrigin::unknown);
  REQUIRE(total());
  CHECK(made.use().schedule.makespan == Approx(*total()));
  made.split({"n"}, {"f"});  // now b is on the CPU, in a part that is launched, too
  made.times.cpu.origins = PerNode<TimeOrigin>(made.graph.node_count(), TimeOrigin::measured);
  CHECK(made.use().schedule.makespan == Approx(*total()));
}

TEST_CASE("What devices draw is known where each has numbers") {
  OnDevices made(graph_from_text(kDevicesText));
  made.split({"n"}, {"g"});
  CHECK(!made.use().total_mj());
  made.machine.acc.energy = {.pj_per_byte = 10, .mj_per_launch = 1};
  made.later[0].acc.energy = {.pj_per_byte = 20, .mj_per_launch = 2};
  CHECK(!made.use().total_mj());
  made.machine.cpu.energy = {.pj_per_byte = 30};
  const DeviceUse use = made.use();
  REQUIRE(use.energy_mj.size() == 3);
  // Bytes that a node reads and writes, and transfers through the host.
  CHECK(use.energy_mj[0] == Approx(1 + 1e-9 * (10 * (400 + 200 + 400) + 40 * 800)));
  CHECK(use.energy_mj[1] == Approx(2 + 1e-9 * (20 * (400 + 200 + 800) + 50 * (400 + 800))));
  CHECK(*use.total_mj() == Approx(use.energy_mj[0] + use.energy_mj[1] + use.energy_mj[2]));
}

// Two ways to count the same: the latency of a report, and the cost that the placement makes small.
TEST_CASE("The latency of a split for several targets is what its parts cost one after the other") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = random_graph(seed, 14).graph;
    OnDevices made(seed < 200 ? graph : with_some_state(graph, seed));
    std::vector<std::vector<std::string>> ops(2);
    for (const NodeId node : made.graph.nodes()) {
      const std::uint32_t kind = (index(node) * 7 + seed) % 4;
      if (kind < 2) ops[kind].emplace_back(made.graph.op(node));
    }
    made.split(ops[0], ops[1]);
    made.residency = seed % 2 == 0 ? Residency::off : Residency::on;
    if (seed % 3 == 1) made.links = {{0, 1, 1e-3}};
    if (seed % 3 == 2)
      made.links = {{0, 1, 0}, {1, 0, 1e3}};  // the second costs more than the host
    const Latency sum = latency(made.graph, made.partition, made.boundaries, made.input());
    if (!sum.total_us) continue;
    const PartSchedule schedule = made.use().schedule;
    double total = 0;
    for (std::size_t i = 0; i < schedule.start.size(); ++i) {
      total += schedule.end[i] - schedule.start[i];
    }
    INFO("seed " << seed);
    CHECK(*sum.total_us == Approx(total).epsilon(1e-9));
    CHECK(schedule.makespan <= total * (1 + 1e-9));
  }
}

TEST_CASE("A direct link is taken where a byte costs no more than through the host") {
  OnDevices made(graph_from_text(R"(
    input x: float32[100]
    a: float32[100] = n(x)
    b: float32[100] = g(a)
    output b)"));
  made.split({"n"}, {"g"});
  made.later[0].duplex = Duplex::half;
  const auto total_with = [&](double cost) {
    made.links = {{0, 1, cost}};
    return *latency(made.graph, made.partition, made.boundaries, made.input()).total_us;
  };
  made.links = {};
  const double without =
      *latency(made.graph, made.partition, made.boundaries, made.input()).total_us;
  // Through the host each of 400 bytes takes 0.001 us up and 0.002 us down.
  CHECK(total_with(0.0029) == Approx(without - 1.2 + 0.0029 * 400));
  CHECK(total_with(0) == Approx(without - 1.2));
  CHECK(total_with(0.0031) == Approx(without));
  CHECK(total_with(4) == Approx(without));
}

}  // namespace

// ---- latency test ----

namespace {

// x is read in both accelerator parts; a goes out, and into the second part; 4 bytes an element.
constexpr const char* kText = R"(
  input x: float32[1000]
  a: float32[1000] = f(x)
  b: float32[500] = g(a)
  c: float32[250] = f(b, a, x)
  output c)";

struct Case {
  explicit Case(const char* text, std::string_view cpu) : graph(graph_from_text(text)) {
    Support support = support_all_but(graph, cpu);
    const Fusions fusions =
        find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
    partition = make_partition(split_subgraphs(graph, fusions, {}).subgraphs, {});
    boundaries = find_boundaries(graph, partition);
    MeasuredTimes cpu_us(graph.node_count());
    MeasuredTimes acc_us(graph.node_count());
    for (const NodeId node : graph.nodes()) {
      cpu_us[node] = 100.0 * (index(node) + 1);
      acc_us[node] = 10.0 * (index(node) + 1);
    }
    times = target_times(graph, {}, cpu_us, acc_us);
    machine.launch_us = 50;
    machine.link_bytes_per_second = 1e9;
  }
  Latency of(Residency residency) const {
    return latency(graph, partition, boundaries, {times, machine, residency});
  }

  Graph graph;
  Partition partition;
  Boundaries boundaries;
  TargetTimes times;
  Machine machine;
};

TEST_CASE("The latency of a split sums nodes, launches and transfers") {
  const Case made(kText, "b");
  const Latency sum = made.of(Residency::off);
  CHECK(sum.cpu_us == 200);
  CHECK(sum.acc_us == 10 + 30);
  CHECK(sum.launches == 2);
  CHECK(sum.launch_us == 100);
  CHECK(sum.link_bytes.in == 4000 + 2000 + 4000 + 4000);
  CHECK(sum.link_bytes.out == 4000 + 1000);
  CHECK(sum.link_us == Approx(19));
  CHECK(sum.total_us == Approx(200 + 40 + 100 + 19));
  CHECK(sum.all_cpu_us == 600);
  CHECK(sum.is_measured);
  CHECK(sum.measured_share == 1);
  CHECK(sum.missing == MissingNumber::none);
  CHECK(sum.parts[PartId{0}].compute_us == 10);
  CHECK(sum.parts[PartId{0}].link_us == Approx(8));
  CHECK(sum.parts[PartId{1}].link_us == 0);
  CHECK(sum.parts[PartId{1}].launch_us == 0);
  CHECK(sum.parts[PartId{2}].launch_us == 50);
}

TEST_CASE(
    "The measured share is that of the time, and without any time that of all nodes or none") {
  Case made(kText, "b");
  made.times.cpu.origins[node_named(made.graph, "b")] = TimeOrigin::estimated;
  const Latency sum = made.of(Residency::off);
  CHECK_FALSE(sum.is_measured);
  CHECK(sum.measured_share == Approx(40.0 / 240));
  for (const NodeId node : made.graph.nodes()) {
    made.times.cpu.us[node] = made.times.acc.us[node] = 0;
  }
  CHECK(made.of(Residency::off).measured_share == 0);
  made.times.cpu.origins[node_named(made.graph, "b")] = TimeOrigin::measured;
  CHECK(made.of(Residency::off).measured_share == 1);
}

TEST_CASE("Values that the accelerator keeps do not cross again") {
  const Latency sum = Case(kText, "b").of(Residency::on);
  CHECK(sum.link_bytes.in == 4000 + 2000);
  CHECK(sum.link_bytes.out == 4000 + 1000);
  CHECK(sum.total_us == Approx(200 + 40 + 100 + 11));
}

TEST_CASE("With residency only values that the CPU reads go out") {
  const Case made(R"(
    input x: float32[1000]
    a: float32[1000] = f(x)
    b: float32[500] = f(x)
    c: float32[500] = g(b)
    d: float32[250] = f(a, c)
    output d)",
                  "c");
  CHECK(made.of(Residency::off).link_bytes.out == 4000 + 2000 + 1000);
  CHECK(made.of(Residency::on).link_bytes.out == 2000 + 1000);
}

// A cache of `past` entries of 32 bytes, to which each step adds one. The writer is an n, on the accelerator or not.
std::string cache_text(int past, std::string_view reader) {
  const std::string before = std::to_string(past), after = std::to_string(past + 1);
  return "input x: float32[1,8]\ninput past_k: float32[" + before +
         ",8]\nnew: float32[1,8] = f(x)\n" +
         "size: int64[2] = Shape(past_k)\nold: float32[1,8] = " + std::string(reader) +
         "(past_k, size)\npresent_k: float32[" + after + ",8] = Concat(past_k, new) {axis=0}\n" +
         "y: float32[1,8] = f(present_k, old)\noutput y, present_k";
}

TEST_CASE("State crosses the link only to readers on another device than its writer") {
  for (const int past : {16, 512, 4096}) {
    const auto bytes = [&](std::string_view cpu, bool has_state = true) {
      Case made(cache_text(past, "g").c_str(), cpu);
      auto found = find_state(made.graph, {.is_off = !has_state});
      made.graph = made.graph.with_state(*std::move(found));
      return made.of(Residency::off).link_bytes;
    };
    const std::uint64_t before = 32U * static_cast<unsigned>(past), after = before + 32;
    INFO("past " << past);
    CHECK(bytes("").in == 32);   // x
    CHECK(bytes("").out == 32);  // y
    CHECK(bytes("", false).in == 32 + before);
    CHECK(bytes("", false).out == 32 + after);
    // Shape needs no element: what it makes crosses alone.
    CHECK(bytes("size").in == 32 + 16);
    CHECK(bytes("size").out == 32);
    // The CPU reads it in the next step, and y is in a part after that: once out, with size and y.
    CHECK(bytes("old").out == after + 16 + 32);
    CHECK(bytes("old").in == 32 + after + 32);
    // The CPU writes it, and the accelerator reads it in this step and the next: once for each part.
    CHECK(bytes("present_k").in >= after);
    CHECK(bytes("present_k").out < after);
  }
}

TEST_CASE("A full-duplex link takes the larger of both directions") {
  Case made(kText, "b");
  made.machine.duplex = Duplex::full;
  CHECK(made.of(Residency::off).link_us == Approx(14));
}

TEST_CASE("Over a full-duplex link each part waits for its longer direction, and rows add up") {
  Case made(R"(
    input x: float32[1000]
    a: float32[10] = f(x)
    b: float32[10] = g(a)
    c: float32[1000] = f(b)
    output c)",
            "b");
  made.machine.duplex = Duplex::full;
  const Latency sum = made.of(Residency::off);
  CHECK(sum.link_us == Approx(4 + 4));
  double rows = 0;
  for (const PartId part : made.partition.parts()) rows += *sum.parts[part].link_us;
  CHECK(sum.link_us == Approx(rows));
}

TEST_CASE("A node without a time beside measured ones is named") {
  Case made(kText, "b");
  made.times.cpu.origins[node_named(made.graph, "b")] = TimeOrigin::unknown;
  const Latency no_time = made.of(Residency::off);
  CHECK(no_time.missing == MissingNumber::node_time);
  CHECK(no_time.missing_node == node_named(made.graph, "b"));
  CHECK(!no_time.is_missing_on_acc);
}

TEST_CASE("A missing number is named, and there is no total") {
  Case made(kText, "b");
  made.machine.launch_us.reset();
  const Latency no_launch = made.of(Residency::off);
  CHECK(no_launch.missing == MissingNumber::launch);
  CHECK(!no_launch.total_us);
  CHECK(!no_launch.launch_us);
  CHECK(no_launch.all_cpu_us == 600);

  made.times.acc = device_times(node_costs(made.graph), made.graph, {}, {});
  const Latency no_acc = made.of(Residency::off);
  CHECK(no_acc.missing == MissingNumber::acc_times);
  CHECK(!no_acc.acc_us);
  CHECK(no_acc.cpu_us == 200);
}

TEST_CASE("One node without a time, or one tensor without a size, is named") {
  Case made(R"(
    input x: float32[?]
    a: float32[?] = f(x)
    output a)",
            "");
  const Latency no_size = made.of(Residency::off);
  CHECK(no_size.missing == MissingNumber::value_bytes);
  CHECK(no_size.missing_value == value_named(made.graph, "x"));
  CHECK(!no_size.link_us);

  made.machine.acc = {.flops_per_second = 1, .bytes_per_second = 1};
  made.times.acc = device_times(node_costs(made.graph), made.graph, made.machine.acc, {});
  const Latency no_time = made.of(Residency::off);
  CHECK(no_time.missing == MissingNumber::node_time);
  CHECK(no_time.missing_node == node_named(made.graph, "a"));
}

TEST_CASE("Where rates are given the op without FLOPs is named, and not the option that is there") {
  const Graph graph = graph_from_text("input x\n a = my.dom::odd(x)\n output a");
  const DeviceTimes none{PerNode<double>(graph.node_count(), -1),
                         PerNode<TimeOrigin>(graph.node_count(), TimeOrigin::unknown)};
  const TargetTimes times{none, none};
  Machine machine;
  machine.launch_us = 1;
  const auto fault = [&] { return check_latency_input(graph, {times, machine}).error(); };
  CHECK(fault().notes.front().find("cpu:flops=") != std::string::npos);
  machine.cpu = {.flops_per_second = 1e9, .bytes_per_second = 1e9};
  CHECK(fault().message.find("\"my.dom::odd\"") != std::string::npos);
  CHECK(fault().notes == std::vector<std::string>{"give --costs FILE with measured times"});
}

}  // namespace

}  // namespace cleave
