#include "core/devices/energy.h"

#include "core/devices/placement.h"
#include "tests/catch2.h"
#include "tests/core/devices/random_devices.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
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
  const DeviceScorer scorer(energy);
  const auto score_of = [&](const Devices& where) {
    return scorer.score(where, scorer.rounds(where));
  };
  CHECK(score_of({1, 1}).total == Approx(10 * 10 + 6 * 3 + 10 + 2 * 3));
  const DeviceScore both = score_of({0, 1});
  CHECK(both.unit_costs[0] == Approx(10 * 1 + 6 * 2));
  CHECK(both.link_costs[0] == Approx((4 + 2) * (2 + 3)));
  CHECK(both.launch_costs[0] == Approx(5));
  CHECK(both.total == Approx(22 + 30 + 5 + 16));
  CHECK(find_device_placement(energy).devices == Devices{0, 1});
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
}  // namespace cleave
