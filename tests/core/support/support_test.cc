#include "core/support/support.h"

#include "core/support/rule_check.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

Rule rule_for(std::string op) {
  Rule rule;
  rule.op = std::move(op);
  return rule;
}

TypeSet types(std::initializer_list<DType> dtypes) {
  TypeSet set;
  for (const DType dtype : dtypes) set.add(dtype);
  return set;
}

AttributeRule attribute(std::string name, std::vector<AttributeValue> accepted) {
  AttributeRule rule;
  rule.name = std::move(name);
  rule.accepted = std::move(accepted);
  return rule;
}

SupportList list_of(std::vector<Rule> allow, std::vector<Rule> deny = {}) {
  SupportList list;
  list.allow = std::move(allow);
  list.deny = std::move(deny);
  return list;
}

// The nodes that are supported.
std::string accepted(const Graph& graph, const std::vector<SupportList>& lists,
                     const OpFacts& facts = {}) {
  return names_of(graph, match_support(graph, lists, facts).supported);
}

// ---- ops ----

TEST_CASE("a node is supported when a rule names its op in its domain") {
  const Graph graph = graph_from_text(R"(
    input x
    a = relu(x)
    b = Relu(x)
    c = ml::relu(x)
    d = ai.onnx::relu(x)
  )");
  CHECK(accepted(graph, {list_of({rule_for("relu")})}) == "a d");
  Rule ml = rule_for("relu");
  ml.domain = "ml";
  CHECK(accepted(graph, {list_of({ml})}) == "c");
}

TEST_CASE("without lists or rules nothing is supported") {
  const Graph graph = graph_from_text("input x\n a = relu(x)");
  CHECK(accepted(graph, {}).empty());
  CHECK(accepted(graph, {list_of({})}).empty());
  CHECK(match_support(graph, {}, {}).reasons[NodeId{0}].code == ReasonCode::no_rule);
}

TEST_CASE("ops may be given by globs") {
  const Graph graph = graph_from_text(R"(
    input x
    a = aten.add.default(x)
    b = aten.add.Tensor(x)
    c = aten.relu.default(x)
  )");
  CHECK(accepted(graph, {list_of({rule_for("aten.*.default")})}) == "a c");
  CHECK(accepted(graph, {list_of({rule_for("aten.add.??????")})}) == "b");
  CHECK(accepted(graph, {list_of({rule_for("*")})}) == "a b c");
}

TEST_CASE("a node is supported when any of several lists accepts it") {
  const Graph graph = graph_from_text("input x\n a = relu(x)\n b = add(x, x)\n c = mul(x, x)");
  CHECK(accepted(graph, {list_of({rule_for("relu")}), list_of({rule_for("add")})}) == "a b");
}

// ---- dtypes ----

TEST_CASE("literals, absent inputs and lists are not checked against dtypes") {
  const Graph graph = graph_from_text(R"(
    input i: int64[2]
    a = add(_, i)
    b = add()
    c = add([i, i])
  )");
  Rule rule = rule_for("add");
  rule.inputs = {types({DType::float32})};
  CHECK(accepted(graph, {list_of({rule})}) == "a b c");
}

// ---- deny rules ----

TEST_CASE("deny rules refuse nodes by op, name or input dtype") {
  const Graph graph = graph_from_text(R"(
    input x
    input i: int64[2]
    param w: int64[2]
    a = relu(x)
    b = relu(i)
    c = relu(w)
    d = relu([x, i])
    e = relu(x, k=i)
    f = relu(x, ^i)
  )");
  const Rule allow = rule_for("relu");
  Rule by_dtype;
  by_dtype.input_dtype = types({DType::int64});
  CHECK(accepted(graph, {list_of({allow}, {by_dtype})}) == "a c");
  Rule by_name;
  by_name.node_name = "?";
  CHECK(accepted(graph, {list_of({allow}, {by_name})}).empty());
  by_name.node_name = "b";
  CHECK(accepted(graph, {list_of({allow}, {by_name})}) == "a c d e f");
  CHECK(accepted(graph, {list_of({allow}, {rule_for("r*")})}).empty());
}

TEST_CASE("a deny rule denies only where all its conditions hold") {
  const Graph graph = graph_from_text("input x\n a = f(x) {m=1}\n b = f(x) {m=2}\n c = g(x) {m=2}");
  Rule deny = rule_for("f");
  deny.attributes = {attribute("m", {std::int64_t{2}})};
  CHECK(accepted(graph, {list_of({rule_for("*")}, {deny})}) == "a c");
}

