#include <algorithm>
#include <random>

#include "core/devices/search.h"
#include "tests/catch2.h"
#include "tests/core/devices/random_devices.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

// ---- energy test ----

namespace {

TEST_CASE("Energy is what the work, the memory and the launches of a placement draw") {
  DeviceProblem problem;  // the host gives 0 a value, which gives 1 another
  problem.targets = {{.down_cost = 1, .up_cost = 1, .launch_cost = 1, .duplex = Duplex::full}};
  problem.unit_costs = {1, 1, DeviceProblem::kRefused, 1};
  problem.producer = {DeviceProblem::kHost, 0};
  problem.bytes = {4e9, 2e9};
  problem.host_reads = {0, 0};
  for (const std::uint32_t reader : {0U, 1U}) {
    problem.readers.add(reader);
    problem.readers.end_list();
  }
  const std::vector<UnitWork> work = {{.flops = 10e9, .bytes = 6e9}, {.flops = 1e9, .bytes = 2e9}};
  const std::vector<EnergyNumbers> devices = {
      {.pj_per_flop = 1, .pj_per_byte = 2, .mj_per_launch = 5},
      {.pj_per_flop = 10, .pj_per_byte = 3, .mj_per_launch = 0}};
  const DeviceProblem energy = energy_problem(problem, work, devices);
  DeviceScorer scorer(energy);
  const auto score_of = [&](const Devices& where) {
    return scorer.score(where, scorer.rounds(where));
  };
  CHECK(score_of({1, 1}).total == Approx(10 * 10 + 6 * 3 + 10 + 2 * 3));
  const DeviceScore both = score_of({0, 1});
  CHECK(both.unit_costs[0] == Approx(10 * 1 + 6 * 2));
  CHECK(both.link_costs[0] == Approx((4 + 2) * (2 + 3)));
  CHECK(both.launch_costs[0] == Approx(5));
  CHECK(both.total == Approx(22 + 30 + 5 + 16));
  CHECK(find_placement(energy).devices == Devices{0, 1});
  CHECK_FALSE(energy.accepts(0, 1));
}

TEST_CASE("Two targets that share their memory draw nothing for what crosses between them") {
  const DeviceProblem problem = random_devices({.seed = 2, .units = 5, .has_links = true});
  DeviceProblem shared = problem;
  shared.links = {{0, 1, 0}, {1, 0, 1e-3}};
  const std::vector<UnitWork> work(5);
  const std::vector<EnergyNumbers> devices(
      3, {.pj_per_flop = 1, .pj_per_byte = 2, .mj_per_launch = 0});
  const DeviceProblem energy = energy_problem(shared, work, devices);
  CHECK(energy.links[0].cost == 0);
  CHECK(energy.links[1].cost == Approx(4e-9));
}

TEST_CASE("All on the CPU draws what its work and its memory do") {
  const Graph graph = graph_from_text(R"(
    input x: float32[1000]
    a: float32[1000] = Relu(x)
    b: float32[1000] = Relu(a)
    c: float32[?] = Unheard(b)
    output c)");
  // 1000 FLOPs and 8000 bytes each, and of the last only what it reads is known, which counts as nothing.
  CHECK(all_cpu_mj(graph, {.pj_per_flop = 3, .pj_per_byte = 0}) == Approx(2000 * 3 * 1e-9));
  CHECK(all_cpu_mj(graph, {.pj_per_flop = 0, .pj_per_byte = 5}) == Approx(16000 * 5 * 1e-9));
  CHECK(all_cpu_mj(graph, {.pj_per_flop = 3, .pj_per_byte = 5}) ==
        Approx((2000 * 3 + 16000 * 5) * 1e-9));
}

}  // namespace

// ---- graph problem test ----

