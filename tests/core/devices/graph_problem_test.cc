#include "core/devices/graph_problem.h"

#include "core/devices/placement.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
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
  const auto [problem, unknown_times, unknown_sizes] = graph_problem(made.input());
  CHECK(unknown_times == 0);
  CHECK(unknown_sizes == 0);
  CHECK(problem.unit_costs == std::vector<double>{1, 2, 10, -1, 2, 10, -1, -1, 10});
  CHECK(problem.producer == std::vector<std::uint32_t>{DeviceProblem::kHost, 0, 1, 2});
  CHECK(problem.bytes == std::vector<double>{400, 400, 800, 40});
  CHECK(problem.host_reads == std::vector<std::uint8_t>{0, 0, 0, 1});
  CHECK(problem.weight_bytes == std::vector<double>{200});
  CHECK(problem.weights.of(1).size() == 1);
  const DeviceScorer scorer(problem);
  const Devices devices = {0, 1, 2};
  const DeviceScore score = scorer.score(devices, scorer.rounds(devices));
  CHECK(score.total == Approx(1 + 2 + 10 + 2 * 3 + .4 + .4 + .4 + .8));
  CHECK(score.peak_bytes == std::vector<std::uint64_t>{200 + 800, 200 + 1200, 0});
  CHECK(find_device_placement(problem).devices == Devices{1, 1, 2});
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
}  // namespace cleave
