#include "formats/report/words/reason_text.h"

#include "core/graph/graph_builder.h"
#include "core/split/split.h"
#include "formats/lists/support/support_file.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// "node: reason" of each node on the CPU, a line each.
std::string reasons(std::string_view graph_text, std::string_view rules,
                    const SplitOptions& options = {}) {
  const Graph graph = graph_from_text(graph_text);
  auto list =
      parse_support("npu.json", "{\"format\": \"cleave.support\",\n" + std::string(rules) + "}");
  if (!list) FAIL(format_diagnostic(list.error().front()));
  const std::vector<SupportList> lists = {std::move(list->list)};
  const OpFacts facts;
  const auto split = split_graph({graph, lists, facts}, options);
  const ReasonContext context{graph, lists, facts, options.min_acc_size, &split->support};
  std::string text;
  for (const NodeId node : graph.nodes()) {
    const Reason& reason = split->reasons[node];
    if (reason.code == ReasonCode::none) continue;
    text += std::string(graph.node(node).name) + ": " + reason_text(context, node, reason) + "\n";
  }
  return text;
}

TEST_CASE("an op without a rule is named with its domain") {
  CHECK(reasons("input x\n a = torch.foo(x)\n b = ml::bar(x)", "\"allow\": []") ==
        "a: the list does not have op \"torch.foo\"\n"
        "b: the list does not have op \"ml::bar\"\n");
}

TEST_CASE("an op that rules name for other nodes only is said to be so") {
  CHECK(reasons("input x\n a = f(x)", "\"allow\": [{\"op\": \"f\", \"name\": \"enc*\"}]") ==
        "a: the list does not have op \"f\" for this node: npu.json:2 is for nodes \"enc*\"\n");
}

TEST_CASE("a rule for all nodes of an op is not said to be for other names") {
  const Graph graph = graph_from_text("input x\n a = f(x)");
  std::vector<SupportList> lists;
  for (const char* const allow : {"\"f\"", "{\"op\": \"f\", \"name\": \"dec*\"}"}) {
    auto list = parse_support(
        "npu.json", "{\"format\": \"cleave.support\",\n\"allow\": [" + std::string(allow) + "]}");
    REQUIRE(list);
    lists.push_back(std::move(list->list));
    lists.back().role = ListRole::all_of;
  }
  const OpFacts facts;
  const ReasonContext context{graph, lists, facts, 1, nullptr};
  const NodeId node = node_named(graph, "a");
  CHECK(reason_text(context, node, match_node(graph, node, lists, facts)) ==
        "a list does not have op \"f\" for this node: npu.json:2 is for nodes \"dec*\"");
}

TEST_CASE("a failed rule is reported with its position, each failed condition, and its reason") {
  CHECK(reasons("input x: int64[2]\n a = conv(x) {group=2}",
                "\"allow\": [{\"op\": \"conv\", \"inputs\": [[\"float32\", \"float16\"]],\n"
                "\"attributes\": {\"group\": 1}, \"why\": \"narrow\"}]") ==
        "a: rule \"conv\" of npu.json:2 fails: input 0 is int64, wants float32 or float16; "
        "attribute group is 2, wants 1 (narrow)\n");
}

TEST_CASE("a refused node of a body is blamed with its own reason") {
  CHECK(reasons("input x\n i = If(x)\n | b = foo(x)", "\"allow\": [\"If\"]") ==
        "i: node \"b\" of its body is not supported: the list does not have op \"foo\"\n");
}

TEST_CASE("a denial names the op, name or dtype that the rule is for") {
  const std::string_view graph = "input x: int64[2]\n a = f(x)";
  CHECK(reasons(graph,
                "\"allow\": [\"f\"],\n\"deny\": [{\"input_dtype\": \"int64\", \"why\": \"no "
                "wide registers\"}]") ==
        "a: denied by npu.json:3 for an input of int64 (no wide registers)\n");
  CHECK(reasons(graph, "\"allow\": [\"f\"],\n\"deny\": [{\"op\": \"f\", \"name\": \"?\"}]") ==
        "a: denied by npu.json:3 for op \"f\" and name \"?\"\n");
  const auto denial = [](const std::string& fields) {
    return reasons("input x: int64[2]\n a: int64[2] = f(x) {m=1}",
                   "\"allow\": [\"f\"],\n\"deny\": [{\"op\": \"f\", " + fields + "}]");
  };
  const std::string start = "a: denied by npu.json:3 for op \"f\"";
  CHECK(denial("\"attributes\": {\"m\": 1}, \"shapes\": {\"0\": {\"rank\": 1}}") ==
        start + ", its attributes and its shapes\n");
  CHECK(denial("\"inputs\": [[\"int64\"]]") == start + " and its input dtypes\n");
  CHECK(denial("\"outputs\": [[\"int64\"]]") == start + " and its output dtypes\n");
}

