#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include "core/graph/graph_builder.h"
#include "core/graph/state.h"
#include "core/stages/balance.h"
#include "core/stages/stages.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {

// ---- assignment test ----

namespace {

// The parts as a string of digits, one a node.
Assignment assigned(const Graph& graph, std::string_view parts) {
  Assignment result;
  result.part_of = PerNode<PartId>(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    const std::string name(1, parts[index(node)]);
    std::size_t part = 0;
    while (part < result.names.size() && result.names[part] != name) ++part;
    if (part == result.names.size()) result.names.push_back(name);
    result.part_of[node] = id_at<PartId>(part);
  }
  return result;
}

std::string order_of(const Graph& graph, std::string_view parts, AssignmentOptions options = {}) {
  const auto partition = order_parts(graph, assigned(graph, parts), options);
  if (!partition) return "refused";
  CHECK(check_partition(graph, *partition, nullptr).has_value());
  std::string text;
  for (const PartId part : partition->parts()) {
    text += (text.empty() ? "" : " | ") + partition->name(part) + ": " +
            names_of(graph, partition->nodes(part));
  }
  return text;
}

TEST_CASE("A chain of parts is called in its order") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = f(a)\n c = f(b)\n output c");
  CHECK(order_of(graph, "201") == "2: a | 0: b | 1: c");
}

TEST_CASE("The last of several roots is called first") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = f(x)\n c = f(a, b)\n output c");
  CHECK(order_of(graph, "012") == "1: b | 0: a | 2: c");
  CHECK(order_of(graph, "012", {.keep_original_order = true}) == "0: a | 1: b | 2: c");
}

TEST_CASE("A part that becomes ready is called before roots that waited longer") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = f(x)\n c = f(b)\n output a, c");
  CHECK(order_of(graph, "012") == "1: b | 2: c | 0: a");
}

TEST_CASE("Nodes of a part keep the model's order, wherever they are") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = f(x)\n c = f(x)\n output a, b, c");
  CHECK(order_of(graph, "010") == "1: b | 0: a c");
}

TEST_CASE("A graph without nodes has no parts") {
  const Graph graph = graph_from_text("input x\n output x");
  CHECK(order_of(graph, "").empty());
}

TEST_CASE("A cycle of parts is refused with one node edge for each step") {
  const Graph graph =
      graph_from_text("input x\n a = f(x)\n b = f(a)\n c = f(b)\n d = f(c)\n e = f(d)\n output e");
  const auto result = order_parts(graph, assigned(graph, "01201"), {});
  REQUIRE(!result.has_value());
  CHECK(result.error().message == "the partitions form a cycle: \"0\" -> \"1\" -> \"2\" -> \"0\"");
  CHECK(result.error().notes ==
        std::vector<std::string>{
            "\"1\" needs \"0\": node \"b\" reads node \"a\"",
            "\"2\" needs \"1\": node \"c\" reads node \"b\"",
            "\"0\" needs \"2\": node \"d\" reads node \"c\"",
            "put the nodes of one step into the same partition, or into one of their own"});
}

TEST_CASE("If the order of appearance is kept, a part that needs a later one is refused") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = f(x)\n c = f(b)\n output a, c");
  CHECK(order_of(graph, "010") == "1: b | 0: a c");
  const auto result = order_parts(graph, assigned(graph, "010"), {.keep_original_order = true});
  REQUIRE(!result.has_value());
  CHECK(result.error().message ==
        "the partitions cannot keep the order of first appearance: \"0\", which appears before "
        "\"1\", needs it");
  CHECK(result.error().notes.front() == "node \"c\" of \"0\" reads node \"b\" of \"1\"");
}

// ---- the method again in the reference's form: quadratic ----

struct PlainParts {
  std::vector<std::vector<std::size_t>> depends_on, dependents;
};

PlainParts plain_parts(const Graph& graph, const Assignment& assignment) {
  PlainParts parts;
  parts.depends_on.resize(assignment.names.size());
  parts.dependents.resize(assignment.names.size());
  const auto add = [](std::vector<std::size_t>& list, std::size_t item) {
    if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
  };
  for (const NodeId node : graph.nodes()) {
    for (const Operand& operand : graph.operands(node)) {
      const NodeId maker = graph.value(operand.value).producer;
      if (graph.value(operand.value).kind != ValueKind::node_output) continue;
      const std::size_t from = index(assignment.part_of[maker]);
      const std::size_t to = index(assignment.part_of[node]);
      if (from == to) continue;
      add(parts.dependents[from], to);
      add(parts.depends_on[to], from);
    }
  }
  return parts;
}

std::string plain_order(const Graph& graph, const Assignment& assignment) {
  PlainParts parts = plain_parts(graph, assignment);
  std::vector<std::size_t> roots, sorted;
  for (std::size_t p = 0; p < parts.depends_on.size(); ++p) {
    if (parts.depends_on[p].empty()) roots.push_back(p);
  }
  while (!roots.empty()) {
    const std::size_t root = roots.back();
    roots.pop_back();
    sorted.push_back(root);
    for (const std::size_t other : parts.dependents[root]) {
      auto& waits = parts.depends_on[other];
      waits.erase(std::find(waits.begin(), waits.end(), root));
      if (waits.empty()) roots.push_back(other);
    }
  }
  if (sorted.size() != parts.depends_on.size()) return "refused";
  std::string text;
  for (const std::size_t p : sorted) text += assignment.names[p] + " ";
  return text;
}

