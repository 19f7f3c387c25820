#include "core/graph/written_memory.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// "a<b x": a before b, since both use x.
std::string order_in(const char* text) {
  const Graph graph = graph_from_text(text);
  std::string all;
  for (const RunOrder& order : order_of_writes(graph)) {
    all += (all.empty() ? "" : ", ") + std::string(graph.node(order.before).name) + "<" +
           std::string(graph.node(order.after).name) + " " +
           order.memory.substr(1, order.memory.find('"', 1) - 1);
  }
  return all;
}

TEST_CASE("A write in place comes after earlier uses of the memory and before later ones") {
  CHECK(
      order_in("input x\n a = f(x)\n b = f(a)\n w = torch.relu_(a)\n c = f(a)\n output b, c, w") ==
      "a<w a, b<w a, w<c a");
  CHECK(order_in("input x\n a = f(x)\n b = f(a)\n output b").empty());
}

TEST_CASE(
    "Operators, methods and overloads say that they write; names with two underscores do not") {
  for (const char* const op : {"_operator.iadd", "_operator.setitem", "add_",
                               "torch.ops.aten.add_.Tensor", "torch.Tensor.add_"}) {
    const std::string text =
        std::string("input x\n input y\n a = f(x)\n w = ") + op + "(a, y)\n c = f(a)\n output c";
    CHECK(order_in(text.c_str()) == "a<w a, w<c a");
  }
  CHECK(order_in("input x\n a = f(x)\n w = x.__iadd__(a)\n c = f(a)\n output c").empty());
}

TEST_CASE("Views share the memory of what they view") {
  CHECK(order_in("input x\n a = f(x)\n v = view(a)\n w = add_(v)\n c = f(a)\n output c") ==
        "a<w a, v<w a, w<c a");
}

}  // namespace
}  // namespace cleave
