// Patterns of native support lists: what is read, and what is refused at which place.
#include "formats/lists/support/support_rule.h"

#include "formats/lists/support/rule_json.h"
#include "formats/lists/support/support_file.h"
#include "tests/catch2.h"

namespace cleave {
namespace {

SupportList list_with(const std::string& pattern, const std::string& more = "") {
  auto loaded = parse_support(
      "npu.json", R"({"format": "cleave.support", "patterns": [)" + pattern + "]" + more + "}");
  if (!loaded) FAIL(format_diagnostic(loaded.error().front()));
  CHECK(loaded->warnings.empty());
  return std::move(loaded->list);
}

// "line:column: message" of the first fault, or of the first warning; "read" without any.
std::string fault(const std::string& pattern) {
  const auto loaded = parse_support(
      "npu.json", "{\"format\": \"cleave.support\", \"patterns\": [\n" + pattern + "\n]}");
  if (loaded && loaded->warnings.empty()) return "read";
  const Diagnostic& first = loaded ? loaded->warnings.front() : loaded.error().front();
  return std::to_string(first.line) + ":" + std::to_string(first.column) + ": " + first.message;
}

TEST_CASE("a pattern is read with its ops, edges, relations and texts") {
  const SupportList list = list_with(R"({"name": "p", "where": ["node[1].in[0].rank == 4"],
    "edges": [[0, 1], {"from": 1, "to": 2, "output": 1, "input": 0}],
    "ops": ["Conv", {"op": "Split", "attributes": {"axis": 1}}, "Relu"],
    "why": "fused", "unchecked": "sizes"})");
  REQUIRE(list.patterns.size() == 1);
  const Pattern& pattern = list.patterns[0];
  CHECK(pattern.name == "p");
  REQUIRE(pattern.ops.size() == 3);
  CHECK(pattern.ops[0].op == "Conv");
  CHECK(pattern.ops[1].attributes.size() == 1);
  CHECK(pattern.ops[2].line == 3);
  CHECK(pattern.graph.op_count == 3);
  REQUIRE(pattern.graph.edges.size() == 2);
  CHECK(pattern.graph.edges[0] == PatternEdge{0, 1, {}, {}});
  CHECK(pattern.graph.edges[1] == PatternEdge{1, 2, 1, 0});
  REQUIRE(pattern.where.size() == 1);
  CHECK(pattern.where[0].text == "node[1].in[0].rank == 4");
  CHECK(pattern.why == "fused");
  CHECK(pattern.unchecked == "sizes");
  CHECK(pattern.line == 1);
}

TEST_CASE("a pattern is written so that it is read as the same") {
  const std::string text =
      R"({"name": "p", "where": "node[1].in[0].rank == 4", "ops": ["Conv", {"op": "S", "max_rank": 3}],
    "edges": [{"from": 0, "to": 1, "output": 1, "input": 0}], "why": "w", "unchecked": "u"})";
  Pattern first = list_with(text).patterns[0];
  JsonText json;
  write_pattern(json, first);
  Pattern second = list_with(std::move(json).finish()).patterns[0];
  for (Pattern* const pattern : {&first, &second}) {
    pattern->line = pattern->column = 0;
    for (Rule& op : pattern->ops) op.line = op.column = 0;
  }
  CHECK(first == second);
}

TEST_CASE("the list's defaults hold for ops of patterns, unless they state the field") {
  const SupportList list = list_with(
      R"({"name": "p", "ops": ["Conv", {"op": "Relu", "opset": [1, 9]}], "edges": [[0, 1]]})",
      R"(, "defaults": {"opset": [11, 13], "max_rank": 4})");
  const std::vector<Rule>& ops = list.patterns[0].ops;
  CHECK(ops[0].opset == OpsetRule{11, 13});
  CHECK(ops[1].opset == OpsetRule{1, 9});
  CHECK(ops[0].conditions.size() == 1);
  CHECK(ops[1].conditions.size() == 1);
}

