#include "core/split/keep_best.h"

#include <utility>

#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {
namespace {

struct Kept {
  std::string subgraphs;
  std::string reasons;
  CapCost cost;
};

Kept keep(const Graph& graph, std::string_view cpu, const SplitOptions& options,
          const Link& link = default_link()) {
  Support support = support_all_but(graph, cpu);
  const Fusions fusions =
      find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
  SubgraphsFound found = split_subgraphs(graph, fusions, {});
  const KeptSubgraphs kept = keep_best_subgraphs(
      graph, {std::move(found.subgraphs), fusions.acc.reasons}, options, {link});
  return {describe(graph, kept.subgraphs), describe(graph, kept.reasons), kept.cost};
}

// Accelerator subgraphs {a b}, {d}, {f}: most nodes, most work, most work but much data.
constexpr const char* kText = R"(
  input x: float32[64,64]
  a: float32[64,64] = Relu(x)
  b: float32[64,64] = Relu(a)
  c: float32[64,64] = cpu(b)
  d: float32[64,64] = MatMul(c, c)
  e: float32[64,64] = cpu(d)
  f: float32[64,9999] = Relu(e)
  g = cpu(f)
  output g)";

TEST_CASE("The most valuable subgraphs are kept; the others are merged with their neighbours") {
  const Graph graph = graph_from_text(kText);
  const Kept by_nodes = keep(graph, "c e g", {.most_kept = 1, .keep_by = KeepBy::nodes});
  CHECK(by_nodes.subgraphs == "acc: a b | cpu: c d e f g");
  CHECK(by_nodes.reasons == "c: no_rule\nd: over_cap\ne: no_rule\nf: over_cap\ng: no_rule\n");
  CHECK(by_nodes.cost.kept == 1);
  CHECK(by_nodes.cost.subgraphs == 2);
  CHECK(by_nodes.cost.nodes == 2);
  CHECK(by_nodes.cost.flops == 2.0 * 64 * 64 * 64 + 64 * 9999);
  CHECK(by_nodes.cost.link_bytes == 4 * (3 * 64 * 64 + 64 * 9999));
  CHECK(keep(graph, "c e g", {.most_kept = 1, .keep_by = KeepBy::flops}).subgraphs ==
        "cpu: a b c | acc: d | cpu: e f g");
  CHECK(keep(graph, "c e g", {.most_kept = 2, .keep_by = KeepBy::flops}).subgraphs ==
        "acc: a b | cpu: c | acc: d | cpu: e f g");
}

TEST_CASE("The value of work is reduced by its time on the link") {
  const Graph graph = graph_from_text(kText);
  const Link fast{"fast", 1e15};
  CHECK(keep(graph, "c e g", {.most_kept = 1, .keep_by = KeepBy::flops}, fast).subgraphs ==
        "cpu: a b c d e | acc: f | cpu: g");
}

TEST_CASE("A node's time is measured, or the longer of computing and memory") {
  const Graph graph = graph_from_text(kText);
  // f moves most bytes; over a slow link it loses more than it gains.
  CHECK(keep(graph, "c e g", {.most_kept = 1, .keep_by = KeepBy::time}, {"link", 1e15}).subgraphs ==
        "cpu: a b c d e | acc: f | cpu: g");
  CHECK(keep(graph, "c e g", {.most_kept = 1, .keep_by = KeepBy::time}, {"link", 1e9}).subgraphs ==
        "acc: a b | cpu: c d e f g");
}

TEST_CASE("Among equals the one with fewer bytes over the link is kept, then the first") {
  const Graph graph = graph_from_text(R"(
    input x
    a: float32[9] = f(x)
    b = cpu(a)
    c = f(b)
    d = cpu(c)
    e = f(d)
    output e)");
  CHECK(keep(graph, "b d", {.most_kept = 1, .keep_by = KeepBy::nodes}).subgraphs ==
        "cpu: a b | acc: c | cpu: d e");
}

TEST_CASE("The limit may be 0, and subgraphs within it are unchanged") {
  const Graph graph = graph_from_text(kText);
  CHECK(keep(graph, "c e g", {.most_kept = 0}).subgraphs == "cpu: a b c d e f g");
  CHECK(keep(graph, "c e g", {.most_kept = 3}).subgraphs == keep(graph, "c e g", {}).subgraphs);
  CHECK(keep(graph, "c e g", {.most_kept = 3}).cost.subgraphs == 0);
}