TEST_CASE("Any assignment of a random graph gets the order of the plain method") {
  std::mt19937 random(20261121);
  std::size_t ordered = 0;
  for (int round = 0; round < 2000; ++round) {
    const RandomGraph made = random_graph(static_cast<std::uint32_t>(round), 30);
    const Graph& graph = made.graph;
    INFO(made.text);
    const std::size_t parts = 1 + random() % 5;
    const bool is_run = random() % 2 == 0;  // runs of nodes rarely form cycles
    std::string digits;
    for (std::size_t n = 0; n < graph.node_count(); ++n) {
      const std::size_t part = is_run ? n * parts / graph.node_count() : random() % parts;
      digits += static_cast<char>('0' + part);
    }
    const Assignment assignment = assigned(graph, digits);
    const auto partition = order_parts(graph, assignment, {});
    std::string text;
    if (partition) {
      for (const std::string& name : partition->names) text += name + " ";
      CHECK(check_partition(graph, *partition, nullptr).has_value());
      ++ordered;
    }
    CHECK((partition ? text : "refused") == plain_order(graph, assignment));
  }
  CHECK(ordered > 200);
}

TEST_CASE("A long cycle of parts shows its first twenty, and a step for each") {
  const auto refused = [](std::size_t parts) {
    std::string text = "input x\n", last = "x", names;
    for (std::size_t i = 0; i <= parts; ++i) {
      text += "n" + std::to_string(i) + " = f(" + last + ")\n";
      last = "n" + std::to_string(i);
      names += static_cast<char>(i == parts ? 'A' : 'A' + i);
    }
    const Graph graph = graph_from_text(text + "output " + last);
    const auto result = order_parts(graph, assigned(graph, names), {});
    REQUIRE(!result.has_value());
    CHECK(result.error().notes.size() == parts + 1);
    CHECK(result.error().node.has_value());
    return result.error().message;
  };
  std::string all = "the partitions form a cycle: ";
  for (char name = 'A'; name < 'A' + 20; ++name) all += std::string("\"") + name + "\" -> ";
  CHECK(refused(20) == all + "\"A\"");
  CHECK(refused(21) == all + "... -> \"A\"");
}

TEST_CASE("Refusals of an order name the node that reads, and the way out") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = f(x)\n c = f(b)\n output a, c");
  const auto result = order_parts(graph, assigned(graph, "010"), {.keep_original_order = true});
  REQUIRE(!result.has_value());
  CHECK(result.error().node == node_named(graph, "c"));
  CHECK(result.error().notes.back() == "without --keep-original-order there is an order that runs");
}

}  // namespace

// ---- problem of graph test ----

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

TEST_CASE("state that another stage writes than reads crosses the link in each step") {
  // As described above: by 0.4 GB/s, 40 bytes take 0.1 us.
  const Graph graph = graph_from_text(R"(
    input x: float32[10]
    input past_k: float32[10]
    input past_v: float32[10]
    a: float32[10] = f(x, past_k)
    n: int64[1] = Shape(past_v)
    b: float32[10] = f(a, n)
    present_k: float32[10] = f(b)
    present_v: float32[10] = f(past_v, b)
    output present_k, present_v)");
  const Graph with_state = graph.with_state(*find_state(graph, {}));
  REQUIRE(with_state.state().pairs.size() == 2);
  const GraphCostOptions options{.link_bandwidth = 4e8};
  std::string more = described(with_state, options);
  const std::string plain = described(graph, options);
  REQUIRE(more.starts_with(plain));
  // What writes past_v reads it, too, and its shape is read elsewhere at no cost.
  CHECK(more.substr(plain.size()) == "a>present_k 0.1 0\n");
}

