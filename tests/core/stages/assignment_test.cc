#include "core/stages/assignment.h"

#include <algorithm>
#include <random>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {
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
}  // namespace cleave
