#include "core/pattern/pattern_graph.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

using Kind = PatternFault::Kind;

std::pair<Kind, std::size_t> fault_of(std::size_t ops, std::vector<PatternEdge> edges) {
  const auto fault = find_pattern_fault({ops, std::move(edges)});
  REQUIRE(fault.has_value());
  return {fault->kind, fault->at};
}

PatternEdge edge(std::uint32_t from, std::uint32_t to) { return {from, to, {}, {}}; }

TEST_CASE("one op, a chain, a diamond and an edge for each of two inputs are patterns") {
  CHECK_FALSE(find_pattern_fault({1, {}}).has_value());
  CHECK_FALSE(find_pattern_fault({3, {edge(2, 1), edge(1, 0)}}).has_value());
  CHECK_FALSE(
      find_pattern_fault({4, {edge(0, 1), edge(0, 2), edge(1, 3), edge(2, 3)}}).has_value());
  CHECK_FALSE(find_pattern_fault({2, {{0, 1, 0, 0}, {0, 1, 0, 1}}}).has_value());
}

TEST_CASE("a pattern has 1 to 16 ops and at most 256 edges") {
  CHECK(fault_of(0, {}) == std::pair(Kind::no_op, std::size_t{0}));
  CHECK(fault_of(17, {}) == std::pair(Kind::too_many_ops, std::size_t{0}));
  std::vector<PatternEdge> chain, many;
  for (std::uint32_t i = 0; i + 1 < 16; ++i) chain.push_back(edge(i, i + 1));
  CHECK_FALSE(find_pattern_fault({16, chain}).has_value());
  for (std::uint32_t i = 0; i < 257; ++i) many.push_back({0, 1, i, std::nullopt});
  CHECK(fault_of(2, many) == std::pair(Kind::too_many_edges, std::size_t{0}));
}

TEST_CASE("faults of edges say which edge or op is at fault") {
  CHECK(fault_of(2, {edge(0, 1), edge(1, 2)}) == std::pair(Kind::no_such_op, std::size_t{1}));
  CHECK(fault_of(2, {edge(0, 1), edge(0, 1)}) == std::pair(Kind::repeated_edge, std::size_t{1}));
  CHECK(fault_of(1, {edge(0, 0)}) == std::pair(Kind::cycle, std::size_t{0}));
  CHECK(fault_of(3, {edge(0, 1), edge(1, 2), edge(2, 1)}) ==
        std::pair(Kind::cycle, std::size_t{1}));
  CHECK(fault_of(4, {edge(0, 1), edge(2, 3)}) == std::pair(Kind::unconnected, std::size_t{2}));
  CHECK(fault_of(2, {}) == std::pair(Kind::unconnected, std::size_t{1}));
}

}  // namespace
}  // namespace cleave
