#include "core/split/split.h"

#include "core/stages/stages.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

// Without the ties, b and c are free of each other.
const char* const kModel = "input x\n a = f(x)\n b = f(a)\n c = f(a)\n output b, c";

Assignment each_its_own(const Graph& graph) {
  Assignment parts;
  parts.part_of = PerNode<PartId>(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    parts.part_of[node] = id_at<PartId>(parts.names.size());
    parts.names.emplace_back(graph.node(node).name);
  }
  return parts;
}

std::string order_of(const Graph& graph, const Assignment& parts, const NodeTies& ties) {
  const auto partition = order_parts(graph, parts, {}, ties);
  if (!partition) {
    std::string text = partition.error().message;
    for (const std::string& note : partition.error().notes) text += "\n" + note;
    return text;
  }
  std::string text;
  for (const PartId part : partition->parts()) {
    text += (text.empty() ? "" : " ") + partition->name(part);
  }
  return text;
}

TEST_CASE("A node that writes memory comes after its readers and before the next ones") {
  const Graph graph = graph_from_text(kModel);
  const NodeId b = node_named(graph, "b"), c = node_named(graph, "c");
  CHECK(order_of(graph, each_its_own(graph), {{{b, c, {}}}, {}, {}}) == "a b c");
  CHECK(order_of(graph, each_its_own(graph), {{{c, b, {}}}, {}, {}}) == "a c b");
}

TEST_CASE("A cycle through written memory names the node that comes after") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = f(a)\n output b");
  const NodeId a = node_named(graph, "a"), b = node_named(graph, "b");
  CHECK(order_of(graph, each_its_own(graph), {{{b, a, {}}}, {}, {}}) ==
        "the partitions form a cycle: \"a\" -> \"b\" -> \"a\"\n"
        "\"b\" needs \"a\": node \"b\" reads node \"a\"\n"
        "\"a\" needs \"b\": node \"a\" uses memory that is written in place, after node \"b\"\n"
        "put the nodes of one step into the same partition, or into one of their own");
}

TEST_CASE("Nodes that view written memory must be in one partition") {
  const Graph graph = graph_from_text(kModel);
  const std::vector<NodeId> nodes = {node_named(graph, "a"), node_named(graph, "c")};
  CHECK(
      order_of(graph, each_its_own(graph), {{}, {nodes}, "do this"}) ==
      "nodes that write or view the same memory are in several partitions, \"a\" and \"c\": \"a\", "
      "\"c\"\ndo this");
  Assignment together = each_its_own(graph);
  together.part_of[nodes[1]] = together.part_of[nodes[0]];
  together.names.pop_back();
  CHECK(order_of(graph, together, {{}, {nodes}, {}}) == "a b");
}

Fusions kept_whole(const Graph& graph, std::string_view cpu, std::string_view set) {
  Support support = support_all_but(graph, cpu);
  Fusions fusions =
      find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
  const NodeSet members = nodes_named(graph, set);
  std::vector<std::vector<NodeId>> sets(1);
  for (const NodeId node : graph.nodes()) {
    if (members.contains(node)) sets[0].push_back(node);
  }
  return set.empty() ? fusions : keep_sets_whole(graph, sets, std::move(fusions));
}

TEST_CASE("A set whose nodes can all be on the accelerator is a group there") {
  const Graph graph =
      graph_from_text("input x\n a = f(x)\n b = f(a)\n c = f(b)\n d = f(c)\n output d");
  const Fusions fusions = kept_whole(graph, "d", "a c");
  CHECK(describe(graph, fusions) == "{a b c}");
  CHECK(names_of(graph, fusions.acc.nodes) == "a b c");
}

TEST_CASE("A set with a CPU node is a group on the CPU, with the node to blame") {
  // Alone, a would be in the first CPU subgraph and d in the second.
  const Graph graph = graph_from_text(
      "input x\n a = f(x)\n b = f(x)\n c = f(b)\n d = g(a, c)\n e = f(d)\n output e");
  const Fusions fusions = kept_whole(graph, "a", "a d");
  CHECK(describe(graph, fusions) == "{a d}");
  CHECK(names_of(graph, fusions.acc.nodes) == "b c e");
  CHECK(describe(graph, fusions.acc.reasons) == "a: no_rule\nd: shared_memory a\n");
  CHECK(describe(graph, split_subgraphs(graph, fusions, {}).subgraphs) ==
        "acc: b c | cpu: a d | acc: e");
}

