#include "core/split/keep_best.h"

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

TEST_CASE("Any split keeps to its limit, and keeps the most valuable subgraphs") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const RandomGraph random = random_graph(seed, 30);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    const Fusions fusions =
        find_fusions(random.graph, find_acc_nodes(random.graph, random.support, {}), {});
    const Subgraphs all = split_subgraphs(random.graph, fusions, {}).subgraphs;
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

}  // namespace
}  // namespace cleave