TEST_CASE("a block is what a scope names up to its first number") {
  CHECK(block_of("model.layers.3.mlp.up") == "model.layers.3");
  CHECK(block_of("features.features.2.block.0") == "features.features.2");
  CHECK(block_of("layer1.0.conv1") == "layer1.0");
  CHECK(block_of("layer1.conv") == "layer1");
  CHECK(block_of("head.norm") == "head.norm");
  CHECK(block_of("7") == "7");
  CHECK(block_of("").empty());
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

// ---- stage boundary test ----

namespace {

// Each node is a part of its own.
std::string shared(std::string_view text) {
  const Graph graph = graph_from_text(text);
  PerNode<PartId> part_of(graph.node_count());
  std::vector<std::string> names;
  for (const NodeId node : graph.nodes()) {
    part_of[node] = PartId{index(node)};
    names.push_back("p" + std::to_string(index(node)));
  }
  std::vector<Device> devices(names.size(), Device::cpu);
  const Partition partition =
      make_partition(std::move(part_of), std::move(names), std::move(devices));
  std::string result;
  for (const auto& one : find_shared_parameters(graph, find_boundaries(graph, partition))) {
    result += std::string(graph.value(one.parameter).name) + ":";
    for (const auto& [part, name] : one.copies) {
      result += " " + partition.name(part) + "=" + std::string(graph.value(name).name);
    }
    result += "\n";
  }
  return result;
}

TEST_CASE("A parameter that one part holds is not shared") {
  CHECK(shared("input x\n param w\n a = f(x, w, w)\n b = f(a)\n output b").empty());
}

TEST_CASE("Parts that hold a parameter are in call order") {
  CHECK(
      shared(
          "input x\n param v\n param w\n a = f(x, w)\n b = f(a, v)\n c = f(b, w, v)\n output c") ==
      "v: p1=v p2=v\nw: p0=w p2=w\n");
}

TEST_CASE("Aliases are one parameter, and each part keeps its own name of it") {
  CHECK(shared("input x\n param w\n param v = w\n a = f(x, v)\n b = linear(a) !w\n output b") ==
        "w: p0=v p1=w\n");
}

struct Found {
  std::string stages, root;
  SkipCosts skips;
  std::string notes;  // or the error, with its notes
};

// Stages by digit, one a node.
Found find(std::string_view text, std::string_view digits, const StageBoundaryOptions& options) {
  const Graph graph = graph_from_text(text);
  PerNode<std::uint32_t> stage_of(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    stage_of[node] = static_cast<std::uint32_t>(digits[index(node)] - '0');
  }
  const Partition partition = form_stages(graph, stage_of);
  const auto found = find_stage_boundaries(graph, partition, options);
  if (!found) {
    std::string error = found.error().message;
    for (const std::string& note : found.error().notes) error += "\n" + note;
    return {.stages = {}, .root = {}, .skips = {}, .notes = error};
  }
  std::string notes;
  for (const std::string& note : found->notes) notes += (notes.empty() ? "" : "\n") + note;
  return {describe(graph, partition, found->stages), describe(graph, partition, found->root),
          found->skips, notes};
}

constexpr const char* kTied = R"(
  input x
  param w: float32[4,4]
  a = f(x, w)
  b = g(a)
  c = f(b, w, a)
  output c)";

TEST_CASE("A parameter that one stage uses is in that stage alone") {
  const Found found = find("input x\n param w\n a = f(x)\n b = f(a, w)\n output b", "01", {});
  CHECK(found.stages == "submod_pp_0(x) -> a\nsubmod_pp_1(a; w) -> b\n");
  CHECK(found.notes.empty());
}

TEST_CASE("A parameter that several stages use is replicated") {
  CHECK(find(kTied, "012", {}).stages ==
        "submod_pp_0(x; w) -> a\nsubmod_pp_1(a) -> b\nsubmod_pp_2(b a; w) -> c\n");
}

TEST_CASE("A parameter is transmitted by the first stage that uses it, in order of use there") {
  const Found found = find(kTied, "012", {.sharing = Sharing::transmit, .sharing_of = {}});
  CHECK(found.stages == "submod_pp_0(x; w) -> a w\nsubmod_pp_1(a) -> b\nsubmod_pp_2(b w a) -> c\n");
  CHECK(found.root == found.stages);
}

TEST_CASE("Relays pass on values and transmitted parameters; the root needs no relays") {
  const Found found =
      find(kTied, "012", {.sharing = Sharing::transmit, .sharing_of = {}, .relay = true});
  CHECK(found.stages ==
        "submod_pp_0(x; w) -> a w\nsubmod_pp_1(a w) -> b a w\nsubmod_pp_2(b w a) -> c\n");
  CHECK(found.root == "submod_pp_0(x; w) -> a w\nsubmod_pp_1(a) -> b\nsubmod_pp_2(b w a) -> c\n");
}

TEST_CASE("The choice can be made by parameter, by any of its names") {
  constexpr const char* kText = R"(
    input x
    param w
    param v = w
    param u
    a = f(x, w, u)
    b = f(a, v, u)
    output b)";
  CHECK(find(kText, "01", {.sharing_of = {{"v", Sharing::transmit}}}).stages ==
        "submod_pp_0(x; w u v) -> a v\nsubmod_pp_1(a v; u) -> b\n");
  CHECK(find(kText, "01", {.sharing = Sharing::transmit, .sharing_of = {{"u", Sharing::replicate}}})
            .stages == "submod_pp_0(x; w u v) -> a v\nsubmod_pp_1(a v; u) -> b\n");
  CHECK(find(kText, "01", {.sharing_of = {{"weight", Sharing::transmit}}}).notes ==
        "the model has no parameter \"weight\"");
  CHECK(find("input x\n param fc.weight\n a = f(x, fc.weight)\n output a", "0",
             {.sharing_of = {{"fc.wieght", Sharing::transmit}}})
            .notes == "the model has no parameter \"fc.wieght\"\ndid you mean \"fc.weight\"?");
}

