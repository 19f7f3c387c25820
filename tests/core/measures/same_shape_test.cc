#include "core/measures/same_shape.h"

#include <algorithm>
#include <random>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {
namespace {

// Each node's part is the number at the end of its name.
Partition partition_of(const Graph& graph, std::size_t count) {
  PerNode<PartId> part_of(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    part_of[node] = id_at<PartId>(static_cast<std::size_t>(graph.node(node).name.back() - '0'));
  }
  return make_partition(std::move(part_of), std::vector<std::string>(count, "part"),
                        std::vector<Device>(count, Device::acc));
}

// "0 0 2": for each part the first one of its shape.
std::string shapes_of(std::string_view text, std::size_t count) {
  const Graph graph = graph_from_text(text);
  const Partition partition = partition_of(graph, count);
  const SameShapes shapes = find_same_shapes(graph, partition, find_boundaries(graph, partition));
  std::string result;
  for (const PartId part : shapes.like) {
    result += (result.empty() ? "" : " ") + std::to_string(index(part));
  }
  std::size_t distinct = 0;
  for (const PartId part : partition.parts()) distinct += shapes.like[part] == part ? 1U : 0U;
  CHECK(shapes.distinct == distinct);
  CHECK(shapes.acc_parts == count);
  return result;
}

TEST_CASE("Parts that differ in names and weights only have the same shape") {
  CHECK(shapes_of(R"(
    input x
    param w
    param v
    a0 = f(x, w) {n=2, s="abcdefghij", r=[1.5, 2.5]}
    b0 = g(a0, x)
    c1 = f(b0, v) {n=2, s="abcdefghij", r=[1.5, 2.5]}
    d1 = g(c1, b0)
    output d1)",
                  2) == "0 0");
}

TEST_CASE("The order in the file does not matter") {
  CHECK(shapes_of(R"(
    input x
    a0 = f(x)
    b0 = g(x)
    c0 = h(a0, b0)
    d1 = g(c0)
    e1 = f(c0)
    i1 = h(e1, d1)
    output i1)",
                  2) == "0 0");
}

TEST_CASE("Parts that differ in op, attribute, dtype, shape or wiring have different shapes") {
  const std::string first = "input x\n param w\n a0 = f(x, w) {n=2}\n b0 = g(a0, a0)\n";
  const auto with = [&](const std::string& second) { return first + second + "\n output b1"; };
  CHECK(shapes_of(with("a1 = f(b0, w) {n=2}\n b1 = g(a1, a1)"), 2) == "0 0");
  for (const char* const other : {
           "a1 = F(b0, w) {n=2}\n b1 = g(a1, a1)",
           "a1 = f(b0, w) {n=3}\n b1 = g(a1, a1)",
           "a1 = f(b0, w) {n=2.0}\n b1 = g(a1, a1)",
           "a1 = f(b0, w)\n b1 = g(a1, a1)",
           "a1: float16[2,2] = f(b0, w) {n=2}\n b1 = g(a1, a1)",
           "a1: float32[2,3] = f(b0, w) {n=2}\n b1 = g(a1, a1)",
           "a1 = f(w, b0) {n=2}\n b1 = g(a1, a1)",
           "a1 = f(b0, k=w) {n=2}\n b1 = g(a1, a1)",
           "a1 = f(b0, w) {n=2}\n b1 = g(a1, b0)",
           "a1 = f(b0, w) {n=2, body}\n b1 = g(a1, a1)",
       }) {
    INFO(other);
    CHECK(shapes_of(with(other), 2) == "0 1");
  }
}

TEST_CASE("Outputs, and a value read twice, belong to a part's shape") {
  CHECK(shapes_of("input x\n a0 = f(x)\n b0 = f(a0)\n a1 = f(x)\n b1 = f(a1)\n output b0, b1, a1",
                  2) == "0 1");
  CHECK(shapes_of("input x\n input y\n a0 = f(x, x)\n a1 = f(x, y)\n output a0, a1", 2) == "0 1");
  CHECK(shapes_of("input x\n param w\n param v\n a0 = f(x, w, w)\n a1 = f(x, w, v)\n output a0, a1",
                  2) == "0 1");
}

TEST_CASE("Nodes with bodies or opaque attributes count as different") {
  CHECK(shapes_of("input x\n a0 = f(x) {body}\n a1 = f(x) {body}\n output a0, a1", 2) == "0 1");
  CHECK(shapes_of("input x\n a0 = If(x)\n | h = f(x)\n a1 = If(x)\n | i = f(x)\n output a0, a1",
                  2) == "0 1");
}

TEST_CASE("CPU parts are like themselves and are not counted") {
  const Graph graph = graph_from_text("input x\n a0 = f(x)\n a1 = f(a0)\n a2 = f(a1)\n output a2");
  Partition partition = partition_of(graph, 3);
  partition.devices[1] = Device::cpu;
  const SameShapes shapes = find_same_shapes(graph, partition, find_boundaries(graph, partition));
  CHECK(shapes.acc_parts == 2);
  CHECK(index(shapes.like[PartId{1}]) == 1);
}

// A random block: for each node its op and the nodes that it reads; -1 is the graph's input.
struct Block {
  std::vector<std::string> ops;
  std::vector<std::vector<int>> reads;
};

Block random_block(std::mt19937& rng) {
  Block block;
  const std::size_t size = 1 + rng() % 12;
  for (std::size_t i = 0; i < size; ++i) {
    block.ops.emplace_back(1, "fgh"[rng() % 3]);
    auto& reads = block.reads.emplace_back();
    for (std::size_t r = 1 + rng() % 2; r > 0; --r) {
      reads.push_back(static_cast<int>(rng() % (i + 1)) - 1);
    }
  }
  return block;
}

// The block as text, its lines in a random order with makers before readers.
std::string shuffled(const Block& block, int part, std::mt19937& rng) {
  const auto name = [&](int node) {
    return node < 0 ? std::string("x") : "n" + std::to_string(node) + "_" + std::to_string(part);
  };
  std::vector<bool> is_written(block.ops.size(), false);
  std::string text;
  for (std::size_t left = block.ops.size(); left > 0;) {
    const std::size_t node = rng() % block.ops.size();
    const auto is_there = [&](int read) {
      return read < 0 || is_written[static_cast<std::size_t>(read)];
    };
    const auto& reads = block.reads[node];
    if (is_written[node] || !std::all_of(reads.begin(), reads.end(), is_there)) continue;
    text += name(static_cast<int>(node)) + " = " + block.ops[node] + "(";
    for (std::size_t r = 0; r < reads.size(); ++r) text += (r == 0 ? "" : ", ") + name(reads[r]);
    text += ")\n";
    is_written[node] = true;
    --left;
  }
  return text;
}

TEST_CASE("A copy of any part is found in any order; one with another op is not") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 rng(seed);
    Block block = random_block(rng);
    const std::string first = "input x\n" + shuffled(block, 0, rng);
    const std::string text = first + shuffled(block, 1, rng);
    INFO("seed " << seed << "\n" << text);
    REQUIRE(shapes_of(text, 2) == "0 0");
    block.ops[rng() % block.ops.size()] = "z";
    REQUIRE(shapes_of(first + shuffled(block, 1, rng), 2) == "0 1");
  }
}

}  // namespace
}  // namespace cleave
