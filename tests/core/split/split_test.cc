#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"
#include "tests/core/split/plain_passes.h"

namespace cleave {

// ---- boundary test ----

namespace {

// The named nodes are on the CPU; there are no fusion groups.
std::string boundaries(std::string_view text, std::string_view cpu) {
  const Graph graph = graph_from_text(text);
  Support support = support_all_but(graph, cpu);
  const Fusions fusions = find_fusions(
      graph, {std::move(support.supported), std::move(support.reasons)}, {.skip_fusion = true});
  const Partition partition = make_partition(split_subgraphs(graph, fusions, {}).subgraphs,
                                             {.acc_prefix = "acc", .non_acc_prefix = "cpu"});
  return describe(graph, partition, find_boundaries(graph, partition));
}

TEST_CASE("A part's inputs are what it reads from outside; its outputs are what others read") {
  CHECK(boundaries(R"(
    input x
    a = f(x)
    b = f(a)
    c = f(b)
    output c)",
                   "b") == "acc0(x) -> a\ncpu1(a) -> b\nacc2(b) -> c\n");
}

TEST_CASE("Inputs are in order of first use: positional, then keyword, then captured") {
  CHECK(boundaries(R"(
    input p
    input q
    input r
    input s
    input t
    a = f(k=s, j=r, [q, p], ^t)
    b = f(t, p)
    output b)",
                   "") == "acc0(s r q p t) -> b\n");
}

TEST_CASE("Keyword inputs keep the order of the file, not that of names") {
  CHECK(boundaries("input x\n input y\n a = f(z=y, b=x)\n output a", "") == "acc0(y x) -> a\n");
}

TEST_CASE("A value is an input once, and an output once") {
  CHECK(boundaries(R"(
    input x
    a = f(x, x)
    b = f(a, [a], k=a)
    c = f(a)
    output b, c, a, a)",
                   "b c") == "acc0(x) -> a\ncpu1(a) -> b c\n");
}

TEST_CASE("Outputs are in the order in which the model first reads them across parts") {
  CHECK(boundaries(R"(
    input x
    a = f(x)
    b = f(x)
    c = f(b)
    d = f(a)
    output d, c)",
                   "c d") == "acc0(x) -> b a\ncpu1(b a) -> d c\n");
}

TEST_CASE("The graph's outputs come last among a part's outputs") {
  CHECK(boundaries(R"(
    input x
    a = f(x)
    b = f(x)
    c = f(b)
    output a, b, c)",
                   "c") == "acc0(x) -> b a\ncpu1(b) -> c\n");
}

TEST_CASE("A value used two parts later goes straight there") {
  CHECK(boundaries(R"(
    input x
    a = f(x)
    b = f(a)
    c = f(b, a)
    output c)",
                   "b") == "acc0(x) -> a\ncpu1(a) -> b\nacc2(b a) -> c\n");
}

TEST_CASE("Parameters are copied into each part that reads them, and are no inputs") {
  CHECK(boundaries(R"(
    input x
    param w
    param v
    a = f(x, w)
    b = f(a, w) !v
    output b)",
                   "b") == "acc0(x; w) -> a\ncpu1(a; w v) -> b\n");
}

TEST_CASE("Constants go into each part that reads them, makers first, with their parameters") {
  CHECK(boundaries(R"(
    input x
    param w
    const c = Cast(w)
    const d = Neg(c, w)
    a = f(x, d)
    b = f(a, c)
    output b)",
                   "b") == "acc0(x; w c d) -> a\ncpu1(a; w c) -> b\n");
}

TEST_CASE("A graph input that is a graph output passes through the root only") {
  CHECK(boundaries("input x\n a = f(x)\n output x, a", "") == "acc0(x) -> a\n");
}

TEST_CASE("A parameter that is a graph output passes through the root only") {
  CHECK(boundaries("input x\n param w\n const c = f(w)\n a = f(x, w)\n output w, c, a", "") ==
        "acc0(x; w) -> a\n");
}

