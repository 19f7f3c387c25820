#include "core/support/unused_rules.h"

#include "core/graph/op_name.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

SupportList list_of(std::initializer_list<const char*> ops) {
  SupportList list;
  for (const char* op : ops) {
    list.allow.emplace_back();
    list.allow.back().op = op;
  }
  return list;
}

std::string idle(const Graph& graph, const std::vector<SupportList>& lists) {
  std::string text;
  for (const IdleList& found : find_idle_lists(graph, lists)) {
    text += std::to_string(found.list) + ":";
    for (const UsedOp& op : found.ops) {
      text += " " + std::string(op.op) + " " + std::to_string(op.nodes);
    }
    text += "\n";
  }
  return text;
}

TEST_CASE("a list whose rules name no op of the model is idle") {
  const Graph graph = graph_from_text(R"(
    input x
    a = Add(x)
    b = Relu(a)
    c = Relu(b)
    d = com.microsoft::Gelu(c)
    e = Tanh(d)
  )");
  CHECK(idle(graph, {list_of({}), list_of({"Conv", "relu"}), list_of({"R*"})}) ==
        "0: Relu 2 Add 1 Gelu 1\n"
        "1: Relu 2 Add 1 Gelu 1\n");
  CHECK(idle(graph, {list_of({"Gelu"})}) == "0: Relu 2 Add 1 Gelu 1\n");
  SupportList denying = list_of({});
  denying.deny = list_of({"Relu"}).allow;
  CHECK(idle(graph, {denying}) == "0: Relu 2 Add 1 Gelu 1\n");
}

TEST_CASE("no list is idle for a graph without nodes") {
  CHECK(idle(graph_from_text("input x"), {list_of({"Conv"})}).empty());
}

std::string twins_of(std::string_view op) {
  std::string text;
  for (const IrTwin& twin : ir_twins(op)) {
    text += (text.empty() ? "" : " ") + twin.op + (twin.is_decomposed ? "(decomposed)" : "");
  }
  return text;
}

TEST_CASE("A layer has other names after it is decomposed") {
  CHECK(twins_of("torch.ops.aten.linear.default") ==
        "aten.addmm(decomposed) aten.mm(decomposed) aten.linear_");
  CHECK(twins_of("torch.ops.aten.convolution.default").starts_with("aten.conv1d aten.conv2d"));
  CHECK(twins_of("torch.ops.aten.relu_.default") == "aten.relu(decomposed)");
  CHECK(twins_of("torch.ops.aten.relu.default") == "aten.relu_");
}

TEST_CASE("Operators of others, and those with underscores around, keep their names") {
  CHECK(twins_of("torch.ops.mylib.linear.default").empty());
  CHECK(twins_of("Conv").empty());
  CHECK(twins_of("torch.ops.aten.__and__.Tensor").empty());
}

std::string misses(const Graph& graph, std::initializer_list<const char*> ops,
                   const OpFacts& facts = {}) {
  SupportList list;
  for (const char* op : ops) {
    list.allow.emplace_back();
    const ParsedOp name = parse_op(op);
    list.allow.back().op = name.op;
    list.allow.back().domain = name.domain;
  }
  std::string text;
  for (const NearMiss& miss : near_misses(graph, std::vector{list}, facts)) {
    const Rule& rule = list.allow[miss.rule];
    text += (text.empty() ? "" : ", ") + op_text(rule.domain, rule.op) + " for ";
    text += miss.domain.empty() ? "" : std::string(miss.domain) + "::";
    text += miss.op;
  }
  return text;
}

TEST_CASE("near misses are slips of case, spelling, module and domain") {
  const Graph graph = graph_from_text(R"(
    input x
    a = ArgMax(x)
    b = torch.nn.modules.conv.Conv2d(x)
    c = com.microsoft::FusedConv(x)
    d = Sigmoid(x)
  )");
  CHECK(misses(graph, {"Argmax"}) == "Argmax for ArgMax");
  CHECK(misses(graph, {"Sigmiod"}) == "Sigmiod for Sigmoid");
  CHECK(misses(graph, {"Conv2d"}) == "Conv2d for torch.nn.modules.conv.Conv2d");
  CHECK(misses(graph, {"torch.nn.Conv2d"}) == "torch.nn.Conv2d for torch.nn.modules.conv.Conv2d");
  CHECK(misses(graph, {"FusedConv"}) == "FusedConv for com.microsoft::FusedConv");
  CHECK(misses(graph, {"com.microsoft::FusedConv"}).empty());
  CHECK(misses(graph, {"com.microsoft::fusedconv"}) ==
        "com.microsoft::fusedconv for com.microsoft::FusedConv");
  CHECK(misses(graph, {"com.other::FusedConv"}) ==
        "com.other::FusedConv for com.microsoft::FusedConv");
  CHECK(misses(graph, {"com.*::FusedConv", "*::Fusedconv"}).empty());
}

TEST_CASE("ops with other names are not near misses") {
  const Graph graph = graph_from_text(R"(
    input x
    a = And(x)
    b = Sinh(x)
    c = torch.nn.modules.conv.Conv3d(x)
    d = ReduceMin(x)
    e = torch.add(x)
  )");
  CHECK(misses(graph,
               {"Add", "Sin", "torch.nn.modules.conv.Conv2d", "ReduceMax", "Gemm", "_operator.add"})
            .empty());
}

TEST_CASE("an overload says nothing of torch's operators") {
  const Graph graph = graph_from_text(R"(
    input x
    a = torch.ops.aten.layer_norm.default(x)
    b = torch.ops.aten.mul.Tensor(x)
  )");
  CHECK(misses(graph, {"torch.ops.aten.avg_pool2d.default", "torch.ops.aten.sub.Tensor"}).empty());
  CHECK(misses(graph, {"torch.ops.aten.layernorm.default"}) ==
        "torch.ops.aten.layernorm.default for torch.ops.aten.layer_norm.default");
  CHECK(misses(graph, {"torch.ops.prims.mul.default"}) ==
        "torch.ops.prims.mul.default for torch.ops.aten.mul.Tensor");
}

TEST_CASE("a rule is not a near miss of an op that the list covers, or when it matches a node") {
  const Graph graph = graph_from_text("input x\n a = ArgMax(x)\n b = Argmax(x)");
  CHECK(misses(graph, {"Argmax"}).empty());
  CHECK(misses(graph, {"argmax", "ArgMax", "Argmax"}).empty());
  CHECK(misses(graph, {"argmax", "A*"}).empty());
}

TEST_CASE("a rule for a known operator is not a near miss") {
  const Graph graph = graph_from_text("opset \"\" 13\n input x\n a = SoftPlus(x)");
  OpFacts facts;
  facts.schema_version = [](std::string_view, std::string_view op, std::int64_t) {
    return std::int64_t{op == "Softplus" ? 1 : 0};
  };
  CHECK(misses(graph, {"Softplus"}) == "Softplus for SoftPlus");
  CHECK(misses(graph, {"Softplus"}, facts).empty());
}

}  // namespace

}  // namespace cleave
