#include "core/lowering/size_limit.h"

#include <algorithm>
#include <functional>

#include "tests/catch2.h"
#include "tests/core/lowering/fake_backend.h"

namespace cleave {
namespace {

constexpr std::size_t kLength = 13;

// Whether a model of so many nodes, of which the pieces fail that `fails` names, has a limit of 13 items.
bool has_limit(std::size_t count, const std::function<bool(const Piece&)>& fails,
               std::size_t most_runs = 4) {
  const Graph graph = random_model(9, count);
  std::vector<NodeId> nodes;
  for (const NodeId node : graph.nodes()) nodes.push_back(node);
  const ItemOrder order = order_items(graph, nodes);
  const MessageNames names;
  const Oracle oracle = [&](const Piece& piece) {
    return fails(piece) ? Answer{.outcome = OracleOutcome::fails,
                                 .stage = "values",
                                 .difference = Difference::wrong}
                        : Answer{.outcome = OracleOutcome::passes};
  };
  const AskingLimits limits;
  Questions questions(order, names, oracle, limits);
  const bool is_limit =
      is_limit_of_size(questions, order, {all_items(order), Remedies(), "values: values"}, kLength);
  CHECK(questions.runs() <= most_runs);
  return is_limit;
}

TEST_CASE("A limit of size is one where pieces of other nodes fail, too, in at most 4 runs") {
  const auto is_large = [](const Piece& piece) { return piece.nodes.size() >= kLength; };
  for (const std::size_t count : {13UL, 14UL, 15UL, 40UL}) {
    INFO(count);
    CHECK(has_limit(count, is_large));
  }
  CHECK_FALSE(has_limit(12, is_large));
}

TEST_CASE("It is none where it takes certain nodes, or another size") {
  const auto holds = [](const Piece& piece, std::uint32_t node) {
    return std::binary_search(piece.nodes.begin(), piece.nodes.end(), NodeId{node});
  };
  for (const std::size_t count : {13UL, 14UL, 40UL}) {
    INFO(count);
    CHECK_FALSE(
        has_limit(count, [&](const Piece& piece) { return holds(piece, 0) && holds(piece, 12); }));
    CHECK_FALSE(has_limit(count, [](const Piece& piece) { return piece.nodes.size() >= 12; }));
  }
  CHECK_FALSE(has_limit(40, [](const Piece& piece) { return piece.nodes.size() >= 14; }));
}

}  // namespace
}  // namespace cleave