// ---- reasons ----

Reason reason_of(const Graph& graph, const std::vector<SupportList>& lists, std::string_view node) {
  return match_support(graph, lists, {}).reasons[node_named(graph, node)];
}

TEST_CASE("the reason names the first deny rule that matches") {
  const Graph graph = graph_from_text("input x\n a = relu(x)");
  Rule other;
  other.node_name = "b";
  Rule glob;
  glob.node_name = "a*";
  Rule exact;
  exact.node_name = "a";
  const Reason first = reason_of(graph, {list_of({rule_for("relu")}, {other, glob, exact})}, "a");
  CHECK(first.code == ReasonCode::denied);
  CHECK(first.rule == 1);
  const Reason second = reason_of(graph, {list_of({rule_for("relu")}, {other, exact, glob})}, "a");
  CHECK(second.rule == 1);
}

TEST_CASE("the reason names the failed rule with the fewest failed conditions") {
  const Graph graph = graph_from_text("opset \"\" 13\n input x: int64[2]\n a = conv(x) {group=2}");
  Rule far = rule_for("conv");
  far.inputs = {types({DType::float32})};
  far.attributes = {attribute("group", {std::int64_t{1}})};
  Rule near = rule_for("conv");
  near.inputs = {types({DType::float32})};
  Rule old = rule_for("conv");
  old.opset = OpsetRule{1, 10};
  const Reason reason = reason_of(graph, {list_of({old, far, near})}, "a");
  CHECK(reason.code == ReasonCode::rule_failed);
  CHECK(reason.rule == 2);
}

TEST_CASE("the reason names the rule that fails on a newer opset alone") {
  const Graph graph = graph_from_text("opset \"\" 12\n input x: float32[2]\n a = add(x)");
  Rule other = rule_for("add");
  other.inputs = {types({DType::int64})};
  Rule newer = rule_for("add");
  newer.opset = OpsetRule{13, 23};
  Rule both = rule_for("add");
  both.opset = OpsetRule{13, 23};
  both.inputs = {types({DType::int64})};
  const SupportList list = list_of({other, both, newer});
  CHECK(reason_of(graph, {list}, "a").rule == 2);
  CHECK(newer_opset_of(graph, graph.nodes()[0], list.allow[2], {}) == 13);
  CHECK(newer_opset_of(graph, graph.nodes()[0], list.allow[1], {}) == std::nullopt);
  CHECK(newer_opset_of(graph, graph.nodes()[0], list.allow[0], {}) == std::nullopt);
}

TEST_CASE("with several lists the reason is the first denial, else the first failed rule") {
  const Graph graph = graph_from_text("input x: int64[2]\n a = relu(x)");
  Rule strict = rule_for("relu");
  strict.inputs = {types({DType::float32})};
  Rule deny;
  deny.node_name = "a";
  const SupportList without = list_of({rule_for("add")});
  const SupportList failing = list_of({strict});
  const SupportList denying = list_of({rule_for("relu")}, {deny});
  CHECK(reason_of(graph, {without, without}, "a").code == ReasonCode::no_rule);
  CHECK(reason_of(graph, {without, failing}, "a") ==
        Reason{.code = ReasonCode::rule_failed, .list = 1});
  CHECK(reason_of(graph, {failing, without, denying}, "a") ==
        Reason{.code = ReasonCode::denied, .list = 2});
}

TEST_CASE("a denial by dtype does not hide that no rule names the op") {
  const Graph graph = graph_from_text("input x: int64[2]\n a = relu(x)");
  Rule deny;
  deny.input_dtype = types({DType::int64});
  CHECK(reason_of(graph, {list_of({}, {deny})}, "a").code == ReasonCode::no_rule);
  deny.op = "relu";
  CHECK(reason_of(graph, {list_of({}, {deny})}, "a").code == ReasonCode::denied);
}

