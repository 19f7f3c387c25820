#include "core/lowering/hints.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// The names of the nodes that the message may name, in order.
std::string hinted(std::string_view message) {
  static const Graph kGraph = graph_from_text(R"(
    input x: float32[1,8]
    param w: float32[8,8]
    /enc/Conv@ conv_out: float32[1,8] = Conv(x, w)
    /enc/Relu@ relu_out: float32[1,8] = Relu(conv_out)
    /enc/Conv_1@ conv_1_out: float32[1,8] = Conv(relu_out, w)
    /dec/Conv_2@ conv_2_out: float32[8,8] = Conv(w, conv_1_out)
    /dec/layers.0/TopK@ topk_out: float32[1,8] = TopK(conv_2_out)
    output topk_out)");
  std::vector<NodeId> nodes;
  for (const NodeId node : kGraph.nodes()) nodes.push_back(node);
  const ItemOrder order = order_items(kGraph, nodes);
  std::string names;
  for (const std::uint32_t item : Hints(kGraph, order).in(message, all_items(order))) {
    names += (names.empty() ? "" : " ") + std::string(kGraph.node(order.first_node(item)).name);
  }
  return names;
}

TEST_CASE("A node's name is found in quotes, after a sign, and at the end of a sentence") {
  CHECK(hinted("node #12 \"/enc/Relu\" failed") == "/enc/Relu");
  CHECK(hinted("(node_index=2, name=/enc/Relu, version 3)") == "/enc/Relu");
  CHECK(hinted("cannot lower /enc/Relu.") == "/enc/Relu");
}

TEST_CASE("A value's name leads to its maker, listed after nodes that are named") {
  CHECK(hinted("tensor relu_out") == "/enc/Relu");
  CHECK(hinted("tensor relu_out of /enc/Conv_1") == "/enc/Conv_1 /enc/Relu");
}

TEST_CASE("Nodes of a named op come rarest op first, with one node for each case") {
  CHECK(hinted("name = \"onnx.Conv\"") == "/enc/Conv /dec/Conv_2");
  CHECK(hinted("Conv, TopK are not supported") == "/dec/layers.0/TopK /enc/Conv /dec/Conv_2");
}

TEST_CASE("Cut or changed names count if they fit one node only") {
  CHECK(hinted("in layer dec_layers_0_TopK") == "/dec/layers.0/TopK");
  CHECK(hinted("in main_graph/dec/layers.0/TopK:0x") == "");
  CHECK(hinted("in main_graph/dec/layers.0/TopK") == "/dec/layers.0/TopK");
}

TEST_CASE("A message without names has no hints") {
  CHECK(hinted("internal error 139") == "");
  CHECK(hinted("") == "");
}

}  // namespace
}  // namespace cleave
