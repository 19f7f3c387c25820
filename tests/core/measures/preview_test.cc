#include "core/measures/preview.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// Nodes whose names begin with "a" are on the accelerator; each number in a name is its part.
Partition partition_of(const Graph& graph) {
  PerNode<PartId> part_of(graph.node_count());
  std::vector<std::string> names;
  std::vector<Device> devices;
  for (const NodeId node : graph.nodes()) {
    const std::string_view name = graph.node(node).name;
    const auto part = static_cast<std::size_t>(name[1] - '0');
    part_of[node] = id_at<PartId>(part);
    if (names.size() > part) continue;
    names.push_back("p" + std::to_string(part));
    devices.push_back(name[0] == 'a' ? Device::acc : Device::cpu);
  }
  return make_partition(std::move(part_of), std::move(names), std::move(devices));
}

struct Previewed {
  Graph graph;
  Partition partition;
  Preview preview;
};

Previewed preview_of(std::string_view text, double bytes_per_second = 1000) {
  Graph graph = graph_from_text(text);
  Partition partition = partition_of(graph);
  const Boundaries boundaries = find_boundaries(graph, partition);
  Preview preview = preview_split(graph, partition, boundaries,
                                  {.name = "", .bytes_per_second = bytes_per_second});
  return {std::move(graph), std::move(partition), std::move(preview)};
}

TEST_CASE("the busier direction bounds a part's rate, and the slowest part bounds the model's") {
  const auto [graph, partition, preview] = preview_of(R"(
    input x: float32[10]
    a0: float32[5] = f(x)
    c1: float32[5] = f(a0)
    a2: float32[25] = f(c1)
    output a2
  )");
  CHECK(preview.parts[PartId{0}].input_bytes == 40);
  CHECK(preview.parts[PartId{0}].output_bytes == 20);
  CHECK(preview.parts[PartId{0}].qps == 25.0);
  CHECK_FALSE(preview.parts[PartId{1}].qps);
  CHECK(preview.parts[PartId{2}].qps == 10.0);
  REQUIRE(preview.bound);
  CHECK(preview.bound->max_qps == 10.0);
  CHECK(preview.bound->bottleneck == PartId{2});
  CHECK(preview.bound->max_qps_half_duplex == 1000.0 / 120);
  CHECK(preview.bound->shared_qps == 1000.0 / 120);
  CHECK(preview.bound->shared_qps_half_duplex == 1000.0 / 180);
}

TEST_CASE("a value counts once however often it is read") {
  const auto [graph, partition, preview] = preview_of(R"(
    input x: float32[10]
    a0: float32[5] = f(x, x)
    a0b: float32[5] = f(x, a0)
    c1 = f(a0, a0)
    c1b = f(a0, a0b)
    output a0
  )");
  CHECK(preview.parts[PartId{0}].input_bytes == 40);
  CHECK(preview.parts[PartId{0}].output_bytes == 40);
}

TEST_CASE("a part that exchanges no bytes is not bound by the link") {
  const auto [graph, partition, preview] = preview_of("a0: float32[5] = f()");
  CHECK_FALSE(preview.parts[PartId{0}].qps);
  CHECK_FALSE(preview.bound);
}

TEST_CASE("a non-tensor, or a value of unknown size, is a hazard of accelerator parts") {
  const auto [graph, partition, preview] = preview_of(R"(
    input x: float32[n]
    input s: scalar
    a0: float32[5], a0t: tuple(float32[2]) = f(x, s)
    c1 = f(a0, a0t, x)
  )");
  std::string text;
  for (const Hazard& hazard : preview.parts[PartId{0}].hazards) {
    text += std::string(graph.value(hazard.value).name) + " " +
            std::to_string(static_cast<int>(hazard.kind)) + "; ";
  }
  CHECK(text == "x 2; s 0; a0t 1; ");
  CHECK(preview.parts[PartId{0}].input_bytes == 0);
  CHECK(preview.parts[PartId{0}].output_bytes == 20);
  CHECK(preview.parts[PartId{1}].hazards.empty());
}

TEST_CASE("coverage counts nodes, known FLOPs and parameter bytes") {
  const auto [graph, partition, preview] = preview_of(R"(
    input x: float32[10]
    param v: float32[1]
    param w: float32[2]
    param w2 = w
    param u: float32[4]
    const k: float32[4] = Cast(u)
    a0: float32[10] = Relu(x, v, w)
    a0b: float32[10] = mystery(a0, k, w2)
    c1: float32[20] = Relu(a0b, w)
    c1b: float32[20] = mystery(c1)
  )");
  const Coverages& coverage = preview.coverage;
  CHECK(coverage.nodes.acc == 2);
  CHECK(coverage.nodes.total == 4);
  CHECK(coverage.flops.acc == 10);
  CHECK(coverage.flops.total == 30);
  CHECK(coverage.flops.unknown == 2);
  CHECK(names_of(graph, std::span(coverage.unknown_flops_ops)) == "a0b");
  CHECK(coverage.parameter_bytes.acc == 4 + 8 + 16);
  CHECK(coverage.parameter_bytes.total == 4 + 8 + 16);
  CHECK(coverage.model_parameter_bytes == 28);
  CHECK(preview.parts[PartId{0}].parameter_bytes == 28);
  CHECK(preview.parts[PartId{1}].parameter_bytes == 8);
  CHECK(preview.parts[PartId{0}].unknown_flops == 1);
}

TEST_CASE("an empty model is fully covered and has no bound") {
  const auto [graph, partition, preview] = preview_of("input x\n output x");
  CHECK(preview.coverage.nodes.ratio() == 1);
  CHECK_FALSE(preview.bound);
  CHECK(preview.parts.size() == 0);
}

TEST_CASE("sums of bytes stop at the largest number instead of wrapping") {
  const auto [graph, partition, preview] = preview_of(R"(
    input a: int8[9223372036854775807]
    input b: int8[9223372036854775807]
    input c: int8[9223372036854775807]
    a0: float32[1] = f(a, b, c)
  )");
  CHECK(preview.parts[PartId{0}].input_bytes == 18446744073709551615u);
}

TEST_CASE("coverage can be computed for any set of nodes, without a partition") {
  const Graph graph =
      graph_from_text("input x\n a: float32[3] = Relu(x)\n b: float32[5] = Relu(x)");
  const Coverages coverage = cover(graph, nodes_named(graph, "b"));
  CHECK(coverage.flops.acc == 5);
  CHECK(coverage.flops.total == 8);
}

}  // namespace
}  // namespace cleave
