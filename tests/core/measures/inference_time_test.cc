#include "core/measures/inference_time.h"

#include <algorithm>
#include <set>

#include "core/cost/cost.h"
#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {
namespace {

Partition split_of(const Graph& graph, Support support) {
  const Fusions fusions =
      find_fusions(graph, {std::move(support.supported), std::move(support.reasons)}, {});
  return make_partition(split_subgraphs(graph, fusions, {}).subgraphs, {});
}

// What the accelerator holds while the lists are replayed; throws nothing, checks everything.
class Replay {
 public:
  Replay(const Graph& graph, const Partition& partition, const Boundaries& boundaries)
      : graph_(graph), partition_(partition), boundaries_(boundaries) {}

  void run(const ResidencyPlan& plan) {
    std::uint64_t peak = 0;
    for (const PartId part : partition_.parts()) {
      if (partition_.is_acc(part)) {
        peak = std::max(peak, run_part(part, plan));
        continue;
      }
      REQUIRE(plan.keep[part].empty());
      REQUIRE(plan.resident[part].empty());
      REQUIRE(plan.free[part].empty());
    }
    REQUIRE(peak == plan.peak_bytes);
    REQUIRE(held_.empty());
  }

 private:
  std::uint64_t run_part(PartId part, const ResidencyPlan& plan) {
    for (const ValueId value : plan.resident[part]) REQUIRE(held_.count(value) == 1);
    const auto resident = plan.resident[part];
    for (const ValueId value : boundaries_.inputs[part]) {
      const bool is_there = std::find(resident.begin(), resident.end(), value) != resident.end();
      if (!is_there) REQUIRE(held_.insert(value).second);  // else it is sent in vain
    }
    for (const NodeId node : partition_.nodes(part)) read_by(node, part);
    for (const ValueId value : boundaries_.outputs[part]) held_.insert(value);
    std::uint64_t bytes = 0;
    for (const ValueId value : held_) bytes += value_bytes(graph_, value).value_or(0);
    for (const ValueId value : plan.free[part]) REQUIRE(held_.erase(value) == 1);
    for (const ValueId value : plan.keep[part]) REQUIRE(held_.count(value) == 1);
    return bytes;
  }

  void read_by(NodeId node, PartId part) const {
    for (const Operand& operand : graph_.operands(node)) {
      const Value& value = graph_.value(operand.value);
      if (value.kind == ValueKind::parameter) continue;
      const bool is_own =
          value.kind == ValueKind::node_output && partition_.part_of[value.producer] == part;
      REQUIRE((is_own || held_.count(operand.value) == 1));
    }
  }

  const Graph& graph_;
  const Partition& partition_;
  const Boundaries& boundaries_;
  std::set<ValueId> held_;
};

TEST_CASE("A value stays until its last reader on the accelerator has run") {
  const Graph graph = graph_from_text(R"(
    input x: float32[1000]
    a: float32[500] = f(x)
    b: float32[250] = cpu(a)
    c: float32[100] = f(b, x)
    d: float32[100] = cpu(c)
    e: float32[100] = f(d, a)
    output e)");
  const Partition partition = split_of(graph, support_all_but(graph, "b d"));
  const Boundaries boundaries = find_boundaries(graph, partition);
  const ResidencyPlan plan = plan_residency(graph, partition, boundaries);
  const auto lists = [&](PartId part) {
    return "keep " + names_of(graph, plan.keep[part]) + ", resident " +
           names_of(graph, plan.resident[part]) + ", free " + names_of(graph, plan.free[part]);
  };
  CHECK(lists(PartId{0}) == "keep x a, resident , free ");
  CHECK(lists(PartId{1}) == "keep , resident , free ");
  CHECK(lists(PartId{2}) == "keep , resident x, free b x c");
  CHECK(lists(PartId{4}) == "keep , resident a, free d a e");
  CHECK(plan.peak_bytes == 4 * (1000 + 500 + 250 + 100));
  CHECK(plan.peak_part == PartId{2});
}

TEST_CASE("Replaying the plan of any split reads no absent value and has the planned peak") {
  for (std::uint32_t seed = 0; seed < 10'000; ++seed) {
    const RandomGraph random = random_graph(seed, 25);
    const Partition partition = split_of(random.graph, random.support);
    const Boundaries boundaries = find_boundaries(random.graph, partition);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    Replay(random.graph, partition, boundaries)
        .run(plan_residency(random.graph, partition, boundaries));
  }
}

}  // namespace

}  // namespace cleave