TEST_CASE("faults of patterns come with their places") {
  CHECK(fault(R"({"name": "p", "ops": ["A"]})") == "read");
  CHECK(fault(R"("A")") ==
        "2:1: a pattern must be an object like {\"name\": ..., \"ops\": [...], \"edges\": [...]}, "
        "not a string");
  CHECK(fault(R"({"ops": ["A"]})") == "2:1: a pattern needs \"name\"");
  CHECK(fault(R"({"name": "", "ops": ["A"]})") == "2:10: \"name\" is empty");
  CHECK(fault(R"({"name": "p"})") == "2:1: a pattern needs \"ops\": at least one");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"]})") ==
        "2:28: no edges connect this op with the first one: a pattern is one connected piece");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"], "edges": [[0, 2]]})") ==
        "2:44: an edge names an op that is not there: ops are counted from 0, the last is 1");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"], "edges": [[0, 1], [1, 0]]})") ==
        "2:44: the edges form a cycle, which no model has");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"], "edges": [[0, 1], [0, 1]]})") ==
        "2:52: the edge is given twice");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"], "edges": [[0, 1, 2]]})") ==
        "2:44: an edge must be a pair of ops like [0, 1], or {\"from\": 0, \"to\": 1}");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"], "edges": [{"from": 0}]})") ==
        "2:44: an edge needs \"from\" and \"to\"");
  CHECK(fault(R"({"name": "p", "ops": ["A", "B"], "edges": [{"from": 0, "to": 4294967297}]})") ==
        "2:62: \"to\" is too large");
  CHECK(fault(R"({"name": "p", "ops": [{"op": "A", "unchecked": "x"}]})") ==
        "2:23: \"unchecked\" is for the pattern, not for one of its ops");
  CHECK(fault(R"({"name": "p", "ops": [{"inputs": "same"}]})") ==
        "2:23: an allow rule needs \"op\"");
  CHECK(fault(R"({"name": "p", "op": ["A"]})") == "2:1: a pattern needs \"ops\": at least one");
  std::string many;
  for (int i = 0; i < 17; ++i) many += std::string(i == 0 ? "" : ", ") + "\"A\"";
  CHECK(fault(R"({"name": "p", "ops": [)" + many + "]}") ==
        "2:103: a pattern has at most 16 ops, this has 17");
}

TEST_CASE("a pattern has up to as many ops and edges as it may") {
  const auto with = [](int ops, int edges) {
    std::string op_list, edge_list;
    for (int i = 0; i < ops; ++i) op_list += std::string(i == 0 ? "" : ", ") + "\"A\"";
    int made = 0;
    for (int to = 1; to < ops; ++to) {
      for (int from = 0; from < to && made < edges; ++from, ++made) {
        edge_list +=
            (made == 0 ? "[" : ", [") + std::to_string(from) + ", " + std::to_string(to) + "]";
      }
    }
    // Further edges are told apart by the inputs that they reach.
    for (int input = 0; made < edges; ++made, ++input) {
      edge_list += R"(, {"from": 0, "to": 1, "input": )" + std::to_string(input) + "}";
    }
    return fault(R"({"name": "p", "ops": [)" + op_list + R"(], "edges": [)" + edge_list + "]}");
  };
  CHECK(with(16, 120) == "read");
  constexpr int kMost = static_cast<int>(PatternGraph::kMostEdges);
  CHECK(with(16, kMost) == "read");
  CHECK(with(16, kMost + 1).ends_with("a pattern has at most " + std::to_string(kMost) + " edges"));
}

TEST_CASE("relations of patterns say of which node they are, and faults are shown in the text") {
  const auto where = [](const std::string& relation) {
    return fault(R"({"where": ")" + relation +
                 R"(", "name": "p", "ops": ["A", "B"], "edges": [[0, 1]]})");
  };
  CHECK(where("node[0].attr.axis == node[1].attr.axis") == "read");
  CHECK(where("len(node[1].in) == 2 and len(node[0].attr.axes) == 1") == "read");
  CHECK(where("len(node[1].in[0].dim) == 2 and all(node[0].out[0].dim == 1)") == "read");
  CHECK(where("attr.axis == 1") == "2:12: \"where\": say of which node: node[0].attr");
  CHECK(where("len(in) == 1") == "2:16: \"where\": say of which node: node[0].in");
  CHECK(where("node[2].attr.axis == 1") ==
        "2:17: \"where\": the pattern has no op 2, the last is 1");
  CHECK(where("node[0].rank == 1") == "2:20: \"where\": expected attr, in or out of the node");
  CHECK(where("nod[0].attr.a == 1") ==
        "2:12: \"where\": \"nod\" is no name: did you mean \"node\"?");
}

}  // namespace

}  // namespace cleave
