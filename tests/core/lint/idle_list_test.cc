#include "core/lint/idle_list.h"

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

}  // namespace
}  // namespace cleave