TEST_CASE("Parameters that a module owns or a constant reads are copied anyway, with a note") {
  constexpr const char* kText = R"(
    input x
    param w
    param v
    const k = Cast(v)
    a = linear(x, v) !w
    b = linear(a, k) !w
    output b)";
  const Found found = find(kText, "01", {.sharing = Sharing::transmit, .sharing_of = {}});
  CHECK(found.stages == "submod_pp_0(x; v w) -> a\nsubmod_pp_1(a; v w k) -> b\n");
  CHECK(found.notes ==
        "not transmitted everywhere, since a module or a constant of the stage needs a copy: "
        "parameters \"w\", \"v\"");
}

TEST_CASE("A parameter that no stage uses is left out with a note; one that is returned is not") {
  const Found found =
      find("input x\n param u\n param v\n param r\n a = f(x)\n output a, r", "0", {});
  CHECK(found.stages == "submod_pp_0(x) -> a\n");
  CHECK(found.notes == "left out, since no stage uses them: parameters \"u\", \"v\"");
}

TEST_CASE("Both ways of skipping stages are counted, whichever is taken") {
  constexpr const char* kText = R"(
    input x
    a: float32[10] = f(x)
    b = f(a)
    c = f(b, a)
    d = f(c, a)
    e = f(d, b)
    output e, a)";
  for (const bool relay : {false, true}) {
    const SkipCosts skips = find(kText, "01234", {.sharing_of = {}, .relay = relay}).skips;
    CHECK(skips.values == 2);
    CHECK(skips.direct_transfers == 3 + 2);  // a to 1, 2, 3; b to 2, 4
    CHECK(skips.relay_transfers == 3 + 3);
    CHECK(skips.direct_bytes == 3 * 40 + 2 * 16);
    CHECK(skips.relay_bytes == 3 * 40 + 3 * 16);
  }
  CHECK(find(kText, "00112", {.sharing_of = {}}).skips.values == 1);
}

TEST_CASE("A stage on the way takes a value in once, and the last reader does not give it") {
  CHECK(find("input x\n a = f(x)\n b = f(a)\n c = f(b)\n d = f(c, a)\n output d", "0123",
             {.sharing_of = {}, .relay = true})
            .stages ==
        "submod_pp_0(x) -> a\nsubmod_pp_1(a) -> b a\nsubmod_pp_2(b a) -> c a\n"
        "submod_pp_3(c a) -> d\n");
}

TEST_CASE("Stages of unconnected parts of a graph have no values between them") {
  const Found found =
      find("input x\n input y\n a = f(x)\n b = f(y)\n output a, b", "01", {.sharing_of = {}});
  CHECK(found.stages == "submod_pp_0(x) -> a\nsubmod_pp_1(y) -> b\n");
  CHECK(found.skips.values == 0);
}

// ---- invariants of any graph, cut anywhere ----

bool holds(std::span<const ValueId> values, ValueId value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// Everything that a stage's nodes read is made there, held there, or an input.
void check_reads(const Graph& graph, const Partition& partition, const Boundaries& boundaries) {
  for (const NodeId node : graph.nodes()) {
    const PartId stage = partition.part_of[node];
    for (const Operand& operand : graph.operands(node)) {
      const Value& value = graph.value(operand.value);
      if (value.kind == ValueKind::node_output && partition.part_of[value.producer] == stage) {
        continue;
      }
      if (value.kind == ValueKind::parameter && value.producer != kNone<NodeId>) continue;
      CHECK(holds(boundaries.inputs[stage], operand.value) !=
            holds(boundaries.parameters[stage], operand.value));
    }
    for (const ValueId parameter : graph.module_parameters(node)) {
      CHECK(holds(boundaries.parameters[stage], parameter));
    }
  }
}

// Every input of a stage is an input of the graph or an output of an earlier stage; with relays, of
// the one just before.
void check_gifts(const Graph& graph, const Boundaries& boundaries, std::size_t stages, bool relay) {
  for (std::size_t i = 0; i < stages; ++i) {
    const auto stage = id_at<PartId>(i);
    for (const ValueId value : boundaries.inputs[stage]) {
      if (graph.value(value).kind == ValueKind::input) continue;
      bool is_given = false;
      for (std::size_t j = relay && i > 0 ? i - 1 : 0; j < i; ++j) {
        is_given = is_given || holds(boundaries.outputs[id_at<PartId>(j)], value);
      }
      CHECK(is_given);
    }
    for (const ValueId value : boundaries.outputs[stage]) {
      const Value& record = graph.value(value);
      const bool is_own = record.kind == ValueKind::parameter
                              ? holds(boundaries.parameters[stage], value)
                              : !holds(boundaries.inputs[stage], value);
      CHECK((is_own || (relay && holds(boundaries.inputs[stage], value))));
    }
  }
}

TEST_CASE("In random graphs each stage gets what it reads from a stage that has it") {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    const RandomGraph made = random_graph(seed, 25);
    const Graph& graph = made.graph;
    INFO(made.text);
    PerNode<std::uint32_t> stage_of(graph.node_count());
    for (const NodeId node : graph.nodes()) {
      stage_of[node] =
          static_cast<std::uint32_t>(index(node) * (1 + seed % 6) / graph.node_count());
    }
    const Partition partition = form_stages(graph, stage_of);
    CHECK(check_partition(graph, partition, nullptr).has_value());
    for (const Sharing sharing : {Sharing::replicate, Sharing::transmit}) {
      for (const bool relay : {false, true}) {
        const auto found = find_stage_boundaries(
            graph, partition, {.sharing = sharing, .sharing_of = {}, .relay = relay});
        REQUIRE(found.has_value());
        check_reads(graph, partition, found->stages);
        check_gifts(graph, found->stages, partition.count(), relay);
        check_gifts(graph, found->root, partition.count(), false);
      }
    }
  }
}

}  // namespace