TEST_CASE("A part may have no inputs") {
  CHECK(boundaries("input x\n z = zeros()\n a = f(x, z)\n output a", "z") ==
        "cpu0() -> z\nacc1(x z) -> a\n");
}

TEST_CASE("A part may have no outputs") {
  CHECK(boundaries("input x\n a = f(x)\n b = f(a)\n output a", "b") ==
        "acc0(x) -> a\ncpu1(a) ->\n");
}

TEST_CASE("Only the outputs of a node that are read elsewhere cross") {
  CHECK(boundaries("input x\n a, b, c = f(x)\n d = f(c)\n output d, a", "d") ==
        "acc0(x) -> c a\ncpu1(c) -> d\n");
}

TEST_CASE("An empty graph has no boundaries") {
  CHECK(boundaries("input x\n output x", "").empty());
}

TEST_CASE("A chain of constants 20000 long is followed without recursion") {
  std::string text = "param w\ninput x\nconst c0 = f(w)\n";
  for (int i = 1; i < 20000; ++i) {
    text += "const c" + std::to_string(i) + " = f(c" + std::to_string(i - 1) + ")\n";
  }
  text += "a = f(x, c19999)\noutput a";
  const Graph graph = graph_from_text(text);
  const Partition partition = make_partition(PerNode<PartId>(1), {"p"}, {Device::acc});
  const Boundaries found = find_boundaries(graph, partition);
  CHECK(found.constant_copies == 20000);
  CHECK(graph.node(needed_constants(graph, found, PartId{0}).front()).name == "c0");
  CHECK(NeededConstants(graph, found).of(PartId{0}).size() == 20000);
}

TEST_CASE("Boundaries agree with a plain second implementation") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, 25);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    const Graph& graph = random.graph;
    const Fusions fusions = find_fusions(graph, {random.support.supported, random.support.reasons},
                                         {.skip_fusion = true});
    const Subgraphs subgraphs = split_subgraphs(graph, fusions, {}).subgraphs;
    const Partition partition = make_partition(subgraphs, {});
    const Boundaries found = find_boundaries(graph, partition);
    const auto expected = plain::find_boundaries(graph, plain::subgraphs_in(subgraphs));
    NeededConstants needed(graph, found);
    for (const PartId part : partition.parts()) {
      const plain::Boundary& plain_part = expected[index(part)];
      REQUIRE(names_of(graph, found.inputs[part]) == names_of(graph, plain_part.inputs));
      REQUIRE(names_of(graph, found.outputs[part]) == names_of(graph, plain_part.outputs));
      REQUIRE(names_of(graph, found.parameters[part]) == names_of(graph, plain_part.parameters));
      const auto constants = needed.of(part);
      REQUIRE(std::vector(constants.begin(), constants.end()) ==
              needed_constants(graph, found, part));
    }
  }
}

// Parts by digit, one a node; parameters that nodes name are passed.
std::string passed(std::string_view text, std::string_view parts) {
  const Graph graph = graph_from_text(text);
  PerNode<PartId> part_of(graph.node_count(), kNone<PartId>);
  std::vector<std::string> names;
  for (const NodeId node : graph.nodes()) {
    if (parts[index(node)] == '-') continue;
    part_of[node] = id_at<PartId>(static_cast<std::size_t>(parts[index(node)] - '0'));
    while (names.size() <= index(part_of[node]))
      names.push_back("p" + std::to_string(names.size()));
  }
  std::vector<Device> devices(names.size(), Device::cpu);
  const Partition partition =
      make_partition(std::move(part_of), std::move(names), std::move(devices));
  return describe(graph, partition, find_boundaries(graph, partition, {.pass_parameters = true}));
}

TEST_CASE("Parameters that are passed are inputs of each part that names them") {
  CHECK(passed(R"(
    input x
    param w
    a = f(x, w)
    b = f(a, k=w)
    output b)",
               "01") == "p0(x w) -> a\np1(a w) -> b\n");
}

TEST_CASE("Parameters of modules are never passed, nor those that only constants read") {
  CHECK(passed(R"(
    input x
    param w
    param v
    const c = Cast(v)
    a = linear(x) !w
    b = f(a, w, c)
    l = linear(b, w) !w
    output l)",
               "012") == "p0(x; w) -> a\np1(a w; v c) -> b\np2(b; w) -> l\n");
}

