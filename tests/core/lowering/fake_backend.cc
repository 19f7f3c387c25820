#include "tests/core/lowering/fake_backend.h"

#include <algorithm>
#include <array>

#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

constexpr std::array<std::string_view, 7> kOps = {"Conv", "Relu",   "Add",    "MatMul",
                                                  "Mul",  "Concat", "Reshape"};

bool holds(const Piece& piece, NodeId node) {
  return std::binary_search(piece.nodes.begin(), piece.nodes.end(), node);
}

// True when no path leaves the piece and comes back. By the plain definition: quadratic.
bool is_plainly_convex(const Graph& graph, const std::vector<NodeId>& nodes) {
  if (nodes.empty()) return false;
  NodeSet has_left(graph.node_count());
  for (std::uint32_t i = index(nodes.front()); i <= index(nodes.back()); ++i) {
    const NodeId node{i};
    const bool is_member = std::binary_search(nodes.begin(), nodes.end(), node);
    for (const Operand& operand : graph.operands(node)) {
      const NodeId producer = graph.value(operand.value).producer;
      if (producer == kNone<NodeId> || index(producer) >= graph.node_count()) continue;
      const bool from_member = std::binary_search(nodes.begin(), nodes.end(), producer);
      if (is_member && has_left.contains(producer)) return false;
      if (!is_member && (from_member || has_left.contains(producer))) has_left.insert(node);
    }
  }
  return true;
}

}  // namespace

Graph random_model(std::uint32_t seed, std::size_t count) {
  std::mt19937 random(seed);
  std::string text = "input x0: float32[1,8]\ninput x1: float32[n,8]\nparam w: float32[8,8]\n";
  std::vector<std::string> values = {"x0", "x1"};
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view op = kOps[random() % kOps.size()];
    std::string operands;
    const std::size_t reads = 1 + random() % 3;
    for (std::size_t k = 0; k < reads; ++k) {
      const std::size_t reach =
          random() % 8 == 0 ? values.size() : std::min<std::size_t>(values.size(), 6);
      operands += (k == 0 ? "" : ", ") + values[values.size() - 1 - random() % reach];
    }
    if (random() % 4 == 0) operands += ", w";
    const std::string number = std::to_string(i);
    const std::string_view type = random() % 5 == 0 ? "float32[n,8]" : "float32[1,8]";
    text += "/blocks." + std::to_string(i / 10) + "/" + std::string(op) + "_" + number + "@ v" +
            number + ": " + std::string(type) + " = " + std::string(op) + "(" + operands + ")\n";
    values.push_back("v" + number);
  }
  return graph_from_text(text + "output " + values.back() + "\n");
}

std::vector<NodeId> some_nodes(std::mt19937& random, const Graph& graph, std::size_t count) {
  std::set<NodeId> nodes;
  while (nodes.size() < std::min(count, graph.node_count())) {
    nodes.insert(id_at<NodeId>(random() % graph.node_count()));
  }
  return {nodes.begin(), nodes.end()};
}

std::string FakeBackend::message(NodeId culprit, const Piece& piece) const {
  const std::string number = std::to_string(index(culprit) - index(piece.nodes.front()));
  const std::string head = "error: pass 7 of 12 failed at 0x" + number + "f";
  switch (speech) {
    case Speech::names_node:
      return head + ": node #" + number + " \"" + std::string(graph.node(culprit).name) + "\"";
    case Speech::names_op:
      return head + ": no kernel for " + std::string(graph.op(culprit));
    case Speech::names_value:
      return head + ": tensor " + std::string(graph.value(graph.outputs(culprit)[0]).name);
    case Speech::lies:
      return head + ": node #" + number + " \"" +
             std::string(graph.node(piece.nodes.front()).name) + "\"";
    case Speech::is_silent:
      break;
  }
  return head;
}

std::vector<NamedNode> FakeBackend::named_in(const Piece& piece) const {
  std::vector<NamedNode> named;
  if (!names_all) return named;
  std::set<std::string> met;
  const auto add = [&](NodeId node, const std::string& why) {
    const std::string name(graph.node(node).name);
    if (holds(piece, node) && met.insert(why).second) named.push_back({name, why});
  };
  for (const NodeId node : followers) add(node, "cannot get a shape");
  for (const NodeId node : culprits) add(node, "no kernel for " + std::string(graph.op(node)));
  return named;
}

Answer FakeBackend::operator()(const Piece& piece) {
  ++asked;
  const bool is_sorted = std::is_sorted(piece.nodes.begin(), piece.nodes.end());
  if (!is_sorted || !is_plainly_convex(graph, piece.nodes)) has_met_bad_piece = true;
  for (const NodeId culprit : culprits) {
    if (holds(piece, culprit)) {
      return {.outcome = OracleOutcome::fails,
              .stage = "compile",
              .message = message(culprit, piece),
              .named = named_in(piece)};
    }
  }
  for (const auto& [one, other] : meetings) {
    if (holds(piece, one) && holds(piece, other)) {
      return {.outcome = OracleOutcome::fails, .stage = "compile", .message = message(one, piece)};
    }
  }
  return {.outcome = OracleOutcome::passes};
}

}  // namespace cleave