// ---- stages test ----

namespace {

// "first-last" of each call.
std::string calls_of(std::string_view text, std::string_view scope) {
  const Graph graph = graph_from_text(text);
  std::string found;
  for (const ScopeCall& call : find_calls(graph, scope)) {
    found += (found.empty() ? "" : " ") + std::string(graph.node(call.first).name) + "-" +
             std::string(graph.node(call.last).name);
  }
  return found;
}

TEST_CASE("A scope is inside the scopes that begin its path") {
  CHECK(is_inside("enc.layer.0", "enc.layer"));
  CHECK(is_inside("enc", "enc"));
  CHECK(is_inside("enc", ""));
  CHECK(!is_inside("encoder", "enc"));
  CHECK(!is_inside("enc", "enc.layer"));
  CHECK(!is_inside("", "enc"));
  CHECK(child_of("enc.layer.0.attn", "enc.layer") == "0");
  CHECK(child_of("enc.layer", "enc.layer").empty());
  CHECK(child_of("enc.layer", "") == "enc");
}

TEST_CASE("Call numbers are not part of a scope's name unless they are asked for") {
  CHECK(is_inside("enc@1.layer", "enc"));
  CHECK(is_inside("enc@1.layer", "enc@1"));
  CHECK(!is_inside("enc@2.layer", "enc@1"));
  CHECK(!is_inside("enc@x", "enc"));
  CHECK(child_of("enc@1.layer.0", "enc") == "layer");
}

TEST_CASE("Data that leaves a scope and comes back begins a new call") {
  const char* const model =
      "input x\nscope l\n a = f(x)\n b = f(a)\nscope\n c = f(b)\nscope l\n d = f(c)\n output d";
  CHECK(calls_of(model, "l") == "a-b d-d");
  CHECK(calls_of(model, "") == "a-d");
  CHECK(calls_of(model, "m").empty());
}

TEST_CASE("A node of another scope between them does not divide a call") {
  CHECK(calls_of("input x\nscope l\n a = f(x)\nscope\n s = size(x)\n t = g(a)\nscope l\n"
                 " b = f(a, s)\n output b, t",
                 "l") == "a-b");
}

// A chain of nodes n0, n1, ... that came from these scopes; "|" is a marker.
Graph chain(const std::vector<std::string_view>& scopes) {
  GraphBuilder builder;
  const auto input =
      builder.add_input({.name = "x", .type = ValueType::tensor, .dtype = DType::float32}, {});
  ValueHandle last = input;
  std::size_t count = 0, markers = 0;
  for (const std::string_view scope : scopes) {
    if (scope == "|") {
      const auto name = builder.keep("m" + std::to_string(markers++));
      builder.add_node({.name = name, .op = "torch.ops.pippy._pipe_split.default"});
      builder.add_output({.name = name, .type = ValueType::none}, 0);
      continue;
    }
    const auto name = builder.keep("n" + std::to_string(count++));
    builder.add_node({.name = name, .op = "f", .scope = scope});
    builder.add_operand(last, OperandSlot::positional(0));
    last =
        builder.add_output({.name = name, .type = ValueType::tensor, .dtype = DType::float32}, 0);
  }
  builder.add_graph_output(last, {});
  return std::move(builder.finish()).value();
}

// "n0 n1 | n2", with notes on separate lines; else the error and its notes.
std::string cut(const Graph& graph, const CutOptions& options) {
  const auto numbers = cut_stages(graph, options);
  std::string text;
  if (!numbers) {
    text = numbers.error().message;
    for (const std::string& note : numbers.error().notes) text += "\n" + note;
    return text;
  }
  const Partition stages = form_stages(graph, numbers->stage_of);
  CHECK(stages.devices.empty());
  for (const PartId stage : stages.parts()) {
    CHECK(stages.name(stage) == "submod_pp_" + std::to_string(index(stage)));
    text += (text.empty() ? "" : " | ") + names_of(graph, stages.nodes(stage));
  }
  for (const std::string& note : numbers->notes) text += "\n" + note;
  return text;
}

std::string cut_at(const std::vector<std::string_view>& scopes, std::string scope,
                   ScopeCut::Side side) {
  return cut(chain(scopes), {.at = {{std::move(scope), side}}, .between = {}});
}

constexpr auto kBegin = ScopeCut::Side::begin;
constexpr auto kEnd = ScopeCut::Side::end;

bool is_marker(std::string_view op) {
  const Graph graph = graph_from_text("input x\n a = " + std::string(op) + "(x)\n output x");
  return is_stage_marker(graph, NodeId{0});
}

TEST_CASE("A marker is pippy's pipe_split, however it is spelt") {
  for (const char* op : {"pippy._pipe_split", "torch.ops.pippy._pipe_split",
                         "pippy._pipe_split.default", "torch.ops.pippy._pipe_split.default",
                         "pippy.pipe_split", "pippy::_pipe_split", "_pipe_split", "pipe_split"}) {
    INFO(op);
    CHECK(is_marker(op));
  }
  for (const char* op : {"f", "pipe_splitter", "my_pipe_split", "torch.split", "other._pipe_split",
                         "other::_pipe_split", "pippy._pipe_split.out"}) {
    INFO(op);
    CHECK(!is_marker(op));
  }
}

TEST_CASE("Markers end stages and vanish") {
  const Graph graph = chain({"", "", "|", "", "|", ""});
  CHECK(cut(graph, {}) == "n0 n1 | n2 | n3");
  CHECK(has_stage_markers(graph));
  CHECK(!has_stage_markers(chain({""})));
}

TEST_CASE("Adjacent markers count once") {
  CHECK(cut(chain({"", "|", "|", "|", ""}), {}) == "n0 | n1");
}

TEST_CASE("Markers at the ends make no stage, with a note") {
  CHECK(cut(chain({"|", "", "|", "", "|"}), {}) ==
        "n0 | n1\na cut before the first node makes no stage\n"
        "a cut after the last node makes no stage");
}

TEST_CASE("A model of markers alone has no stages") {
  const Graph graph = graph_from_text("input x\n m: none = pippy::_pipe_split(_)\n output x");
  CHECK(cut(graph, {}).empty());
}

TEST_CASE("A marker must make no value that is used") {
  CHECK(cut(graph_from_text("input x\n m = pippy::_pipe_split(x)\n a = f(m)\n output a"), {}) ==
        "the stage marker \"m\" must make no value that is used, but node \"a\" reads it");
  CHECK(cut(graph_from_text("input x\n m = pippy::_pipe_split(x)\n output m"), {}) ==
        "the stage marker \"m\" must make no value that is used, but the model returns it");
}

TEST_CASE("A scope is cut before its first node or after its last") {
  const std::vector<std::string_view> scopes = {"stem",  "enc.0",  "enc.0.att",
                                                "enc.1", "enc.10", "head"};
  CHECK(cut_at(scopes, "enc", kBegin) == "n0 | n1 n2 n3 n4 n5");
  CHECK(cut_at(scopes, "enc", kEnd) == "n0 n1 n2 n3 n4 | n5");
  CHECK(cut_at(scopes, "enc.0", kEnd) == "n0 n1 n2 | n3 n4 n5");
  CHECK(cut_at(scopes, "enc.1", kEnd) == "n0 n1 n2 n3 | n4 n5");
  CHECK(cut_at(scopes, "enc.0.att", kBegin) == "n0 n1 | n2 n3 n4 n5");
}

TEST_CASE("A scope is cut at each of its calls, or at one") {
  const Graph graph = graph_from_text(
      "input x\nscope l\n a = f(x)\nscope\n b = f(a)\nscope l\n c = f(b)\nscope\n d = f(c)\n"
      " output d");
  CHECK(cut(graph, {.at = {{"l", kEnd}}, .between = {}}) == "a | b c | d");
  CHECK(cut(graph, {.at = {{"l", kEnd, ScopeCut::Calls::first}}, .between = {}}) == "a | b c d");
  CHECK(cut(graph, {.at = {{"l", kEnd, ScopeCut::Calls::last}}, .between = {}}) == "a b c | d");
  CHECK(cut(graph, {.at = {{"l", kBegin, ScopeCut::Calls::last}}, .between = {}}) == "a b | c d");
}

TEST_CASE("Consecutive calls are distinguished by their numbers") {
  CHECK(cut_at({"l.in", "l@1.in", "l@2"}, "l", kEnd) ==
        "n0 | n1 | n2\na cut after the last node makes no stage");
}

TEST_CASE("A node is cut before or after itself") {
  const Graph graph = chain({"", "", ""});
  CHECK(cut(graph, {.at = {}, .at_nodes = {{"n1", kBegin}}}) == "n0 | n1 n2");
  CHECK(cut(graph, {.at = {}, .at_nodes = {{"n1", kEnd}, {"n0", kEnd}}}) == "n0 | n1 | n2");
  CHECK(cut(graph, {.at = {}, .at_nodes = {{"n3", kEnd}}}) ==
        "the model has no node \"n3\"\ndid you mean \"n0\"?");
}

TEST_CASE("Scopes and markers cut together; cuts at one place count once") {
  const Graph graph = chain({"a", "b", "|", "c", "d"});
  CHECK(cut(graph, {.at = {{"c", kBegin}, {"b", kEnd}, {"d", kBegin}}, .between = {}}) ==
        "n0 n1 | n2 | n3");
}

TEST_CASE("A cut by scope at an end of the model makes no stage, with a note") {
  CHECK(cut_at({"a", "b"}, "a", kBegin) == "n0 n1\na cut before the first node makes no stage");
  CHECK(cut_at({"a", "a"}, "a", kEnd) == "n0 n1\na cut after the last node makes no stage");
}

TEST_CASE("For an unknown scope the longest known part is named") {
  CHECK(cut_at({"enc.0.att", "enc.1.att"}, "enc.7.att", kBegin) ==
        "no node is in the scope \"enc.7\": \"enc\" is the longest known part of it\ndid you mean "
        "\"enc.0\"?");
  CHECK(cut_at({"encoder", "decoder"}, "encodr.x", kBegin) ==
        "no node is in the scope \"encodr\"\ndid you mean \"encoder\"?");
  CHECK(cut_at({"enc.self", "enc.cross"}, "enc.attention", kBegin) ==
        "no node is in the scope \"enc.attention\": \"enc\" is the longest known part of "
        "it\ninside \"enc\" there are: cross, self");
  CHECK(cut_at({"enc"}, "enc.0", kBegin) ==
        "no node is in the scope \"enc.0\": \"enc\" is the longest known part of it");
  CHECK(cut_at({"", ""}, "enc", kBegin) ==
        "no node is in the scope \"enc\"\nthe model's nodes have no scopes");
}

TEST_CASE("Each child of a scope becomes a stage") {
  const Graph graph = chain({"stem", "enc.0", "enc.0.a", "enc.1", "enc.2", "head"});
  CHECK(cut(graph, {.at = {}, .between = "enc"}) == "n0 n1 n2 | n3 | n4 n5");
  CHECK(cut(graph, {.at = {}, .between = ""}) == "n0 | n1 n2 n3 n4 | n5");
  CHECK(cut(graph, {.at = {}, .between = "stem"}) ==
        "the scope \"stem\" has no scope inside it to split between");
  CHECK(cut(graph, {.at = {}, .between = "enc.0"}) ==
        "the scope \"enc.0\" has only one scope inside it to split between");
  CHECK(cut(graph, {.at = {}, .between = "dec"}).starts_with("no node is in the scope \"dec\""));
}

TEST_CASE("A child that comes back later begins a stage only once") {
  CHECK(cut(chain({"s.a", "s.b", "s.a", "s.b"}), {.at = {}, .between = "s"}) == "n0 | n1 n2 n3");
}

TEST_CASE("A scope with every node is one stage") {
  CHECK(cut_at({"a", "a", "a"}, "a", kBegin) ==
        "n0 n1 n2\na cut before the first node makes no stage");
}

TEST_CASE("Stage numbers need not be dense") {
  const Graph graph = chain({"", "", ""});
  PerNode<std::uint32_t> stage_of(3);
  stage_of[NodeId{0}] = 2;
  stage_of[NodeId{1}] = 2;
  stage_of[NodeId{2}] = 7;
  const Partition stages = form_stages(graph, stage_of);
  CHECK(stages.names == std::vector<std::string>{"submod_pp_0", "submod_pp_1"});
  CHECK(names_of(graph, stages.nodes(PartId{0})) == "n0 n1");
}

// The stage of each node, as digits.
std::string sharded(std::string_view text, std::uint32_t stages) {
  const Graph graph = graph_from_text(text);
  const AutoShards shards = shard_by_parameters(graph, stages);
  std::string digits;
  for (const std::uint32_t stage : shards.stage_of) digits += std::to_string(stage);
  return digits;
}

TEST_CASE("A stage ends once it holds more than its share of the parameters") {
  CHECK(sharded(R"(
    input x
    param p: float32[3]
    param q: float32[3]
    param r: float32[3]
    param s: float32[3]
    a = f(x) !p
    b = f(a) !q
    c = f(b) !r
    d = f(c) !s
    output d)",
                2) == "0001");
}