TEST_CASE("A node in no part makes no inputs or outputs") {
  CHECK(passed("input x\n a = f(x)\n m = marker(a)\n b = f(a)\n output b", "0-1") ==
        "p0(x) -> a\np1(a) -> b\n");
}

TEST_CASE("A part depends on those whose outputs it takes in, each once") {
  const Graph graph =
      graph_from_text("input x\n a = f(x)\n b = f(a)\n c = f(a, b)\n d = f(c, x)\n output d");
  PerNode<PartId> part_of(4);
  for (const NodeId node : graph.nodes()) part_of[node] = PartId{index(node)};
  const Partition partition =
      make_partition(std::move(part_of), {"0", "1", "2", "3"}, std::vector<Device>(4, Device::cpu));
  const auto depends_on = find_dependencies(graph, find_boundaries(graph, partition));
  CHECK(depends_on.begin == std::vector<std::uint32_t>{0, 0, 1, 3, 4});
  CHECK(depends_on.items == std::vector<PartId>{PartId{0}, PartId{0}, PartId{1}, PartId{2}});
}

}  // namespace

// ---- partition test ----

namespace {

constexpr const char* kChain = "input x\n a = f(x)\n b = f(a)\n c = f(b)\n output c";

PerNode<PartId> parts(std::initializer_list<std::uint32_t> of_nodes) {
  PerNode<PartId> result(of_nodes.size());
  std::size_t i = 0;
  for (const std::uint32_t part : of_nodes) result[id_at<NodeId>(i++)] = PartId{part};
  return result;
}

std::string describe(const Graph& graph, const Partition& partition) {
  std::string text;
  for (const PartId part : partition.parts()) {
    text += (text.empty() ? "" : " | ") + partition.name(part) + ": " +
            names_of(graph, partition.nodes(part));
  }
  return text;
}

std::string fault(const Graph& graph, const Partition& partition, std::string_view acc) {
  const NodeSet acc_nodes = nodes_named(graph, acc);
  const auto status = check_partition(graph, partition, &acc_nodes);
  if (status) return "";
  CHECK(status.error().node.has_value());
  return status.error().message;
}

TEST_CASE("Parts are named by device and number") {
  const Graph graph = graph_from_text(kChain);
  const Subgraphs subgraphs{parts({0, 1, 1}), {Device::acc, Device::cpu}, {1, 2}};
  CHECK(describe(graph, make_partition(subgraphs, {})) == "_run_on_acc_0: a | _run_on_cpu_1: b c");
}

TEST_CASE("Prefixes can be set") {
  const Graph graph = graph_from_text(kChain);
  const Subgraphs subgraphs{parts({0, 1, 1}), {Device::acc, Device::cpu}, {1, 2}};
  CHECK(describe(graph, make_partition(subgraphs,
                                       {.acc_prefix = "A", .non_acc_prefix = "_run_off_acc_"})) ==
        "A0: a | _run_off_acc_1: b c");
}

TEST_CASE("An emptied subgraph vanishes, and the names of the others stay") {
  const Graph graph = graph_from_text(kChain);
  const Subgraphs subgraphs{
      parts({1, 1, 3}), {Device::acc, Device::cpu, Device::acc, Device::acc}, {0, 2, 0, 1}};
  const Partition partition = make_partition(subgraphs, {});
  CHECK(describe(graph, partition) == "_run_on_cpu_1: a b | _run_on_acc_3: c");
  CHECK(partition.part_of == parts({0, 0, 1}));
  CHECK(!partition.is_acc(PartId{0}));
  CHECK(partition.is_acc(PartId{1}));
}

TEST_CASE("Given parts keep their order, members the model's") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = f(x)\n c = f(x)\n output c");
  CHECK(describe(graph, make_partition(parts({1, 0, 1}), {"p", "q"}, {Device::cpu, Device::acc})) ==
        "p: b | q: a c");
}

