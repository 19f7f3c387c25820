#include "core/base/max_flow.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>

#include "tests/catch2.h"

namespace cleave {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr std::uint32_t kSource = 0;
constexpr std::uint32_t kSink = 1;

TEST_CASE("the flow is the least cut between source and sink") {
  FlowNetwork network;
  network.clear();
  const std::uint32_t a = network.add_node();
  const std::uint32_t b = network.add_node();
  network.add_arc(kSource, a, 3);
  network.add_arc(kSource, b, 2);
  network.add_arc(a, b, 5);
  network.add_arc(a, kSink, 1);
  network.add_arc(b, kSink, 3.5);
  CHECK(network.augment(kNoLimit) == Approx(4.5));
}

TEST_CASE("a flow takes a step back where an earlier way was wrong") {
  FlowNetwork network;
  network.clear();
  const std::uint32_t a = network.add_node();
  const std::uint32_t b = network.add_node();
  const std::uint32_t c = network.add_node();
  const std::uint32_t d = network.add_node();
  network.add_arc(kSource, a, 1);
  network.add_arc(kSource, b, 1);
  network.add_arc(a, d, 1);
  network.add_arc(a, c, 1);
  network.add_arc(b, d, 1);
  network.add_arc(c, kSink, 1);
  network.add_arc(d, kSink, 1);
  CHECK(network.augment(kNoLimit) == Approx(2));
}

TEST_CASE("the flow of random networks is the least of all cuts, however arcs were added") {
  constexpr std::uint32_t kNodes = 7;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 engine(seed);
    const auto below = [&](std::uint32_t limit) {
      return static_cast<std::uint32_t>(engine() % limit);
    };
    double capacity[kNodes][kNodes] = {};
    FlowNetwork network;
    network.clear();
    while (network.add_node() + 1 < kNodes) continue;
    for (int i = 0; i < 16; ++i) {
      const std::uint32_t from = below(kNodes), to = below(kNodes);
      if (from == to) continue;
      const double there = below(6), back = below(3);
      network.add_arc(from, to, there, back);
      capacity[from][to] += there;
      capacity[to][from] += back;
      if (i % 5 == 4) network.augment(kNoLimit);
    }
    double least = kNoLimit;
    for (std::uint32_t side = 0; side < 1U << kNodes; ++side) {
      if ((side >> kSource & 1U) == 0 || (side >> kSink & 1U) != 0) continue;
      double cut = 0;
      for (std::uint32_t from = 0; from < kNodes; ++from) {
        for (std::uint32_t to = 0; to < kNodes; ++to) {
          if ((side >> from & 1U) != 0 && (side >> to & 1U) == 0) cut += capacity[from][to];
        }
      }
      least = std::min(least, cut);
    }
    INFO("seed " << seed);
    CHECK(network.augment(kNoLimit) == Approx(least).margin(1e-9));
  }
}

TEST_CASE("arcs added later raise the flow from where it was") {
  FlowNetwork network;
  network.clear();
  const std::uint32_t a = network.add_node();
  network.add_arc(kSource, a, 4);
  network.add_arc(a, kSink, 1);
  CHECK(network.augment(kNoLimit) == Approx(1));
  network.add_arc(a, kSink, 2);
  CHECK(network.augment(kNoLimit) == Approx(3));
}

TEST_CASE("a flow stops at its limit, and is 0 when the sink cannot be reached") {
  FlowNetwork network;
  network.clear();
  CHECK(network.augment(kNoLimit) == 0);
  network.add_arc(kSource, kSink, 10);
  CHECK(network.augment(4) == Approx(4));
  network.clear();
  CHECK(network.flow() == 0);
}

TEST_CASE("arcs of unlimited capacity do not limit the flow") {
  FlowNetwork network;
  network.clear();
  const std::uint32_t a = network.add_node();
  const std::uint32_t b = network.add_node();
  network.add_arc(kSource, a, kNoLimit);
  network.add_arc(a, b, 7, 7);
  network.add_arc(b, kSink, kNoLimit);
  CHECK(network.augment(kNoLimit) == Approx(7));
}

}  // namespace
}  // namespace cleave
