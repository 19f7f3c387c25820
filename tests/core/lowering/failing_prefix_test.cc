#include "core/lowering/failing_prefix.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/lowering/fake_backend.h"

namespace cleave {
namespace {

struct Found {
  FailingPrefix prefix;
  std::size_t runs = 0;
};

// The shortest failing prefix of a chain of so many nodes, of which the first `good` are known to
// pass. `answer` is given the number of nodes of a piece.
Found found_in(std::size_t count, const std::function<Answer(std::size_t)>& answer,
               std::size_t good = 0) {
  std::string text = "input x\nn0 = f(x)\n";
  for (std::size_t i = 1; i < count; ++i) {
    text += "n" + std::to_string(i) + " = f(n" + std::to_string(i - 1) + ")\n";
  }
  const Graph graph = graph_from_text(text + "output n" + std::to_string(count - 1));
  std::vector<NodeId> nodes;
  for (const NodeId node : graph.nodes()) nodes.push_back(node);
  const ItemOrder order = order_items(graph, nodes);
  const MessageNames names(graph, nodes);
  const Oracle oracle = [&](const Piece& piece) { return answer(piece.nodes.size()); };
  const AskingLimits limits;
  Questions questions(order, names, oracle, limits);
  const ItemSet all = all_items(order);
  const Remedies remedies;
  const JudgedAnswer& whole = questions.know(all, remedies, answer(count));
  const std::string signature = whole.signature;
  const FailingPrefix prefix = smallest_failing_prefix(
      questions, {.items = all, .remedies = remedies, .signature = signature, .good = good});
  return {prefix, questions.runs()};
}

Answer failure(const char* message) {
  return {.outcome = OracleOutcome::fails, .stage = "compile", .message = message};
}

TEST_CASE("The last item of the shortest failing prefix is the culprit, in ceil(log2 n) runs") {
  for (std::size_t count = 2; count <= 70; ++count) {
    for (std::size_t culprit = 1; culprit <= count; ++culprit) {
      const Found found = found_in(count, [&](std::size_t size) {
        return size >= culprit ? failure("error: bad") : Answer{.outcome = OracleOutcome::passes};
      });
      INFO(culprit << " of " << count);
      CHECK(found.prefix.length == culprit);
      CHECK(found.prefix.is_sharp);
      CHECK(found.runs <= static_cast<std::size_t>(std::bit_width(count - 1)));
    }
  }
}

TEST_CASE("Items that are known to pass are not asked about") {
  const auto answer = [](std::size_t size) {
    REQUIRE(size > 60);
    return size >= 63 ? failure("error: bad") : Answer{.outcome = OracleOutcome::passes};
  };
  const Found found = found_in(64, answer, 60);
  CHECK(found.prefix.length == 63);
  CHECK(found.runs == 2);
}

TEST_CASE("Cuts that are unresolved are passed over, and the nearest resolved one is taken") {
  // The prefixes of 31 to 33 of 64 nodes cannot be made.
  std::vector<std::size_t> asked;
  const auto answer = [&](std::size_t size) {
    asked.push_back(size);
    if (size >= 31 && size <= 33) return Answer{};
    return size >= 40 ? failure("error: bad") : Answer{.outcome = OracleOutcome::passes};
  };
  const Found found = found_in(64, answer);
  CHECK(found.prefix.length == 40);
  CHECK(found.prefix.is_sharp);
  CHECK(asked == std::vector<std::size_t>{64, 32, 33, 31, 34, 49, 41, 37, 39, 40});
}

TEST_CASE(
    "A cut that fails in another way is tried beside, and at the second such failure passed") {
  std::vector<std::size_t> asked;
  const auto answer = [&](std::size_t size) {
    asked.push_back(size);
    if (size >= 28 && size <= 36) return failure("error: an output is of no use");
    return size >= 50 ? failure("error: bad") : Answer{.outcome = OracleOutcome::passes};
  };
  const Found found = found_in(64, answer);
  CHECK(found.prefix.length == 50);
  CHECK(found.prefix.is_sharp);
  // 64 is the whole; the middle and its neighbour fail in another way, and nothing else near them
  // is asked.
  REQUIRE(asked.size() >= 4);
  CHECK(asked[1] == 32);
  CHECK(asked[2] == 33);
  CHECK(asked[3] == 48);
}

TEST_CASE("Where nothing below the end is resolved, the prefix is not sharp") {
  const auto answer = [](std::size_t size) {
    return size == 16 ? failure("error: bad") : Answer{};
  };
  const Found found = found_in(16, answer);
  CHECK(found.prefix.length == 16);
  CHECK_FALSE(found.prefix.is_sharp);
}

}  // namespace
}  // namespace cleave