struct SplitGraph {
  Fusions fusions;
  Subgraphs all;
};

SplitGraph subgraphs_of(const RandomGraph& random) {
  Fusions fusions =
      find_fusions(random.graph, find_acc_nodes(random.graph, random.support, {}), {});
  Subgraphs all = split_subgraphs(random.graph, fusions, {}).subgraphs;
  return {std::move(fusions), std::move(all)};
}

TEST_CASE("Any split keeps to its limit, and keeps the most valuable subgraphs") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const RandomGraph random = random_graph(seed, 30);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    const auto [fusions, all] = subgraphs_of(random);
    const SplitOptions options{.most_kept = seed % 4, .keep_by = KeepBy::nodes};
    const KeptSubgraphs kept =
        keep_best_subgraphs(random.graph, {all, fusions.acc.reasons}, options, {});
    std::vector<std::uint32_t> sizes;
    for (std::size_t i = 0; i < all.count(); ++i) {
      if (all.devices[i] == Device::acc) sizes.push_back(all.sizes[i]);
    }
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    sizes.resize(std::min<std::size_t>(sizes.size(), options.most_kept));
    std::vector<std::uint32_t> kept_sizes;
    for (std::size_t i = 0; i < kept.subgraphs.count(); ++i) {
      if (kept.subgraphs.devices[i] == Device::acc) kept_sizes.push_back(kept.subgraphs.sizes[i]);
    }
    std::sort(kept_sizes.begin(), kept_sizes.end(), std::greater<>());
    REQUIRE(kept_sizes == sizes);
    const Partition partition = make_partition(kept.subgraphs, {});
    REQUIRE(check_partition(random.graph, partition, &fusions.acc.nodes).has_value());
    for (const NodeId node : random.graph.nodes()) {
      const bool on_acc = partition.is_acc(partition.part_of[node]);
      REQUIRE(on_acc == (kept.reasons[node].code == ReasonCode::none));
    }
  }
}

// Whole microseconds on both devices, so that sums do not depend on their order.
struct Timed {
  explicit Timed(const Graph& graph, std::uint32_t seed)
      : times{all(graph, seed, 40), all(graph, seed + 1, 20), {}},
        machine{.launch_us = 1 + seed % 9, .link_bytes_per_second = 1e6 * (1U << seed % 8)} {}

  static DeviceTimes all(const Graph& graph, std::uint32_t seed, std::uint32_t most) {
    DeviceTimes made{PerNode<double>(graph.node_count()),
                     PerNode<TimeOrigin>(graph.node_count(), TimeOrigin::measured)};
    for (const NodeId node : graph.nodes()) made.us[node] = (index(node) * 7 + seed * 13) % most;
    return made;
  }

  LatencyInput input() const { return {times, machine}; }
  // The time of an inference with these subgraphs.
  double total_us(const Graph& graph, const Subgraphs& subgraphs) const {
    const Partition partition = make_partition(subgraphs, {});
    return latency(graph, partition, find_boundaries(graph, partition), input())
        .total_us.value_or(-1);
  }

  TargetTimes times;
  Machine machine;
};

Subgraphs with_dropped(Subgraphs subgraphs, const std::vector<std::size_t>& dropped) {
  for (const std::size_t i : dropped) subgraphs.devices[i] = Device::cpu;
  return with_cpu_neighbours_merged(subgraphs);
}

TEST_CASE(
    "The minimum size that is found takes no more time than any other, and is the least such") {
  int above_one = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, 30);
    const auto [fusions, all] = subgraphs_of(random);
    const Timed timed(random.graph, seed);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    std::size_t best = 1;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t size = 1; size <= random.graph.node_count() + 1; ++size) {
      const PerNode<Reason> no_reasons(random.graph.node_count());
      const MergedSubgraphs merged =
          merge_small_subgraphs(random.graph, all, no_reasons, {.min_acc_size = size});
      const double us = timed.total_us(random.graph, merged.subgraphs);
      if (us < least * (1 - 1e-12)) best = size;
      least = std::min(least, us);
    }
    REQUIRE(fastest_min_size(random.graph, all, timed.input()) == best);
    above_one += best > 1 ? 1 : 0;
  }
  CHECK(above_one > 30);
}