namespace {

// Every node takes 1 us on the npu, 2 us on the gpu and 10 us on the host; links move 1000 bytes a us.
struct ThreeDevices {
  explicit ThreeDevices(std::string_view text)
      : graph(graph_from_text(text)), unit_of(graph.node_count()) {
    for (const NodeId node : graph.nodes()) unit_of[node] = index(node);
    accepted.assign(2, NodeSet(graph.node_count()));
    const auto all = [&](double us) {
      return DeviceTimes{PerNode<double>(graph.node_count(), us),
                         PerNode<TimeOrigin>(graph.node_count(), TimeOrigin::measured)};
    };
    times = {.cpu = all(10), .acc = all(1), .later = {all(2)}};
    machines.assign(2, {.launch_us = 3, .link_bytes_per_second = 1e9});
  }
  void accept(std::size_t target, std::initializer_list<const char*> names) {
    for (const char* const name : names) accepted[target].insert(node_named(graph, name));
  }
  GraphProblemInput input() const {
    return {.graph = graph,
            .unit_of = unit_of,
            .unit_count = graph.node_count(),
            .accepted = accepted,
            .times = times,
            .machines = machines};
  }

  Graph graph;
  PerNode<std::uint32_t> unit_of;
  std::vector<NodeSet> accepted;
  TargetTimes times;
  std::vector<Machine> machines;
};

constexpr const char* kText = R"(
  input x: float32[100]
  param w: float32[50]
  a: float32[100] = f(x, w)
  b: float32[200] = g(a, w)
  c: float32[10] = h(b)
  output c)";

TEST_CASE("A graph on several devices takes the times of its nodes and the bytes of its tensors") {
  ThreeDevices made(kText);
  made.accept(0, {"a"});
  made.accept(1, {"a", "b"});
  const GraphProblem found = graph_problem(made.input());
  const DeviceProblem& problem = found.problem;
  CHECK(found.unknown_times == 0);
  CHECK(found.unknown_sizes == 0);
  CHECK(problem.unit_costs == std::vector<double>{1, 2, 10, -1, 2, 10, -1, -1, 10});
  CHECK(problem.producer == std::vector<std::uint32_t>{DeviceProblem::kHost, 0, 1, 2});
  CHECK(problem.bytes == std::vector<double>{400, 400, 800, 40});
  CHECK(problem.host_reads == std::vector<std::uint8_t>{0, 0, 0, 1});
  CHECK(problem.weight_bytes == std::vector<double>{200});
  CHECK(problem.weights.of(1).size() == 1);
  DeviceScorer scorer(problem);
  const Devices devices = {0, 1, 2};
  const DeviceScore score = scorer.score(devices, scorer.rounds(devices));
  CHECK(score.total == Approx(1 + 2 + 10 + 2 * 3 + .4 + .4 + .4 + .8));
  CHECK(score.peak_bytes == std::vector<std::uint64_t>{200 + 800, 200 + 1200, 0});
  CHECK(find_placement(problem).devices == Devices{1, 1, 2});
}

TEST_CASE("A unit runs where all of its nodes do, and a required one not on the host") {
  ThreeDevices made(kText);
  made.accept(0, {"a"});
  made.accept(1, {"a", "b"});
  made.unit_of[node_named(made.graph, "b")] = 0;
  made.unit_of[node_named(made.graph, "c")] = 1;
  NodeSet required(made.graph.node_count());
  required.insert(node_named(made.graph, "b"));
  GraphProblemInput input = made.input();
  input.unit_count = 2;
  input.required = &required;
  CHECK(graph_problem(input).problem.unit_costs == std::vector<double>{-1, 4, -1, -1, -1, 10});
}

TEST_CASE("A unit that is required on a target, and that none accepts, runs on the host") {
  ThreeDevices made(kText);
  made.accept(0, {"a"});
  NodeSet required(made.graph.node_count());
  required.insert(node_named(made.graph, "b"));
  GraphProblemInput input = made.input();
  input.required = &required;
  CHECK(graph_problem(input).problem.unit_costs ==
        std::vector<double>{1, -1, 10, -1, -1, 10, -1, -1, 10});
}