TEST_CASE("A stage that holds exactly its share takes more nodes") {
  CHECK(sharded("input x\n param p: float32[2]\n param q: float32[2]\n a = f(x) !p\n b = f(a)\n"
                "c = f(b) !q\n d = f(c)\n output d",
                2) == "0001");
}

TEST_CASE("A node that reads from an earlier stage joins it, with all nodes between") {
  constexpr const char* kText = R"(
    input x
    param p: float32[4]
    param q: float32[4]
    param r: float32[4]
    a = f(x) !p
    b = f(a) !q
    c = f(b) !r
    d = f(c, a)
    e = f(d)
    output e)";
  CHECK(sharded(kText, 4) == "00001");
}

TEST_CASE("Inputs in lists, keywords and the item just before do not reach back") {
  constexpr const char* kText = R"(
    input x
    param p: float32[4]
    param q: float32[4]
    a = f(x) !p
    b = f(a, [x], k=x) !q
    c = f(b)
    output c)";
  CHECK(sharded(kText, 4) == "012");
}

TEST_CASE("A node that reads an input of the graph reaches back to the first stage") {
  CHECK(sharded("input x\n param p: float32[4]\n a = f(x) !p\n b = f(a)\n c = f(b, x)\n output c",
                4) == "000");
}

TEST_CASE("A parameter counts once under all its names, where it is first used") {
  constexpr const char* kText = R"(
    input x
    param w: float32[4]
    param v = w
    param u: float32[4]
    const k = Cast(u)
    a = f(x, w)
    b = f(a, v)
    c = f(b, k)
    d = f(c)
    output d)";
  const Graph graph = graph_from_text(kText);
  const AutoShards shards = shard_by_parameters(graph, 3);
  CHECK(shards.share == 2);
  CHECK(shards.count == 3);
  CHECK(shards.largest == 4);
  CHECK(sharded(kText, 3) == "0112");
}