TEST_CASE("Where only what gains is kept, no subgraph loses, and an inference is no slower") {
  int dropped = 0;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomGraph random = random_graph(seed, 30);
    const auto [fusions, all] = subgraphs_of(random);
    const Timed timed(random.graph, seed);
    const LatencyInput input = timed.input();
    const KeptSubgraphs kept =
        keep_best_subgraphs(random.graph, {all, fusions.acc.reasons}, {.keep_only_gaining = true},
                            {default_link(), &input});
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    const double before = timed.total_us(random.graph, all);
    const double after = timed.total_us(random.graph, kept.subgraphs);
    REQUIRE(after <= before * (1 + 1e-12));
    std::size_t count = 0;
    std::vector<std::size_t> losing;
    for (std::size_t i = 0; i < kept.subgraphs.count(); ++i) {
      if (kept.subgraphs.devices[i] != Device::acc) continue;
      ++count;
      const double without = timed.total_us(random.graph, with_dropped(kept.subgraphs, {i}));
      if (without < after * (1 - 1e-9)) losing.push_back(i);
    }
    REQUIRE(losing.empty());
    dropped += kept.cost.subgraphs > 0 ? 1 : 0;
    if (kept.cost.subgraphs > 0) {
      REQUIRE(after < before);
      REQUIRE(kept.cost.kept == count);
    } else {
      REQUIRE(describe(random.graph, kept.subgraphs) == describe(random.graph, all));
    }
    for (const NodeId node : random.graph.nodes()) {
      if (kept.reasons[node].code != ReasonCode::costs_more) continue;
      const Reason& reason = kept.reasons[node];
      REQUIRE(reason.launch_us == static_cast<float>(*timed.machine.launch_us));
      REQUIRE(reason.link_us + reason.compute_us + reason.launch_us > 0);
    }
  }
  CHECK(dropped > 60);
}

TEST_CASE("A subgraph that is dropped says what it would add to an inference") {
  const Graph graph = graph_from_text(R"(
    input x: float32[250]
    a: float32[250] = f(x)
    b: float32[500] = f(a)
    c: float32[250] = cpu(b)
    output c)");
  const Subgraphs all{[&] {
                        PerNode<PartId> part(3, PartId{0});
                        part[NodeId{2}] = PartId{1};
                        return part;
                      }(),
                      {Device::acc, Device::cpu},
                      {2, 1}};
  TargetTimes times;
  const auto of = [](double a, double b, double c) {
    DeviceTimes made{PerNode<double>(3), PerNode<TimeOrigin>(3, TimeOrigin::measured)};
    made.us[NodeId{0}] = a, made.us[NodeId{1}] = b, made.us[NodeId{2}] = c;
    return made;
  };
  times.cpu = of(10, 20, 5);
  times.acc = of(4, 3, 1);
  const Machine machine{.launch_us = 18, .link_bytes_per_second = 1e9};
  const auto kept = [&](double launch_us) {
    Machine other = machine;
    other.launch_us = launch_us;
    const LatencyInput with{times, other};
    return keep_best_subgraphs(graph, {all, PerNode<Reason>(3)}, {.keep_only_gaining = true},
                               {default_link(), &with});
  };
  // It computes 23 us less, sends 1000 bytes in and 2000 out, and is launched.
  CHECK(describe(graph, kept(19.5).subgraphs) == "acc: a b | cpu: c");
  CHECK(describe(graph, kept(20).subgraphs) == "acc: a b | cpu: c");
  const KeptSubgraphs dropped = kept(20.5);
  CHECK(describe(graph, dropped.subgraphs) == "cpu: a b c");
  const Reason& reason = dropped.reasons[NodeId{0}];
  CHECK(reason.code == ReasonCode::costs_more);
  CHECK(reason.link_us == Approx(3));
  CHECK(reason.compute_us == Approx(-23));
  CHECK(reason.launch_us == Approx(20.5));
  CHECK(dropped.cost.kept == 0);
  CHECK(dropped.cost.subgraphs == 1);
  CHECK(dropped.cost.nodes == 2);
  CHECK(dropped.cost.link_bytes == 3000);
  CHECK(dropped.reasons[NodeId{2}].code == ReasonCode::none);
}

}  // namespace
}  // namespace cleave
