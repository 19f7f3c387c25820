#include "core/stages/problem_of_graph.h"

#include <sstream>

#include "core/balance/solver.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

constexpr const char* kModel = R"(
  input x: float32[10,10]
  param w: float32[10,20]
  param v: float32[10,20] = w
  param b: float32[20]
  const c: float32[5] = Constant()
  y: float32[10,20] = MatMul(x, w)
  z: float32[10,20] = Add(y, b)
  u: float32[10,20] = MatMul(x, v)
  s: float32[10,20] = Sub(z, u, c)
  output s, y
)";

// One line an item: "name time bytes"; then a line a net: "producer>readers cost bytes"; then the
// shared parameters: "bytes by readers".
std::string described(const Graph& graph, const GraphCostOptions& options) {
  const BalanceProblem problem = balance_problem_of(graph, options).problem;
  std::ostringstream text;
  for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
    text << problem.item_name(i) << " " << problem.items[i].time << " " << problem.items[i].bytes
         << "\n";
  }
  for (std::uint32_t i = 0; i < problem.nets.size(); ++i) {
    const BalanceNet& net = problem.nets[i];
    text << (net.producer == kNoItem ? "" : problem.item_name(net.producer)) << ">";
    for (const std::uint32_t reader : problem.consumers.of(i)) text << problem.item_name(reader);
    text << " " << net.cost << " " << net.bytes << (net.is_output ? " output" : "") << "\n";
  }
  for (std::uint32_t i = 0; i < problem.shared_bytes.size(); ++i) {
    text << problem.shared_bytes[i] << " by ";
    for (const std::uint32_t reader : problem.shared_users.of(i)) text << problem.item_name(reader);
    text << "\n";
  }
  return text.str();
}

TEST_CASE("a node's time is the longer of computing and memory; transfers use the link") {
  // y: 4,000 FLOP; 400 + 800 + 800 bytes. z: 200 FLOP; 800 + 80 + 800. s: 200; 800 + 800 + 20 +
  // 800.
  const Graph graph = graph_from_text(kModel);
  CHECK(described(graph, {.device_flops = 1e9, .device_bandwidth = 1e9, .link_bandwidth = 1e8}) ==
        "y 4 0\n"
        "z 1.68 80\n"
        "u 4 0\n"
        "s 2.42 20\n"
        ">yu 0 400\n"
        "y>z 8 800 output\n"
        "z>s 8 800\n"
        "u>s 8 800\n"
        "s> 8 800 output\n"
        "800 by yu\n");
}

TEST_CASE("measured times win over estimates, which are scaled to them") {
  const Graph graph = graph_from_text(kModel);
  PerNode<double> measured(graph.node_count(), -1);
  measured[node_named(graph, "z")] = 7;
  measured[node_named(graph, "u")] = 0;
  const GraphBalance made = balance_problem_of(
      graph, {.device_flops = 1e9, .device_bandwidth = 1e9, .measured = &measured});
  CHECK(made.measured == 2);
  CHECK(made.unknown_costs == 0);
  CHECK(made.problem.items[1].time == 7);
  CHECK(made.problem.items[2].time == 0);
  // z took 7 / 1.68 of its estimate; u, which took no time, has no ratio.
  CHECK(made.problem.items[3].time == Approx(2.42 * 7 / 1.68));
}

TEST_CASE("without times there are no transfers; a shared parameter counts at its first reader") {
  const Graph graph = graph_from_text(kModel);
  const auto items = [&](BalanceBy by) {
    const BalanceProblem problem = balance_problem_of(graph, {.by = by}).problem;
    for (const BalanceNet& net : problem.nets) CHECK(net.cost == 0);
    std::string text;
    for (const BalanceItem& item : problem.items) {
      text += std::to_string(static_cast<int>(item.time)) + " ";
    }
    return text;
  };
  CHECK(items(BalanceBy::flops) == "4000 200 4000 200 ");
  CHECK(items(BalanceBy::bytes) == "2000 1680 2000 2420 ");
  CHECK(items(BalanceBy::params) == "200 20 0 0 ");
  CHECK(items(BalanceBy::nodes) == "1 1 1 1 ");
}

TEST_CASE("the optimizer's state is held for parameters, not for constants") {
  const BalanceProblem problem =
      balance_problem_of(graph_from_text(kModel), {.optimizer_factor = 3}).problem;
  CHECK(problem.items[1].bytes == 240);
  CHECK(problem.items[3].bytes == 20);
  CHECK(problem.shared_bytes == std::vector<double>{2400});
}