TEST_CASE("Without parameters there is one stage, and without nodes none") {
  CHECK(sharded("input x\n a = f(x)\n b = f(a)\n output b", 4) == "00");
  CHECK(shard_by_parameters(graph_from_text("input x\n output x"), 4).count == 0);
}

// ---- the method again in the reference's form: quadratic ----

std::vector<std::uint32_t> plain_shards(const Graph& graph, std::uint32_t stages) {
  const std::size_t inputs = graph.inputs().size();
  std::uint64_t total = 0;
  for (const ValueId p : graph.parameters()) {
    if (graph.canonical_parameter(p) == p && graph.has_rank(p)) {
      total += element_count(graph.shape(p)).value_or(0);
    }
  }
  std::vector<std::uint32_t> shard(inputs, 0);  // by item
  std::vector<std::uint64_t> held(inputs, 0);
  ValueSet counted(graph.value_count());
  std::uint32_t current = 0;
  for (const NodeId node : graph.nodes()) {
    const std::size_t item = inputs + index(node);
    std::uint32_t least = current;
    std::size_t from = 0;
    for (const Operand& operand : graph.operands(node)) {
      const Value& value = graph.value(operand.value);
      if (!operand.slot.is_positional() || operand.slot.is_inside_list()) continue;
      if (value.kind == ValueKind::parameter) continue;
      const std::size_t at =
          value.kind == ValueKind::input ? index(operand.value) : inputs + index(value.producer);
      if (at + 1 == item || shard[at] >= least) continue;
      least = shard[at];
      from = at;
    }
    if (least < current) {
      for (std::size_t i = item; i-- > from;) shard[i] = least;
      current = least;
    }
    std::uint64_t own = 0;
    const auto count = [&](ValueId p) {
      if (!graph.is_parameter(p) || !counted.insert(graph.canonical_parameter(p))) return;
      if (graph.has_rank(p)) own += element_count(graph.shape(p)).value_or(0);
    };
    for (const ValueId p : graph.module_parameters(node)) count(p);
    for (const Operand& operand : graph.operands(node)) count(operand.value);
    shard.push_back(current);
    held.push_back(own);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i <= item; ++i) sum += shard[i] == current ? held[i] : 0;
    if (sum > total / stages) ++current;
  }
  return {shard.begin() + static_cast<std::ptrdiff_t>(inputs), shard.end()};
}

