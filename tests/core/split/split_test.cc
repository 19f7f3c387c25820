#include "core/split/split.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {
namespace {

// A list that allows all ops but `cpu`.
std::vector<SupportList> list() {
  SupportList list;
  list.allow.emplace_back().op = "*";
  list.deny.emplace_back().op = "cpu";
  return {list};
}

Split split(const Graph& graph, const SplitOptions& options) {
  auto result = split_graph({graph, list(), {}}, options);
  REQUIRE(result.has_value());
  return *std::move(result);
}

constexpr const char* kText = R"(
  input x
  n = f(x)
  s: scalar = size(n)
  a = f(x)
  b = cpu(a)
  c = view(b, s)
  d = f(c, n)
  output d)";

TEST_CASE("A split holds what each pass found") {
  const Graph graph = graph_from_text(kText);
  const Split found = split(graph, {});
  CHECK(names_of(graph, found.support.supported) == "n s a c d");
  CHECK(names_of(graph, found.acc_found.nodes) == "n s a c d");
  CHECK(describe(graph, found.fusions) == "{s c}");
  CHECK(describe(graph, found.found.subgraphs) == "acc: n a | cpu: b | acc: s c d");
  CHECK(describe(graph, found.partition, found.boundaries) ==
        "_run_on_acc_0(x) -> n a\n_run_on_cpu_1(a) -> b\n_run_on_acc_2(n b) -> d\n");
  CHECK(describe(graph, found.reasons) == "b: denied\n");
  CHECK(found.extended.empty());
}

TEST_CASE("Small subgraphs are merged before parts are made") {
  const Graph graph = graph_from_text(kText);
  SplitOptions options;
  options.min_acc_size = 3;
  const Split found = split(graph, options);
  CHECK(found.found.subgraphs.count() == 3);
  CHECK(describe(graph, found.partition, found.boundaries) ==
        "_run_on_cpu_0(x) -> n b\n_run_on_acc_1(n b) -> d\n");
  CHECK(describe(graph, found.reasons) == "n: small_subgraph\na: small_subgraph\nb: denied\n");
}

TEST_CASE("A node that the extension brings back to the accelerator has no reason any more") {
  const Graph graph = graph_from_text(R"(
    input x
    m = f(x)
    a = f(x)
    b = cpu(a)
    c = f(b, m)
    d = f(c)
    e = f(d)
    output e)");
  SplitOptions options;
  options.min_acc_size = 3;
  options.extend.which = ExtendOptions::Which::all;
  const Split found = split(graph, options);
  CHECK(names_of(graph, found.extended) == "m");
  CHECK(describe(graph, found.reasons) == "a: small_subgraph\nb: denied\n");
  CHECK(describe(graph, found.partition, found.boundaries) ==
        "_run_on_cpu_0(x) -> b\n_run_on_acc_1(x b) -> e\n");
}

TEST_CASE("An emptied subgraph is not a part, and the others keep their names") {
  const Graph graph = graph_from_text(R"(
    input x
    z = cpu()
    a = f(x)
    d = f(a, z)
    output d)");
  SplitOptions options;
  options.extend.which = ExtendOptions::Which::one;
  options.extend.subgraph = 2;
  const Split found = split(graph, options);
  CHECK(describe(graph, found.partition, found.boundaries) ==
        "_run_on_cpu_1() -> z\n_run_on_acc_2(x z) -> d\n");
}

TEST_CASE("Extending a subgraph that is not on the accelerator is refused with the valid ones") {
  const Graph graph = graph_from_text(kText);
  SplitOptions options;
  options.extend.which = ExtendOptions::Which::one;
  for (const std::size_t number : {1U, 7U}) {
    options.extend.subgraph = number;
    const auto refused = split_graph({graph, list(), {}}, options);
    REQUIRE(!refused.has_value());
    CHECK(refused.error().message ==
          "there is no accelerator subgraph " + std::to_string(number) + " to extend");
    CHECK(refused.error().notes == std::vector<std::string>{"there are: 0, 2"});
  }
  const Graph on_cpu = graph_from_text("input x\na = cpu(x)\noutput a");
  options.extend.subgraph = 0;
  CHECK(split_graph({on_cpu, list(), {}}, options).error().notes ==
        std::vector<std::string>{"the split has no accelerator subgraph"});
}

TEST_CASE("Any graph is split: parts in order, a reason for each node on the CPU") {
  using Which = ExtendOptions::Which;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, 25);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    const Graph& graph = random.graph;
    SupportList by_name;
    by_name.allow.emplace_back().op = "f";
    for (const NodeId node : graph.nodes()) {
      if (random.support.supported.contains(node)) continue;
      by_name.deny.emplace_back().node_name = std::string(graph.node(node).name);
    }
    SplitOptions options;
    options.allow_non_tensor = seed % 5 == 0;
    options.skip_fusion = seed % 7 == 0;
    options.min_acc_size = seed % 3;
    options.extend.which = std::array{Which::none, Which::all, Which::automatic}[seed % 3];
    options.start =
        std::array{StartSide::reference, StartSide::fewest, StartSide::cpu}[seed % 4 % 3];
    const auto found = split_graph({graph, std::vector{by_name}, {}}, options);
    REQUIRE(found.has_value());
    const auto holds = check_partition(graph, found->partition, &found->fusions.acc.nodes);
    REQUIRE((holds.has_value() ? "" : holds.error().message).empty());
    for (const NodeId node : graph.nodes()) {
      const bool on_acc = found->partition.is_acc(found->partition.part_of[node]);
      REQUIRE(on_acc == (found->reasons[node].code == ReasonCode::none));
    }
  }
}

}  // namespace
}  // namespace cleave