TEST_CASE("No nodes make no parts") { CHECK(make_partition(Subgraphs{}, {}).count() == 0); }

TEST_CASE("A valid partition passes the check") {
  const Graph graph = graph_from_text(kChain);
  const auto devices = std::vector{Device::acc, Device::cpu};
  CHECK(fault(graph, make_partition(parts({0, 0, 1}), {"p", "q"}, devices), "a b").empty());
}

TEST_CASE("A value that flows to an earlier part is refused") {
  const Graph graph = graph_from_text(kChain);
  const auto devices = std::vector{Device::acc, Device::acc};
  CHECK(fault(graph, make_partition(parts({0, 1, 0}), {"p", "q"}, devices), "a b c") ==
        "node \"b\" in partition \"q\" is read by node \"c\" in the earlier partition \"p\"");
}

TEST_CASE("A CPU node in an accelerator part is refused") {
  const Graph graph = graph_from_text(kChain);
  const auto devices = std::vector{Device::cpu, Device::acc};
  CHECK(fault(graph, make_partition(parts({0, 0, 1}), {"p", "q"}, devices), "a") ==
        "node \"c\" cannot run on the accelerator, but is in accelerator partition \"q\"");
}

TEST_CASE("A node in no part is refused") {
  const Graph graph = graph_from_text(kChain);
  Partition partition = make_partition(parts({0, 0, 1}), {"p", "q"}, {Device::cpu, Device::cpu});
  partition.part_of[node_named(graph, "b")] = kNone<PartId>;
  CHECK(fault(graph, partition, "") == "node \"b\" is in no partition");
}

std::string prefix_fault(const SplitOptions& options) {
  const auto status = check_prefixes(options);
  return status ? "" : status.error().message;
}

TEST_CASE("Prefixes with which two partitions could have one name are refused") {
  const auto fault_of = [](const std::string& acc, const std::string& cpu) {
    return prefix_fault({.acc_prefix = acc, .non_acc_prefix = cpu});
  };
  CHECK(fault_of("a", "b").empty());
  CHECK(fault_of("a", "ab").empty());
  CHECK(fault_of("a1b", "a").empty());
  CHECK(fault_of("ab", "a1").empty());
  CHECK(fault_of("a", "a") == "accelerator and CPU partitions have the same name prefix, \"a\"");
  CHECK(fault_of("", "") == "accelerator and CPU partitions have the same name prefix, \"\"");
  const std::string digits = " differ only in digits";
  CHECK(fault_of("a", "a1") == "the name prefixes \"a\" and \"a1\"" + digits);
  CHECK(fault_of("a09", "a") == "the name prefixes \"a09\" and \"a\"" + digits);
  CHECK(fault_of("", "9") == "the name prefixes \"\" and \"9\"" + digits);
}

TEST_CASE("Each pair of targets' prefixes is compared, and each with the CPU's") {
  const auto fault_of = [](std::vector<std::string> targets) {
    return prefix_fault({.acc_prefix = "c", .non_acc_prefix = "c", .target_prefixes = targets});
  };
  CHECK(fault_of({"a", "b", "d"}).empty());
  CHECK(fault_of({"a", "b", "c"}) ==
        "accelerator and CPU partitions have the same name prefix, \"c\"");
  CHECK(fault_of({"c", "b", "a"}) ==
        "accelerator and CPU partitions have the same name prefix, \"c\"");
  CHECK(fault_of({"a", "b", "a"}) == "two targets' partitions have the same name prefix, \"a\"");
  CHECK(fault_of({"b", "a", "a"}) == "two targets' partitions have the same name prefix, \"a\"");
  CHECK(fault_of({"b", "a", "b1"}) == "the name prefixes \"b\" and \"b1\" differ only in digits");
}