// A chain with shortcuts: most nodes own a parameter, some read further back, or an input.
std::string random_chain(std::mt19937& random) {
  std::string text = "input x\n input y\n";
  const std::size_t nodes = 1 + random() % 25;
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    text += "param p" + std::to_string(i) + ": float32[" + std::to_string(random() % 9) + "]\n";
    text += name + " = f(" + (i == 0 ? "x" : "n" + std::to_string(i - 1));
    if (i > 1 && random() % 10 == 0) text += ", n" + std::to_string(random() % i);
    if (random() % 64 == 0) text += ", y";
    if (i > 1 && random() % 4 == 0) text += ", [n" + std::to_string(random() % i) + "]";
    const std::size_t owned = random() % 8 == 0 ? random() % (i + 1) : i;
    text += random() % 5 == 0 ? ")\n" : ") !p" + std::to_string(owned) + "\n";
  }
  return text + "output n0";
}

TEST_CASE("Stages of random chains agree with a plain second implementation") {
  std::mt19937 random(20261121);
  std::map<std::uint32_t, int> counts;
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_chain(random);
    INFO(text);
    const Graph graph = graph_from_text(text);
    const auto stages = static_cast<std::uint32_t>(1 + random() % 6);
    const AutoShards shards = shard_by_parameters(graph, stages);
    CHECK(std::vector<std::uint32_t>(shards.stage_of.begin(), shards.stage_of.end()) ==
          plain_shards(graph, stages));
    CHECK(shards.count <= stages);
    ++counts[shards.count];
  }
  CHECK(counts.size() >= 4);  // stages overfill: the last ones asked for are rarely reached
}

}  // namespace

}  // namespace cleave
