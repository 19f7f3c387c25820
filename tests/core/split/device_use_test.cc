#include "core/split/device_use.h"

#include "core/cost/activation_peak.h"
#include "core/split/targets.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {
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

constexpr const char* kText = R"(
  input x: float32[100]
  param w: float32[50]
  a: float32[100] = n(x, w)
  b: float32[200] = g(a, w)
  c: float32[10] = h(b)
  output c)";

TEST_CASE("A target holds its weights and the values of the part that runs") {
  OnDevices made(graph_from_text(kText));
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
  OnDevices made(graph_from_text(kText));
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
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    OnDevices made(random_graph(seed, 14).graph);
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
}  // namespace cleave