TEST_CASE("Parts on several targets have the prefix of theirs") {
  const Graph graph = graph_from_text(kChain);
  Subgraphs subgraphs{parts({0, 1, 2}), {Device::acc, Device::cpu, Device::acc}, {1, 1, 1}};
  subgraphs.targets = {TargetId{1}, kNone<TargetId>, TargetId{0}};
  const Partition partition =
      make_partition(subgraphs, {.non_acc_prefix = "h", .target_prefixes = {"p", "q"}});
  CHECK(describe(graph, partition) == "q0: a | h1: b | p2: c");
  CHECK(partition.target(PartId{0}) == TargetId{1});
  CHECK(partition.target(PartId{2}) == TargetId{0});
}

TEST_CASE("A node in the first part that there is not is refused") {
  const Graph graph = graph_from_text(kChain);
  Partition partition = make_partition(parts({0, 0, 1}), {"p", "q"}, {Device::cpu, Device::cpu});
  partition.part_of[node_named(graph, "b")] = PartId{2};
  CHECK(fault(graph, partition, "") == "node \"b\" is in no partition");
}

}  // namespace

// ---- split test ----

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

// ---- subgraphs test ----

namespace {

// Without the acc finder: all nodes but the named ones are on the accelerator.
Fusions fusions_of(const Graph& graph, std::string_view cpu) {
  Support support = support_all_but(graph, cpu);
  return find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
}

std::string split(std::string_view text, std::string_view cpu, const SplitOptions& options = {}) {
  const Graph graph = graph_from_text(text);
  return describe(graph, split_subgraphs(graph, fusions_of(graph, cpu), options).subgraphs);
}

struct Merged {
  std::string subgraphs;
  std::string reasons;
};

Merged merge(std::string_view text, std::string_view cpu, std::size_t min_acc_size) {
  const Graph graph = graph_from_text(text);
  const Fusions fusions = fusions_of(graph, cpu);
  const SplitOptions options{.min_acc_size = min_acc_size};
  const SubgraphsFound found = split_subgraphs(graph, fusions, options);
  const MergedSubgraphs merged =
      merge_small_subgraphs(graph, found.subgraphs, fusions.acc.reasons, options);
  return {describe(graph, merged.subgraphs), describe(graph, merged.reasons)};
}

constexpr const char* kAlternating = R"(
  input x
  a = f(x)
  b = f(a)
  c = f(b)
  d = f(c)
  output d)";

TEST_CASE("Subgraphs alternate along a chain") {
  CHECK(split(kAlternating, "b c") == "acc: a | cpu: b c | acc: d");
  CHECK(split(kAlternating, "a d") == "cpu: a | acc: b c | cpu: d");
}

TEST_CASE("Nodes that are all on one side make one subgraph") {
  CHECK(split(kAlternating, "") == "acc: a b c d");
  CHECK(split(kAlternating, "a b c d") == "cpu: a b c d");
}

TEST_CASE("An empty graph gives no subgraphs") {
  CHECK(split("input x\noutput x", "").empty());
  CHECK(split("", "").empty());
}

TEST_CASE("A run takes all ready nodes before it flips, wherever they are in the model") {
  CHECK(split(R"(
    input x
    a = f(x)
    b = f(x)
    c = f(a)
    d = f(b)
    e = f(c)
    output d, e)",
              "a d") == "cpu: a | acc: b c e | cpu: d");
}

TEST_CASE("A ready CPU node that reads a graph input starts with the CPU") {
  CHECK(split("input x\n a = f(x)\n b = f(x)\n output a, b", "b") == "cpu: b | acc: a");
}

TEST_CASE("A ready CPU node that reads a parameter starts with the CPU, by position or keyword") {
  for (const char* arguments : {"w", "k=w", "[w]", "c"}) {
    INFO(arguments);
    const std::string text = "input x\n param w\n const c = Cast(w)\n a = f(x)\n b = f(" +
                             std::string(arguments) + ")\n output a, b";
    CHECK(split(text, "b") == "cpu: b | acc: a");
  }
}

TEST_CASE("A parameter of its module does not make a CPU node start") {
  CHECK(split("input x\n param w\n a = f(x)\n b = f() !w\n output a, b", "b") == "acc: a | cpu: b");
}

TEST_CASE("A CPU node that waits does not start with the CPU") {
  CHECK(split("input x\n a = f(x)\n b = f(a, x)\n output b", "b") == "acc: a | cpu: b");
}

