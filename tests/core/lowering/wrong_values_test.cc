#include "core/lowering/wrong_values.h"

#include <algorithm>
#include <bit>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/lowering/fake_backend.h"

namespace cleave {
namespace {

std::string names_where(const Graph& graph, const std::vector<bool>& flags) {
  std::string names;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (!flags[i]) continue;
    names += (names.empty() ? "" : " ") +
             std::string(graph.value(ValueId{static_cast<std::uint32_t>(i)}).name);
  }
  return names;
}

}  // namespace

TEST_CASE("random values, and values computed from them, are not compared") {
  const Graph graph = graph_from_text(
      "input x: float32[2,2]\n"
      "r = RandomNormalLike(x)\n"
      "a = Relu(x)\n"
      "b = Add(a, r)\n"
      "d = Dropout(a)\n"
      "e = Neg(b)\n"
      "output d, e\n");
  CHECK(names_where(graph, random_values(graph)) == "r b e");
}

TEST_CASE("values after NonZero and similar ops have shapes that depend on data") {
  const Graph graph = graph_from_text(
      "input x: float32[2,2]\n"
      "a = Relu(x)\n"
      "n = NonZero(a)\n"
      "g = Gather(a, n)\n"
      "s = Shape(a)\n"
      "output g, s\n");
  CHECK(names_where(graph, values_shaped_by_data(graph)) == "n g");
}

namespace {

std::vector<NodeId> all_nodes(const Graph& graph) {
  std::vector<NodeId> nodes;
  for (const NodeId node : graph.nodes()) nodes.push_back(node);
  return nodes;
}

bool holds(const Piece& piece, NodeId node) {
  return std::binary_search(piece.nodes.begin(), piece.nodes.end(), node);
}

Answer wrong(Difference difference = Difference::wrong) {
  return {.outcome = OracleOutcome::fails, .stage = "values", .difference = difference};
}

const Answer kRight = {.outcome = OracleOutcome::passes};

AllWrongValues find_all(const Graph& graph, const Oracle& oracle) {
  const ItemOrder order = order_items(graph, all_nodes(graph));
  return find_wrong_values({graph, order, oracle({.nodes = all_nodes(graph)})}, oracle,
                           {.most_runs = 100});
}

WrongValues find(const Graph& graph, const Oracle& oracle) {
  return find_all(graph, oracle).found.front();
}

TEST_CASE("A node that computes wrongly is found in 2 ceil(log2 n) runs") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = random_model(seed, 2 + random() % 500);
    const NodeId culprit = some_nodes(random, graph, 1)[0];
    const WrongValues result =
        find(graph, [&](const Piece& piece) { return holds(piece, culprit) ? wrong() : kRight; });
    CHECK(result.verdict == ValueVerdict::culprit);
    CHECK(result.nodes == std::vector{culprit});
    CHECK(result.runs <= 2 * std::bit_width(graph.node_count() - 1));
  }
}

TEST_CASE("A node that gives equal values in another order is not a culprit") {
  const Graph graph = random_model(1, 100);
  const WrongValues result = find(graph, [](const Piece& piece) {
    if (!holds(piece, NodeId{70})) return kRight;
    return wrong(piece.nodes.size() == 1 ? Difference::tie_order : Difference::wrong);
  });
  CHECK(result.verdict == ValueVerdict::tie_order);
  CHECK(result.nodes == std::vector{NodeId{70}});
}

TEST_CASE("Where the reference is not finite no node is to blame, and the rest is searched") {
  const Graph graph = random_model(1, 100);
  const auto oracle = [](const Piece& piece) {
    return holds(piece, NodeId{20}) || holds(piece, NodeId{70}) ? wrong() : kRight;
  };
  const FiniteTest is_finite = [](std::span<const NodeId> nodes) {
    return std::find(nodes.begin(), nodes.end(), NodeId{20}) == nodes.end();
  };
  const ItemOrder order = order_items(graph, all_nodes(graph));
  const AllWrongValues all =
      find_wrong_values({graph, order, wrong()}, oracle, {.most_runs = 100}, is_finite);
  REQUIRE(all.found.size() == 2);
  for (const WrongValues& found : all.found) {
    const bool is_finite_there = found.nodes == std::vector{NodeId{70}};
    CHECK((is_finite_there || found.nodes == std::vector{NodeId{20}}));
    CHECK(found.verdict == (is_finite_there ? ValueVerdict::culprit : ValueVerdict::not_finite));
  }
  CHECK_FALSE(all.is_no_fault);
}

