#include "core/split/split.h"

#include "core/lists/support.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

// Two parts for the accelerator: one with two nodes "conv", one that only reshapes.
constexpr const char* kTwoParts = R"(
  input x: float32[4]
  a: float32[4] = conv(x)
  b: float32[4] = conv(a)
  c: float32[4] = cpu(b)
  d: float32[4] = reshape(c)
  e: float32[4] = reshape(d)
  output e)";

SupportList list_with(PartConditions part) {
  SupportList list;
  for (const char* op : {"conv", "reshape"}) {
    Rule rule;
    rule.op = op;
    list.allow.push_back(std::move(rule));
  }
  list.part = std::move(part);
  return list;
}

std::string split_with(const std::vector<SupportList>& lists, const SplitOptions& options = {}) {
  const Graph graph = graph_from_text(kTwoParts);
  const OpFacts facts;
  const auto split = split_graph({graph, lists, facts}, options);
  if (!split) return split.error().message;
  std::string text;
  for (const PartId part : split->partition.parts()) {
    text += split->partition.is_acc(part) ? "acc:" : "cpu:";
    for (const NodeId node : split->partition.nodes(part)) {
      text += ' ' + std::string(graph.node(node).name);
    }
    text += '\n';
  }
  return text + describe(graph, split->reasons);
}

TEST_CASE("a partition that has what a list asks for stays on the accelerator") {
  CHECK(split_with({list_with({})}) == "acc: a b\ncpu: c\nacc: d e\nc: no_rule\n");
  PartConditions part;
  part.not_only = {"nothing", "cpu", "other::*"};
  CHECK(split_with({list_with(part)}) == "acc: a b\ncpu: c\nacc: d e\nc: no_rule\n");
}

TEST_CASE("a partition with too few nodes of an op goes to the CPU, with its neighbours there") {
  PartConditions part;
  part.min_ops = {{"conv", 2}};
  const std::string dropped =
      "acc: a b\ncpu: c d e\nc: no_rule\nd: part_condition\ne: part_condition\n";
  CHECK(split_with({list_with(part)}) == dropped);
  part.min_ops = {{"ai.onnx::conv", 2}};
  CHECK(split_with({list_with(part)}) == dropped);
  part.min_ops = {{"*::c*v", 2}};
  CHECK(split_with({list_with(part)}) == dropped);
  part.min_ops = {{"c*v", 2}};
  CHECK(split_with({list_with(part)}) == dropped);
  part.min_ops = {{"conv", 3}};
  CHECK(split_with({list_with(part)}) ==
        "cpu: a b c d e\na: part_condition\nb: part_condition\nc: no_rule\nd: part_condition\n"
        "e: part_condition\n");
}

TEST_CASE("a partition with nodes of some ops only goes to the CPU") {
  PartConditions part;
  part.not_only = {"re*", "transpose"};
  CHECK(split_with({list_with(part)}) ==
        "acc: a b\ncpu: c d e\nc: no_rule\nd: part_condition\ne: part_condition\n");
}

TEST_CASE("the reason says which condition of which list, and how many nodes there are") {
  const Graph graph = graph_from_text(kTwoParts);
  PartConditions part;
  part.min_ops = {{"conv", 1}, {"reshape", 3}};
  const std::vector<SupportList> lists = {list_with({}), list_with(part)};
  const std::vector<NodeId> nodes = {NodeId{0}, NodeId{3}};
  const auto reason = failed_part_condition(graph, lists, nodes);
  REQUIRE(reason);
  CHECK(*reason == Reason{.code = ReasonCode::part_condition, .list = 1, .rule = 1, .size = 1});
  part.min_ops = {};
  part.not_only = {"conv", "reshape"};
  CHECK(failed_part_condition(graph, std::vector{list_with(part)}, nodes)->rule == kNotOnly);
  CHECK_FALSE(failed_part_condition(graph, std::vector{list_with({})}, nodes));
}

TEST_CASE("a part that an extension leaves with too little goes to the CPU") {
  const Graph graph = graph_from_text(R"(
    input x: float32[4]
    a: float32[4] = conv(x)
    b: float32[4] = conv(x)
    c: float32[4] = cpu(a)
    d: float32[4] = conv(c, b)
    output d)");
  PartConditions part;
  part.min_ops = {{"conv", 2}};
  const std::vector<SupportList> lists = {list_with(part)};
  const OpFacts facts;
  SplitOptions options;
  options.extend = {.which = ExtendOptions::Which::all};
  const auto split = split_graph({graph, lists, facts}, options);
  REQUIRE(split);
  for (const PartId one : split->partition.parts()) {
    if (!split->partition.is_acc(one)) continue;
    CHECK_FALSE(failed_part_condition(graph, lists, split->partition.nodes(one)));
  }
}

TEST_CASE("of several targets, a part that fails goes to the next that takes it") {
  const Graph graph = graph_from_text(kTwoParts);
  PartConditions part;
  part.not_only = {"reshape"};
  const std::vector<SupportList> lists = {list_with(part), list_with({})};
  const OpFacts facts;
  const std::vector<Target> targets = {{.name = "npu", .first_list = 0, .end_list = 1},
                                       {.name = "gpu", .first_list = 1, .end_list = 2}};
  SplitOptions options;
  options.target_prefixes = {"_npu_", "_gpu_"};
  const auto split =
      split_graph({.graph = graph, .lists = lists, .facts = facts, .targets = targets}, options);
  REQUIRE(split);
  const Partition& partition = split->partition;
  CHECK(partition.target(partition.part_of[NodeId{0}]) == TargetId{0});
  CHECK(partition.target(partition.part_of[NodeId{3}]) == TargetId{1});
  CHECK(split->targets[0].reasons[NodeId{3}].code == ReasonCode::part_condition);
}

}  // namespace

}  // namespace cleave