TEST_CASE("a node with a body is supported when every node of the body is") {
  const Graph graph = graph_from_text(R"(
    input x
    i = If(x)
    | t = relu(x)
    | e = foo(x)
    j = If(x)
    | h = relu(x)
  )");
  const std::vector<SupportList> lists = {list_of({rule_for("If"), rule_for("relu")})};
  CHECK(accepted(graph, lists) == "j");
  const Reason reason = reason_of(graph, lists, "i");
  CHECK(reason.code == ReasonCode::rule_failed);
  CHECK(reason.because == node_named(graph, "e"));
  CHECK(match_node(graph, node_named(graph, "i"), lists, {}).code == ReasonCode::none);
  CHECK(match_node(graph, node_named(graph, "e"), lists, {}).code == ReasonCode::no_rule);
}

TEST_CASE("the rule that accepts a node is of a list that does not deny it") {
  const Graph graph = graph_from_text("input x\n a = Relu(x)\n b = Tanh(a)");
  std::vector<SupportList> lists(2);
  lists[0].allow = lists[0].deny = {rule_for("Relu")};
  lists[1].allow = {rule_for("Add"), rule_for("R*"), rule_for("Relu")};
  const auto found = find_accepting_rule(graph, NodeId{0}, lists, {});
  REQUIRE(found);
  CHECK(found->list == 1);
  CHECK(found->rule == 1);
  CHECK_FALSE(find_accepting_rule(graph, NodeId{1}, lists, {}));
}

// ---- as many lists as a reason can name ----

TEST_CASE("a reason names the last of 65,536 lists") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = g(a)");
  Rule refusing = rule_for("g");
  refusing.inputs = {types({DType::int64})};
  std::vector<SupportList> lists(65536);
  lists.back() = list_of({rule_for("f"), refusing});
  CHECK(accepted(graph, lists) == "a");
  const Reason reason = match_support(graph, lists, {}).reasons[node_named(graph, "b")];
  CHECK(reason.code == ReasonCode::rule_failed);
  CHECK(reason.list == 65535);
  const auto accepting = find_accepting_rule(graph, node_named(graph, "a"), lists, {});
  REQUIRE(accepting);
  CHECK(accepting->list == 65535);
}

// ---- rules by name, several lists ----

TEST_CASE("an allow rule may be for nodes of some names only") {
  const Graph graph = graph_from_text("input x\n a1 = relu(x)\n a2 = relu(x)\n b = relu(x)");
  Rule rule = rule_for("relu");
  rule.node_name = "a?";
  CHECK(accepted(graph, {list_of({rule})}) == "a1 a2");
  CHECK(match_support(graph, {list_of({rule})}, {}).reasons[node_named(graph, "b")].code ==
        ReasonCode::no_rule);
}

TEST_CASE("a node is supported only when all lists with the role all_of accept it") {
  const Graph graph = graph_from_text("input x\n a = relu(x)\n b = add(x, x)\n c = mul(x, x)");
  SupportList one = list_of({rule_for("relu"), rule_for("add")});
  SupportList other = list_of({rule_for("relu"), rule_for("mul")}, {rule_for("sub")});
  one.role = ListRole::all_of;
  other.role = ListRole::all_of;
  CHECK(accepted(graph, {one, other}) == "a");
  const Support support = match_support(graph, {one, other}, {});
  CHECK(support.reasons[node_named(graph, "b")].code == ReasonCode::no_rule);
  CHECK(accepted(graph, {one, other, list_of({}, {rule_for("relu")})}).empty());
}

TEST_CASE("verdicts decide nodes by their exact names, and win over all rules") {
  const Graph graph = graph_from_text("input x\n a = relu(x)\n b = add(x, x)\n c = mul(x, x)");
  SupportList verdicts;
  verdicts.role = ListRole::verdicts;
  Rule yes, no, no_glob;
  yes.node_name = "b";
  yes.is_exact_name = true;
  no.node_name = "a";
  no.is_exact_name = true;
  no_glob.node_name = "*";
  no_glob.is_exact_name = true;
  verdicts.allow = {yes};
  verdicts.deny = {no, no_glob};
  const std::vector<SupportList> lists = {
      list_of({rule_for("relu"), rule_for("mul")}, {rule_for("add")}), verdicts};
  CHECK(accepted(graph, lists) == "b c");
  const Reason reason = match_support(graph, lists, {}).reasons[node_named(graph, "a")];
  CHECK(reason.code == ReasonCode::denied);
  CHECK(reason.list == 1);
  CHECK(reason.rule == 0);
  CHECK(accepted(graph, {verdicts}) == "b");
}

}  // namespace
}  // namespace cleave