// DEPARTS: torch up to 2.8 never starts a node without inputs, and fails when one is read; torch 2.15 starts it, and begins
// on the CPU where it is a CPU node (here: StartSide::cpu).
TEST_CASE("A node without inputs starts too, without deciding which side begins") {
  CHECK(split(R"(
    input x
    z = zeros()
    a = f(x)
    b = f(a, z)
    output b)",
              "z") == "acc: a | cpu: z | acc: b");
  CHECK(split("z = zeros()\n b = f(z)\n output b", "z") == "cpu: z | acc: b");
  CHECK(split("z = zeros()\n b = f(z)\n output b", "b") == "acc: z | cpu: b");
  const std::string today = "input x\n z = zeros()\n a = f(x)\n b = f(a, z)\n c = g(b)\n output c";
  CHECK(split(today, "z b", {.start = StartSide::cpu}) == "cpu: z | acc: a | cpu: b | acc: c");
}

// DEPARTS: the reference counts the output as a CPU node when it reads a graph input.
TEST_CASE("The graph's output is not a node") {
  CHECK(split("input x\n a = f(x)\n output a, x", "") == "acc: a");
}

TEST_CASE("Nodes that nothing reads are kept") {
  CHECK(split("input x\n a = f(x)\n b = g(a)\n output a", "b") == "acc: a | cpu: b");
}

TEST_CASE("All members of a fusion group wait for all that any of them waits for") {
  CHECK(split(R"(
    input x
    s: scalar = size(x)
    b = relu(x)
    c = view(b, s)
    output c)",
              "b") == "cpu: b | acc: s c");
}

TEST_CASE("Readers of a member wait for the whole group") {
  CHECK(split(R"(
    input x
    s: scalar = size(x)
    b = view(x, s)
    c = f(b)
    d = f(x)
    e = view(d, s)
    output c, e)",
              "c d") == "cpu: d | acc: s b e | cpu: c");
}

TEST_CASE("Two readings of one value, and two values of one node, count as one wait") {
  CHECK(split("input x\n a, b = f(x)\n c = g(a, a, b, [b], k=a)\n output c", "a") ==
        "cpu: a | acc: c");
}

TEST_CASE("A node without outputs is placed") {
  CHECK(split("input x\n a = f(x)\n p@ = print(a)\n output a", "p") == "acc: a | cpu: p");
}

TEST_CASE("The side to begin with can be chosen") {
  constexpr const char* kLocalText = R"(
    input x
    a = f(x)
    b = f(x)
    c = f(a, b)
    output c)";
  CHECK(split(kLocalText, "b") == "cpu: b | acc: a c");
  CHECK(split(kLocalText, "b", {.start = StartSide::cpu}) == "cpu: b | acc: a c");
  CHECK(split(kLocalText, "b", {.start = StartSide::acc}) == "acc: a | cpu: b | acc: c");
  CHECK(split(kLocalText, "a c", {.start = StartSide::reference}) == "cpu: a | acc: b | cpu: c");
  CHECK(split(kLocalText, "a c", {.start = StartSide::fewest}) == "acc: b | cpu: a c");
  CHECK(split("input x\n a = f(x)\n b = f(x)\n output a, b", "b", {.start = StartSide::fewest}) ==
        "cpu: b | acc: a");
}

TEST_CASE("The first side is one that has ready nodes") {
  CHECK(split("input x\n a = f(x)\n output a", "", {.start = StartSide::cpu}) == "acc: a");
}

TEST_CASE("The number of subgraphs from the other side is reported") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = f(x)\n c = f(a, b)\n output c");
  const Fusions fusions = fusions_of(graph, "a c");
  CHECK(split_subgraphs(graph, fusions, {}).count_from_other_side == 2);
  CHECK(split_subgraphs(graph, fusions, {.start = StartSide::fewest}).count_from_other_side == 3);
}