TEST_CASE("weights behind constants count as they are stored, for each node that reads them") {
  const Graph graph = graph_from_text(R"(
    input x: float32[10,10]
    param w: float16[10,10]
    param v: float16[10,10]
    const a: float32[10,10] = Dequantize(w)
    const b: float32[10,10] = Dequantize(v)
    const c: float32[10,10] = Transpose(b)
    y: float32[10,10] = MatMul(x, a)
    z: float32[10,10] = MatMul(y, c, b)
    u: float32[10,10] = Add(z, a)
    output u
  )");
  const BalanceProblem problem = balance_problem_of(graph, {.by = BalanceBy::params}).problem;
  CHECK(problem.items[0].time == 100);
  CHECK(problem.items[1].time == 100);
  CHECK(problem.items[2].time == 0);
  CHECK(problem.items[0].bytes == 0);
  CHECK(problem.items[1].bytes == 200);
  CHECK(problem.shared_bytes == std::vector<double>{200});
  CHECK(std::vector<std::uint32_t>(problem.shared_users.of(0).begin(),
                                   problem.shared_users.of(0).end()) ==
        std::vector<std::uint32_t>{0, 2});
}

TEST_CASE("nodes and tensors of unknown cost count as 0, and are counted") {
  const Graph graph = graph_from_text(R"(
    input x: float32[n]
    y: float32[n] = Mystery(x)
    s: scalar = Size(y)
    z: float32[4] = Relu(y)
    output z
  )");
  const GraphBalance made = balance_problem_of(graph, {});
  CHECK(made.unknown_costs == 1);
  CHECK(made.unknown_sizes == 2);
  CHECK(made.measured == 0);
  CHECK(made.problem.items[0].time == 0);
}

TEST_CASE("very large costs stay finite") {
  const Graph graph = graph_from_text(kModel);
  const BalanceProblem problem =
      balance_problem_of(graph, {.device_flops = 1e-300, .link_bandwidth = 1e-300}).problem;
  CHECK(problem.items[0].time == 1e30);
  CHECK(problem.nets[1].cost == 1e30);
}

TEST_CASE("a graph is cut where it is cheap; memory holds weights and activations") {
  const Graph graph = graph_from_text(R"(
    input x: float32[1,1000]
    param v: float32[1000,1000]
    param w: float32[1000,1000]
    a: float32[1,1000] = MatMul(x, v)
    s: float32[1,10] = ReduceMax(a)
    b: float32[1,1000] = Expand(s)
    c: float32[1,1000] = MatMul(b, w)
    output c
  )");
  GraphBalance made = balance_problem_of(graph, {});
  made.problem.devices = {{.name = "npu", .memory = 5e6, .count = 2}};
  const BalanceResult result = balance_stages(made.problem, {}).value();
  REQUIRE(result.stages.size() == 2);
  CHECK(result.stage_of == std::vector<std::uint32_t>{0, 0, 1, 1});
  CHECK(result.stages[0].parameter_bytes == 4e6);
  CHECK(result.stages[0].activation_bytes == 4000 + 4040);
  CHECK(result.stages[1].activation_bytes == 40 + 8000);
  CHECK(result.gap == 0);
}

TEST_CASE("markers cost nothing, and stay with the node before them or with the first") {
  const Graph graph = graph_from_text(R"(
    input x
    m: none = _pipe_split()
    a = f(x)
    n: none = _pipe_split()
    b = f(a)
    output b)");
  const BalanceProblem problem = balance_problem_of(graph, {.by = BalanceBy::nodes}).problem;
  std::string text;
  for (const BalanceItem& item : problem.items) {
    text += std::to_string(static_cast<int>(item.time)) +
            (item.colour == kNoItem ? "" : " with " + problem.item_name(item.colour)) + "\n";
  }
  CHECK(text == "0 with a\n1 with a\n0 with a\n1\n");
}

TEST_CASE("Tied nodes stay together, and come after the nodes that must run first") {
  const Graph graph =
      graph_from_text("input x\n a = f(x)\n b = f(x)\n c = f(x)\n d = f(x)\n output a, b, c, d");
  const NodeTies ties{{{node_named(graph, "d"), node_named(graph, "b"), {}}},
                      {{node_named(graph, "a"), node_named(graph, "c")}},
                      {}};
  const BalanceProblem problem =
      balance_problem_of(graph, {.by = BalanceBy::nodes, .ties = &ties}).problem;
  CHECK(problem.items[0].colour != kNoItem);
  CHECK(problem.items[0].colour == problem.items[2].colour);
  CHECK(problem.items[1].colour == kNoItem);
  CHECK(std::vector(problem.successors.of(3).begin(), problem.successors.of(3).end()) ==
        std::vector<std::uint32_t>{1});
}

}  // namespace
}  // namespace cleave
