#include "core/stages/auto_shard.h"

#include <map>
#include <random>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {
namespace {

// The stage of each node, as digits.
std::string sharded(std::string_view text, std::uint32_t stages) {
  const Graph graph = graph_from_text(text);
  const AutoShards shards = shard_by_parameters(graph, stages);
  std::string digits;
  for (const std::uint32_t stage : shards.stage_of) digits += std::to_string(stage);
  return digits;
}

TEST_CASE("A stage ends once it holds more than its share of the parameters") {
  CHECK(sharded(R"(
    input x
    param p: float32[3]
    param q: float32[3]
    param r: float32[3]
    param s: float32[3]
    a = f(x) !p
    b = f(a) !q
    c = f(b) !r
    d = f(c) !s
    output d)",
                2) == "0001");
}

TEST_CASE("A stage that holds exactly its share takes more nodes") {
  CHECK(sharded("input x\n param p: float32[2]\n param q: float32[2]\n a = f(x) !p\n b = f(a)\n"
                "c = f(b) !q\n d = f(c)\n output d",
                2) == "0001");
}

TEST_CASE("A node that reads from an earlier stage joins it, with all nodes between") {
  constexpr const char* kText = R"(
    input x
    param p: float32[4]
    param q: float32[4]
    param r: float32[4]
    a = f(x) !p
    b = f(a) !q
    c = f(b) !r
    d = f(c, a)
    e = f(d)
    output e)";
  CHECK(sharded(kText, 4) == "00001");
}

TEST_CASE("Inputs in lists, keywords and the item just before do not reach back") {
  constexpr const char* kText = R"(
    input x
    param p: float32[4]
    param q: float32[4]
    a = f(x) !p
    b = f(a, [x], k=x) !q
    c = f(b)
    output c)";
  CHECK(sharded(kText, 4) == "012");
}

TEST_CASE("A node that reads an input of the graph reaches back to the first stage") {
  CHECK(sharded("input x\n param p: float32[4]\n a = f(x) !p\n b = f(a)\n c = f(b, x)\n output c",
                4) == "000");
}

TEST_CASE("A parameter counts once under all its names, where it is first used") {
  constexpr const char* kText = R"(
    input x
    param w: float32[4]
    param v = w
    param u: float32[4]
    const k = Cast(u)
    a = f(x, w)
    b = f(a, v)
    c = f(b, k)
    d = f(c)
    output d)";
  const Graph graph = graph_from_text(kText);
  const AutoShards shards = shard_by_parameters(graph, 3);
  CHECK(shards.share == 2);
  CHECK(shards.count == 3);
  CHECK(shards.largest == 4);
  CHECK(sharded(kText, 3) == "0112");
}

TEST_CASE("Without parameters there is one stage, and without nodes none") {
  CHECK(sharded("input x\n a = f(x)\n b = f(a)\n output b", 4) == "00");
  CHECK(shard_by_parameters(graph_from_text("input x\n output x"), 4).count == 0);
}

// ---- the method again in the reference's form: quadratic ----

std::vector<std::uint32_t> plain_shards(const Graph& graph, std::uint32_t stages) {
  const std::size_t inputs = graph.inputs().size();
  std::uint64_t total = 0;
  for (const ValueId p : graph.parameters()) {
    if (graph.canonical_parameter(p) == p && graph.has_rank(p)) {
      total += element_count(graph.shape(p)).value_or(0);
    }
  }
  std::vector<std::uint32_t> shard(inputs, 0);  // by item
  std::vector<std::uint64_t> held(inputs, 0);
  ValueSet counted(graph.value_count());
  std::uint32_t current = 0;
  for (const NodeId node : graph.nodes()) {
    const std::size_t item = inputs + index(node);
    std::uint32_t least = current;
    std::size_t from = 0;
    for (const Operand& operand : graph.operands(node)) {
      const Value& value = graph.value(operand.value);
      if (!operand.slot.is_positional() || operand.slot.is_inside_list()) continue;
      if (value.kind == ValueKind::parameter) continue;
      const std::size_t at =
          value.kind == ValueKind::input ? index(operand.value) : inputs + index(value.producer);
      if (at + 1 == item || shard[at] >= least) continue;
      least = shard[at];
      from = at;
    }
    if (least < current) {
      for (std::size_t i = item; i-- > from;) shard[i] = least;
      current = least;
    }
    std::uint64_t own = 0;
    const auto count = [&](ValueId p) {
      if (!graph.is_parameter(p) || !counted.insert(graph.canonical_parameter(p))) return;
      if (graph.has_rank(p)) own += element_count(graph.shape(p)).value_or(0);
    };
    for (const ValueId p : graph.module_parameters(node)) count(p);
    for (const Operand& operand : graph.operands(node)) count(operand.value);
    shard.push_back(current);
    held.push_back(own);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i <= item; ++i) sum += shard[i] == current ? held[i] : 0;
    if (sum > total / stages) ++current;
  }
  return {shard.begin() + static_cast<std::ptrdiff_t>(inputs), shard.end()};
}

// A chain with shortcuts: most nodes own a parameter, some read further back, or an input.
std::string random_chain(std::mt19937& random) {
  std::string text = "input x\n input y\n";
  const std::size_t nodes = 1 + random() % 25;
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::string name = "n" + std::to_string(i);
    text += "param p" + std::to_string(i) + ": float32[" + std::to_string(random() % 9) + "]\n";
    text += name + " = f(" + (i == 0 ? "x" : "n" + std::to_string(i - 1));
    if (i > 1 && random() % 10 == 0) text += ", n" + std::to_string(random() % i);
    if (random() % 64 == 0) text += ", y";
    if (i > 1 && random() % 4 == 0) text += ", [n" + std::to_string(random() % i) + "]";
    const std::size_t owned = random() % 8 == 0 ? random() % (i + 1) : i;
    text += random() % 5 == 0 ? ")\n" : ") !p" + std::to_string(owned) + "\n";
  }
  return text + "output n0";
}

TEST_CASE("Stages of random chains agree with a plain second implementation") {
  std::mt19937 random(20261121);
  std::map<std::uint32_t, int> counts;
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_chain(random);
    INFO(text);
    const Graph graph = graph_from_text(text);
    const auto stages = static_cast<std::uint32_t>(1 + random() % 6);
    const AutoShards shards = shard_by_parameters(graph, stages);
    CHECK(std::vector<std::uint32_t>(shards.stage_of.begin(), shards.stage_of.end()) ==
          plain_shards(graph, stages));
    CHECK(shards.count <= stages);
    ++counts[shards.count];
  }
  CHECK(counts.size() >= 4);  // stages overfill: the last ones asked for are rarely reached
}

}  // namespace
}  // namespace cleave