TEST_CASE("Lower precision of the whole partition is reported without a run") {
  const Graph graph = random_model(2, 100);
  const WrongValues result =
      find(graph, [](const Piece&) { return wrong(Difference::lower_precision); });
  CHECK(result.verdict == ValueVerdict::lower_precision);
  CHECK(result.runs == 0);
}

TEST_CASE("Errors that add up blame no node") {
  const Graph graph = random_model(3, 64);
  const WrongValues result = find(graph, [](const Piece& piece) {
    return static_cast<double>(piece.nodes.size()) > 20 * piece.tolerance ? wrong() : kRight;
  });
  CHECK(result.verdict == ValueVerdict::errors_add_up);
  CHECK(result.nodes.size() == 32);
}

TEST_CASE("Two nodes that are wrong only together are distinguished from errors that add up") {
  const Graph graph = random_model(4, 64);
  const WrongValues result = find(graph, [](const Piece& piece) {
    return holds(piece, NodeId{5}) && holds(piece, NodeId{60}) ? wrong() : kRight;
  });
  CHECK(result.verdict == ValueVerdict::together);
  CHECK(std::binary_search(result.nodes.begin(), result.nodes.end(), NodeId{5}));
  CHECK(std::binary_search(result.nodes.begin(), result.nodes.end(), NodeId{60}));
}

TEST_CASE("Of nodes that are wrong only together, those around them are not to blame") {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    std::mt19937 random(seed);
    const Graph graph = random_model(seed, 3 + random() % 200);
    const std::vector<NodeId> pair = some_nodes(random, graph, 2);
    const WrongValues result = find(graph, [&](const Piece& piece) {
      return holds(piece, pair[0]) && holds(piece, pair[1]) ? wrong() : kRight;
    });
    INFO(seed);
    REQUIRE(result.verdict == ValueVerdict::together);
    REQUIRE(result.necessary);
    CHECK((*result.necessary == pair[0] || *result.necessary == pair[1]));
    const ItemOrder order = order_items(graph, all_nodes(graph));
    const auto place = [&](NodeId node) {
      for (std::uint32_t item = 0; item < order.count(); ++item) {
        if (nodes_of(order, ItemSet{item}).front() == node) return item;
      }
      return static_cast<std::uint32_t>(order.count());
    };
    const auto [first, last] = std::minmax({place(pair[0]), place(pair[1])});
    CHECK(result.nodes.size() == last - first + 1);
  }
}

TEST_CASE("Where it is not known what is right without a node, no node is necessary") {
  const Graph graph = random_model(4, 64);
  const ItemOrder order = order_items(graph, all_nodes(graph));
  const NodeId last = nodes_of(order, ItemSet{63}).front();
  const WrongValues result = find(graph, [&](const Piece& piece) {
    if (holds(piece, nodes_of(order, ItemSet{0}).front()) && holds(piece, last)) return wrong();
    const bool is_cut_late = piece.nodes.size() > 40;
    return is_cut_late ? Answer{.outcome = OracleOutcome::unresolved} : kRight;
  });
  CHECK(result.verdict == ValueVerdict::together);
  CHECK_FALSE(result.necessary);
}

TEST_CASE("Rounding that decides an order is reported with the node that decides") {
  const Graph graph = graph_from_text(R"(
    input x
    a = Softmax(x)
    t = TopK(a)
    u = NonZero(x)
    g = Gather(a, t)
    output g, u)");
  const WrongValues result = find(graph, [&](const Piece& piece) {
    if (piece.nodes.size() < 4) return kRight;
    Answer answer = wrong();
    answer.first_wrong = value_named(graph, "g");
    return answer;
  });
  CHECK(result.verdict == ValueVerdict::rounding_decides);
  CHECK(names_of(graph, result.deciders) == "t");
}

TEST_CASE("A half that is refused is cut elsewhere") {
  const Graph graph = random_model(6, 200);
  const WrongValues result = find(graph, [](const Piece& piece) {
    if (piece.nodes.size() == 100 || piece.nodes.size() == 101) {
      return Answer{
          .outcome = OracleOutcome::fails, .stage = "compile", .message = "error: open shape"};
    }
    return holds(piece, NodeId{150}) ? wrong() : kRight;
  });
  CHECK(result.verdict == ValueVerdict::culprit);
  CHECK(result.nodes == std::vector{NodeId{150}});
}