TEST_CASE("Small accelerator subgraphs join the CPU subgraphs before and after them") {
  const Merged merged = merge(kAlternating, "a c", 2);
  CHECK(merged.subgraphs == "cpu: a b c d");
  CHECK(merged.reasons == "a: no_rule\nb: small_subgraph\nc: no_rule\nd: small_subgraph\n");
}

TEST_CASE("A small accelerator subgraph that is first becomes CPU") {
  CHECK(merge(kAlternating, "b", 2).subgraphs == "cpu: a b | acc: c d");
  CHECK(merge(kAlternating, "", 5).subgraphs == "cpu: a b c d");
}

TEST_CASE("A subgraph as large as the minimum is kept") {
  CHECK(merge(kAlternating, "b", 1).subgraphs == "acc: a | cpu: b | acc: c d");
  CHECK(merge(kAlternating, "a", 3).subgraphs == "cpu: a | acc: b c d");
}

TEST_CASE("A minimum of 0 keeps all subgraphs") {
  CHECK(merge(kAlternating, "b", 0).subgraphs == "acc: a | cpu: b | acc: c d");
}

TEST_CASE("A small subgraph right after an accelerator one joins that one") {
  const Graph graph = graph_from_text(kAlternating);
  Subgraphs subgraphs;
  subgraphs.subgraph_of = PerNode<PartId>(4);
  for (std::uint32_t i = 0; i < 4; ++i) subgraphs.subgraph_of[NodeId{i}] = PartId{i / 2 + i / 3};
  subgraphs.devices = {Device::acc, Device::acc, Device::cpu};
  subgraphs.sizes = {2, 1, 1};
  const MergedSubgraphs merged =
      merge_small_subgraphs(graph, subgraphs, PerNode<Reason>(4), {.min_acc_size = 2});
  CHECK(describe(graph, merged.subgraphs) == "acc: a b c | cpu: d");
  CHECK(describe(graph, merged.reasons).empty());
}

TEST_CASE("The reason of a small subgraph holds its size") {
  const Graph graph = graph_from_text(kAlternating);
  const Fusions fusions = fusions_of(graph, "c");
  const SplitOptions options{.min_acc_size = 3};
  const MergedSubgraphs merged = merge_small_subgraphs(
      graph, split_subgraphs(graph, fusions, options).subgraphs, fusions.acc.reasons, options);
  CHECK(merged.reasons[node_named(graph, "a")].size == 2);
  CHECK(merged.reasons[node_named(graph, "d")].size == 1);
}

TEST_CASE("Subgraphs agree with a plain second implementation, from either side") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, 18);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    const Graph& graph = random.graph;
    const AccNodes acc = find_acc_nodes(graph, random.support, {.allow_non_tensor = seed % 3 == 0});
    const Fusions fusions = find_fusions(graph, acc, {});
    const plain::Fusions plain_fusions{plain::groups_in(fusions),
                                       plain::nodes_in(graph, fusions.acc.nodes)};
    for (const StartSide start :
         {StartSide::reference, StartSide::cpu, StartSide::acc, StartSide::fewest}) {
      const SplitOptions options{.start = start, .min_acc_size = seed % 5};
      const Subgraphs subgraphs = split_subgraphs(graph, fusions, options).subgraphs;
      const bool is_fewest = start == StartSide::fewest;
      auto expected =
          plain::split_subgraphs(graph, plain_fusions, is_fewest ? StartSide::reference : start);
      for (const StartSide side : {StartSide::cpu, StartSide::acc}) {
        auto other = plain::split_subgraphs(graph, plain_fusions, side);
        if (is_fewest && other.size() < expected.size()) expected = std::move(other);
      }
      REQUIRE(plain::subgraphs_in(subgraphs) == expected);
      const MergedSubgraphs merged =
          merge_small_subgraphs(graph, subgraphs, fusions.acc.reasons, options);
      REQUIRE(plain::subgraphs_in(merged.subgraphs) ==
              plain::merge_small_subgraphs(expected, options.min_acc_size));
    }
  }
}

struct Moved {
  std::string before, after, reasons;
};