TEST_CASE("nodes that exchange a non-tensor are reported with the value and the node to blame") {
  CHECK(reasons("input x\n n: scalar = size(x)\n a = view(x, n)\n output a",
                "\"allow\": [\"view\"]") ==
        "n: the list does not have op \"size\"\n"
        "a: reads \"n\" (scalar), made by CPU node \"n\"\n");
  CHECK(reasons("input x\n n: scalar = size(x)\n a = view(x, n)\n output a",
                "\"allow\": [\"size\"]") ==
        "n: makes \"n\" (scalar), which CPU node \"a\" reads\n"
        "a: the list does not have op \"view\"\n");
  CHECK(reasons("input x\n n: scalar = size(x)\n output n", "\"allow\": [\"size\"]") ==
        "n: makes \"n\" (scalar), which the model returns\n");
}

TEST_CASE("a subgraph that is too small is reported with both numbers") {
  SplitOptions options;
  options.min_acc_size = 3;
  CHECK(reasons("input x\n a = f(x)\n b = g(a)", "\"allow\": [\"f\"]", options) ==
        "a: its accelerator subgraph has 1 node, below the minimum of 3\n"
        "b: the list does not have op \"g\"\n");
}

TEST_CASE("names that could deceive a terminal are escaped") {
  GraphBuilder builder;
  builder.add_node({.name = "a", .op = "f\x1b[31m"});
  const auto graph = builder.finish();
  REQUIRE(graph);
  const std::vector<SupportList> lists(1);
  const OpFacts facts;
  CHECK(reason_text({*graph, lists, facts, 1}, NodeId{0}, {.code = ReasonCode::no_rule}) ==
        "the list does not have op \"f\\x1B[31m\"");
}

TEST_CASE("reasons of one cause are grouped, the most frequent cause first") {
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x)
    b = g(x)
    c = g(x)
    d = h(x) {m=1}
    e = h(x) {m=2}
    k = ok(x)
  )");
  Rule rule;
  rule.op = "h";
  rule.attributes.emplace_back();
  rule.attributes.back().name = "m";
  rule.attributes.back().min = 7;
  Rule ok;
  ok.op = "ok";
  SupportList list;
  list.path = "npu.json";
  list.allow = {rule, ok};
  const std::vector<SupportList> lists = {list};
  const OpFacts facts;
  const ReasonContext context{graph, lists, facts};
  std::string text;
  for (const Cause& cause : group_by_cause(context, match_support(graph, lists, facts).reasons)) {
    text += cause.text + ": " + names_of(graph, std::span(cause.nodes)) + "\n";
  }
  CHECK(text ==
        "the list does not have op \"g\": b c\n"
        "rule \"h\" of npu.json fails: d e\n"
        "the list does not have op \"f\": a\n");
}

TEST_CASE("a pattern that does not match says what is in its way") {
  const auto one = [](std::string_view graph, std::string_view more = "") {
    return reasons(
        graph, R"("patterns": [{"name": "p", "ops": ["A", {"op": "B", "attributes": {"k": 1}}, "C"],
      "edges": [[0, 1], [1, 2]], "where": "node[0].attr.k == node[2].attr.k"}])" +
                   std::string(more));
  };
  const std::string p = "pattern \"p\" of npu.json:2 does not match: ";
  CHECK(one("input x\n a = A(x)") == "a: " + p + "no \"B\" reads \"a\"\n");
  CHECK(one("input x\n c = C(x)") == "c: " + p + "\"c\" reads no \"B\"\n");
  CHECK(one("input x\n b = B(x) {k=2}") ==
        "b: " + p + "\"b\" does not fit op 1 (B): attribute k is 2, wants 1\n");
  const std::string fits = "input x\n a = A(x) {k=3}\n b = B(a) {k=1}\n c = C(b) {k=3}\n";
  CHECK(one(fits).empty());
  CHECK(one("input x\n a = A(x) {k=3}\n b = B(a) {k=1}\n c = C(b) {k=4}")
            .find("c: " + p + "node[0].attr.k == node[2].attr.k: 3 == 4\n") != std::string::npos);
  CHECK(
      one("input x\n a = A(x) {k=3}\n b = B(a) {k=1}\n c = C(b)")
          .find(
              "c: " + p +
              "node[0].attr.k == node[2].attr.k cannot be decided: node[2].attr.k is unknown\n") !=
      std::string::npos);
  CHECK(
      one(fits + "d = D(a)").find("c: " + p + "value \"a\" is read by \"d\", which is not in it") !=
      std::string::npos);
  CHECK(one(fits + "output b, c").find("a: " + p + "value \"b\" is an output of the model") !=
        std::string::npos);
  CHECK(one("input x\n a = A(x) {k=3}\n b = B(a) {k=1}\n c = C(b, a) {k=3}")
            .find("a: " + p + "\"c\" reads \"a\", which is no edge of the pattern\n") !=
        std::string::npos);
  CHECK(one(fits, ", \"deny\": [{\"name\": \"b\"}]").find("c: " + p + "\"b\" is denied\n") !=
        std::string::npos);
}

TEST_CASE("a node that its match takes to the CPU names the pattern and the node to blame") {
  CHECK(reasons("input x\n a = A(x)\n b, s: scalar = B(a)\n y = Cpu(s)",
                R"("patterns": [{"name": "p", "ops": ["A", "B"], "edges": [[0, 1]]}])")
            .find("a: pattern \"p\" of npu.json:2 keeps it with CPU node \"b\"\n") == 0);
}

}  // namespace
}  // namespace cleave