TEST_CASE("A node with an unknown time takes none anywhere, and is counted") {
  ThreeDevices made(kText);
  made.accept(1, {"b"});
  made.times.later[0].origins[node_named(made.graph, "b")] = TimeOrigin::unknown;
  made.times.acc.origins[node_named(made.graph, "c")] =
      TimeOrigin::unknown;  // it does not run there
  const GraphProblem found = graph_problem(made.input());
  CHECK(found.unknown_times == 1);
  CHECK(found.problem.unit_costs == std::vector<double>{-1, -1, 10, -1, 0, 0, -1, -1, 10});
}

TEST_CASE("The work of a unit is that of its nodes") {
  ThreeDevices made(kText);
  made.unit_of[node_named(made.graph, "b")] = 0;
  GraphProblemInput input = made.input();
  PerNode<NodeCost> costs(3, {.flops = 5, .bytes = 7});
  costs[node_named(made.graph, "b")].flops = std::nullopt;
  const std::vector<UnitWork> work = unit_work(input, costs);
  CHECK(work[0].flops == 5);
  CHECK(work[0].bytes == 14);
  CHECK(work[2].flops == 5);
}

}  // namespace

// ---- schedule test ----

namespace {

TEST_CASE("Parts of different devices overlap, and the critical path is named") {
  const Devices devices = {0, 1, 0, 2};
  Adjacency needed;
  needed.end_list();
  needed.add(0);
  needed.end_list();
  needed.add(0);
  needed.end_list();
  needed.add(1);
  needed.add(2);
  needed.end_list();
  const std::vector<double> costs = {2, 3, 5, 1};
  const PartSchedule schedule = schedule_parts(devices, needed, costs);
  CHECK(schedule.start == std::vector<double>{0, 2, 2, 7});
  CHECK(schedule.end == std::vector<double>{2, 5, 7, 8});
  CHECK(schedule.makespan == 8);
  CHECK(schedule.critical == std::vector<std::uint32_t>{0, 2, 3});
}

TEST_CASE("Nothing to run ends at once") {
  const PartSchedule schedule = schedule_parts({}, {}, {});
  CHECK(schedule.makespan == 0);
  CHECK(schedule.critical.empty());
}

TEST_CASE("A schedule keeps each device's order, and is as long as its critical path") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const Adjacency readers = random_readers(random, 20);
    Devices devices;
    for (int i = 0; i < 20; ++i) devices.push_back(static_cast<DeviceIndex>(random() % 3));
    const RoundsGraph graph(readers);
    const Rounds rounds = find_rounds({graph, devices, 3});
    const Adjacency needed = needed_parts(readers, rounds);
    std::vector<double> costs;
    for (std::size_t i = 0; i < rounds.count(); ++i)
      costs.push_back(static_cast<double>(1 + random() % 9));
    const PartSchedule schedule = schedule_parts(rounds.devices, needed, costs);
    INFO("seed " << seed);
    double sum = 0;
    for (const std::uint32_t part : schedule.critical) sum += costs[part];
    CHECK(sum == schedule.makespan);
    for (std::uint32_t part = 0; part < rounds.count(); ++part) {
      CHECK(schedule.end[part] == schedule.start[part] + costs[part]);
      for (std::uint32_t other = 0; other < part; ++other) {
        const auto list = needed.of(part);
        const bool waits = rounds.devices[other] == rounds.devices[part] ||
                           std::find(list.begin(), list.end(), other) != list.end();
        if (waits) CHECK(schedule.end[other] <= schedule.start[part]);
      }
    }
    for (std::uint32_t unit = 0; unit < 20; ++unit) {
      for (const std::uint32_t reader : readers.of(unit)) {
        const std::uint32_t one = rounds.part_of[unit];
        const auto list = needed.of(rounds.part_of[reader]);
        const bool is_needed = std::find(list.begin(), list.end(), one) != list.end();
        CHECK(is_needed == (one != rounds.part_of[reader]));
      }
    }
  }
}

}  // namespace

}  // namespace cleave