// Non-tensor data may cross; all nodes but the named ones are on the accelerator.
Moved moved(std::string_view text, std::string_view cpu) {
  const Graph graph = graph_from_text(text);
  Support support = support_all_but(graph, cpu);
  const Fusions fusions = find_fusions(
      graph, {std::move(support.supported), std::move(support.reasons)}, {.skip_fusion = true});
  const Subgraphs subgraphs = split_subgraphs(graph, fusions, {}).subgraphs;
  const NonTensorsMoved after = move_non_tensor_nodes(graph, fusions, subgraphs);
  PerNode<Reason> reasons = fusions.acc.reasons;
  for (const auto& [node, to, reason] : after.left) reasons[node] = reason;
  const auto counted = plain::subgraphs_in(after.subgraphs);
  for (std::size_t i = 0; i < counted.size(); ++i) {
    CHECK(after.subgraphs.sizes[i] == counted[i].nodes.size());
  }
  return {describe(graph, subgraphs), describe(graph, after.subgraphs), describe(graph, reasons)};
}

TEST_CASE("A node moves to the subgraph that reads its non-tensor, with what depends on it") {
  const Moved result = moved(R"(
    input x
    a = f(x)
    s: scalar = size(a)
    b = g(a, s)
    c = h(s)
    output b, c)",
                             "c");
  CHECK(result.before == "acc: a s b | cpu: c");
  CHECK(result.after == "acc: a | cpu: s b c");
  CHECK(result.reasons == "s: non_tensor_output c\nb: fusion_group s\nc: no_rule\n");
}

TEST_CASE("The makers of the non-tensors that it reads move after it") {
  const Moved result = moved(R"(
    input x
    a = f(x)
    s: scalar = size(a)
    t: scalar = mul(s)
    c = h(t)
    output c)",
                             "c");
  CHECK(result.before == "acc: a s t | cpu: c");
  CHECK(result.after == "acc: a | cpu: s t c");
}

TEST_CASE("A node with readers in two other subgraphs stays, as does one whose dependents have") {
  const Moved two = moved(R"(
    input x
    s: scalar = size(x)
    c = h(s)
    d = f(c)
    e = h(d, s)
    output e)",
                          "c e");
  CHECK(two.before == "acc: s | cpu: c | acc: d | cpu: e");
  CHECK(two.after == two.before);
  const Moved dependents = moved(R"(
    input x
    s: scalar = size(x)
    b = g(x, s)
    c = h(s)
    d = f(c, b)
    output d)",
                                 "c");
  CHECK(dependents.before == "acc: s b | cpu: c | acc: d");
  CHECK(dependents.after == dependents.before);
}

TEST_CASE("Each node that can moves, whatever comes before it among nodes, operands or readers") {
  const auto after = [](const std::string& text, std::string_view cpu) {
    return moved("input x\na = f(x)\ns: scalar = size(a)\n" + text, cpu).after;
  };
  // t has moved with s, and u is alone.
  CHECK(after("t: scalar = mul(s)\nu: scalar = size(a)\nc = h(s, t, u)\noutput c", "c") ==
        "acc: a | cpu: s t u c");
  // s stays, since it is read in two places.
  CHECK(after("u: scalar = size(a)\nc = h(s, u)\nd = f(c)\ne = h(d, s)\noutput e", "c e") ==
        "acc: a s | cpu: u c | acc: d | cpu: e");
  CHECK(after("t: scalar = mul(x, s)\nc = h(t)\noutput c", "c") == "acc: a | cpu: s t c");
  CHECK(after("c = h(s)\nb = g(a, s)\noutput b, c", "c") == "acc: a | cpu: s c b");
  CHECK(after("c = h(s)\ne = h(s)\noutput c, e", "c e") == "acc: a | cpu: s c e");
}

TEST_CASE("Tensors cross, and what is on the CPU stays there") {
  const std::string text = R"(
    input x
    a = f(x)
    s: scalar = size(a)
    b = g(a, s)
    output b)";
  CHECK(moved(text, "a").after == "cpu: a | acc: s b");
  CHECK(moved(text, "a s").after == "cpu: a s | acc: b");
}

}  // namespace

}  // namespace cleave