TEST_CASE("An interval is unresolved if no half of it can run") {
  const Graph graph = random_model(7, 50);
  const WrongValues result = find(graph, [](const Piece& piece) {
    return piece.nodes.size() == 50 ? wrong() : Answer{.outcome = OracleOutcome::unresolved};
  });
  CHECK(result.verdict == ValueVerdict::unresolved);
  CHECK(result.nodes.size() == 50);
}

TEST_CASE("What explains a part of the partition does not excuse the rest") {
  const Graph graph = random_model(1, 100);
  for (const Difference benign : {Difference::tie_order, Difference::one_step}) {
    const auto tie = [&](const Piece& piece) {
      return wrong(piece.nodes.size() == 1 ? benign : Difference::wrong);
    };
    const AllWrongValues one = find_all(
        graph, [&](const Piece& piece) { return holds(piece, NodeId{30}) ? tie(piece) : kRight; });
    CHECK(one.found.size() == 1);
    CHECK(one.is_no_fault);
    for (const std::uint32_t culprit : {5U, 31U, 70U}) {
      const AllWrongValues both = find_all(graph, [&](const Piece& piece) {
        if (holds(piece, NodeId{culprit})) return wrong();
        return holds(piece, NodeId{30}) ? tie(piece) : kRight;
      });
      INFO(culprit);
      CHECK_FALSE(both.is_no_fault);
      CHECK(both.found.back().verdict == ValueVerdict::culprit);
      CHECK(both.found.back().nodes == std::vector{NodeId{culprit}});
    }
  }
}

TEST_CASE("Two right halves that are a step off together are a step off, and no culprit") {
  const Graph graph = random_model(4, 64);
  const AllWrongValues all = find_all(graph, [](const Piece& piece) {
    return holds(piece, NodeId{5}) && holds(piece, NodeId{60}) ? wrong(Difference::one_step)
                                                               : kRight;
  });
  CHECK(all.found.front().verdict == ValueVerdict::one_step);
  CHECK(all.is_no_fault);
}

TEST_CASE("What follows a quantiser may enlarge its rounding, which is no fault") {
  const auto verdict_with = [](const char* op) {
    const Graph graph =
        graph_from_text("input x\n a = Conv(x)\n q = " + std::string(op) +
                        "(a)\n d = DequantizeLinear(q)\n s = Sigmoid(d)\n output s");
    const NodeId first = node_named(graph, "a"), last = node_named(graph, "s");
    return find(graph,
                [&](const Piece& piece) {
                  return holds(piece, first) && holds(piece, last) ? wrong() : kRight;
                })
        .verdict;
  };
  CHECK(verdict_with("QuantizeLinear") == ValueVerdict::one_step);
  CHECK(verdict_with("Relu") == ValueVerdict::together);
}

TEST_CASE("Where one half is a tie and the other one wrong, the wrong one is searched") {
  const Graph graph = random_model(1, 100);
  const AllWrongValues all = find_all(graph, [&](const Piece& piece) {
    if (holds(piece, NodeId{70})) return wrong();
    return holds(piece, NodeId{5}) ? wrong(Difference::one_step) : kRight;
  });
  REQUIRE(all.found.size() == 1);
  CHECK(all.found.front().verdict == ValueVerdict::culprit);
  CHECK(all.found.front().nodes == std::vector{NodeId{70}});
}

TEST_CASE("A piece in lower precision is no verdict on a partition that is wrong") {
  const Graph graph = random_model(1, 100);
  const AllWrongValues all = find_all(graph, [](const Piece& piece) {
    return wrong(piece.nodes.size() > 30 ? Difference::wrong : Difference::lower_precision);
  });
  CHECK(all.found.front().verdict == ValueVerdict::lower_precision);
  CHECK_FALSE(all.is_no_fault);
}

TEST_CASE("Halves that could not be run are told, with why") {
  const Graph graph = random_model(5, 50);
  const WrongValues result = find(graph, [](const Piece& piece) {
    return piece.nodes.size() == 50 ? wrong()
                                    : Answer{.outcome = OracleOutcome::fails,
                                             .how = "refused",
                                             .message = "error: no such op"};
  });
  CHECK(result.blocked.size() == 25);
  CHECK(result.blocked_why == "refused: error: no such op");
}

}  // namespace

}  // namespace cleave