TEST_CASE("A refusal names the memory that orders two nodes") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = f(a)\n output b");
  const NodeId a = node_named(graph, "a"), b = node_named(graph, "b");
  const std::string text = order_of(graph, each_its_own(graph), {{{b, a, "\"cache\""}}, {}, {}});
  CHECK(text.find("node \"a\" uses \"cache\", after node \"b\"") != text.npos);
}

// The subgraphs of a graph in which `order` lists pairs "before after", with `cpu` on the CPU.
std::string runs_with(const Graph& plain, std::string_view cpu,
                      const std::vector<std::pair<std::string, std::string>>& order,
                      std::string_view set = {}) {
  std::vector<RunOrder> pairs;
  for (const auto& [before, after] : order) {
    pairs.push_back({node_named(plain, before), node_named(plain, after), {}});
  }
  const Graph graph = plain.with_order(pairs);
  const Fusions fusions = kept_whole(graph, cpu, set);
  return describe(graph, split_subgraphs(graph, fusions, {.start = StartSide::acc}).subgraphs);
}

TEST_CASE("Rounds wait for nodes that must run before, though no data comes from them") {
  const Graph graph =
      graph_from_text("input x\n a = f(x)\n b = f(a)\n c = f(x)\n d = f(c)\n output b, d");
  CHECK(runs_with(graph, "b", {}) == "acc: a c d | cpu: b");
  CHECK(runs_with(graph, "b", {{"b", "c"}}) == "acc: a | cpu: b | acc: c d");
  CHECK(runs_with(graph, "b", {{"b", "d"}}) == "acc: a c | cpu: b | acc: d");
}

TEST_CASE("Groups grow by the nodes that an order puts between their members") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = f(x)\n c = f(x)\n output a, b, c");
  CHECK(runs_with(graph, "b", {}, "a c") == "acc: a c | cpu: b");
  // With the order a, b, c the set {a, c} cannot run without b.
  CHECK(runs_with(graph, "b", {{"a", "b"}, {"b", "c"}}, "a c") == "cpu: a b c");
}

TEST_CASE("An extension leaves nodes that others must run after") {
  const Graph plain =
      graph_from_text("input x\n a = f(x)\n b = f(x)\n c = f(x)\n d = g(a, b, c)\n output d, c");
  const auto extended = [&](const std::vector<RunOrder>& order) {
    const Graph graph = plain.with_order(order);
    Support support = support_all_but(graph, "c");
    Fusions fusions =
        find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
    Subgraphs subgraphs = split_subgraphs(graph, fusions, {.start = StartSide::acc}).subgraphs;
    auto made = extend_subgraphs(graph, fusions, std::move(subgraphs),
                                 {.which = ExtendOptions::Which::all}, {});
    REQUIRE(made);
    return describe(graph, made->subgraphs);
  };
  const NodeId a = node_named(plain, "a"), c = node_named(plain, "c");
  CHECK(extended({}) == "acc: | cpu: c | acc: a b d");
  CHECK(extended({{a, c, {}}}) == "acc: a | cpu: c | acc: b d");
}

TEST_CASE("A split that divides a set is made again with the set whole, and others are left") {
  const Graph graph = graph_from_text(
      "input x\n a = f(x)\n b = f(x)\n c = f(b)\n d = g(a, c)\n e = f(d)\n output e");
  SupportList list;
  Rule rule;
  rule.op = std::string("f");
  list.allow.push_back(rule);
  const std::vector<SupportList> lists = {list};
  OpFacts facts;
  const auto split = [&] {
    const auto made = split_graph({.graph = graph, .lists = lists, .facts = facts}, {});
    REQUIRE(made);
    return describe(graph, made->found.subgraphs);
  };
  CHECK(split() == "acc: a b c | cpu: d | acc: e");
  facts.whole = {{node_named(graph, "a"), node_named(graph, "b")}};
  CHECK(split() == "acc: a b c | cpu: d | acc: e");
  facts.whole = {{node_named(graph, "a"), node_named(graph, "d")}};
  CHECK(split() == "acc: b c | cpu: a d | acc: e");
}

}  // namespace

}  // namespace cleave
