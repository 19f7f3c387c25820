#include "core/measures/inference_time.h"

#include <algorithm>
#include <set>

#include "core/cost/cost.h"
#include "core/cost/target_times.h"
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

InferenceTime time_of(double total_us, double all_cpu_us, std::size_t launches = 1) {
  InferenceTime time;
  time.without.total_us = total_us;
  time.without.all_cpu_us = all_cpu_us;
  time.without.launches = launches;
  time.basis.acc_unmatched.us = 10;
  time.basis.cpu_unmatched.us = 5;
  return time;
}

TEST_CASE(
    "A split is faster or slower than the CPU only if what no node includes cannot turn that") {
  CHECK(compared_with_cpu(time_of(89, 100)) == CpuVerdict::faster);
  CHECK(compared_with_cpu(time_of(90, 100)) == CpuVerdict::not_known);
  CHECK(compared_with_cpu(time_of(104, 100)) == CpuVerdict::not_known);
  CHECK(compared_with_cpu(time_of(105, 100)) == CpuVerdict::slower);
  // Without a part on the accelerator both are the CPU's time, with the same left out.
  CHECK(compared_with_cpu(time_of(99, 100, 0)) == CpuVerdict::faster);
  CHECK(compared_with_cpu(time_of(100, 100, 0)) == CpuVerdict::slower);
  CHECK(compared_with_cpu(time_of(101, 100, 0)) == CpuVerdict::slower);
  InferenceTime unknown = time_of(1, 2);
  unknown.without.all_cpu_us.reset();
  CHECK(compared_with_cpu(unknown) == CpuVerdict::not_known);
  unknown = time_of(1, 2);
  unknown.without.total_us.reset();
  CHECK(compared_with_cpu(unknown) == CpuVerdict::not_known);
  InferenceTime kept = time_of(200, 100);
  kept.with = time_of(50, 100).without;
  CHECK(compared_with_cpu(kept) == CpuVerdict::slower);
  kept.residency = Residency::on;
  CHECK(compared_with_cpu(kept) == CpuVerdict::faster);
}

// Nodes in a chain, of which all but b run on the accelerator.
struct Chain {
  Graph graph = graph_from_text(R"(
    input x: float32[250]
    a: float32[250] = Relu(x)
    b: float32[250] = Exp(a)
    c: float32[250] = Relu(b)
    d: float32[250] = Relu(c)
    output d)");

  InferenceTime time(std::initializer_list<double> cpu, std::initializer_list<double> acc,
                     double launch_us) const {
    SplitOptions options;
    options.min_acc_size = 1;
    SupportList list;
    list.allow.emplace_back().op = "*";
    list.deny.emplace_back().op = "Exp";
    const auto made = split_graph({graph, std::vector{list}, {}}, options);
    if (!made) FAIL(made.error().message);
    const Split& split = *made;
    TimeBasis basis;
    basis.machine.launch_us = launch_us;
    basis.machine.link_bytes_per_second = 1e9;
    MeasuredTimes cpu_us(graph.node_count(), -1), acc_us(graph.node_count(), -1);
    std::size_t i = 0;
    for (const double us : cpu) cpu_us[id_at<NodeId>(i++)] = us;
    i = 0;
    for (const double us : acc) acc_us[id_at<NodeId>(i++)] = us;
    basis.times = target_times(graph, basis.machine, cpu_us, acc_us);
    return inference_time(graph, split, options, basis);
  }
};

TEST_CASE("The best placement is no slower than the split, and says when the split is the best") {
  const Chain chain;
  // On the accelerator but for b: 30 + 3 us of nodes, two launches of 5, four transfers of 1.
  const InferenceTime good = chain.time({100, 30, 100, 100}, {1, 1, 1, 1}, 5);
  CHECK(*good.without.total_us == Approx(33 + 10 + 4));
  CHECK(*good.without.best_us == Approx(47));
  CHECK(*good.without.bound_us <= *good.without.best_us);
  CHECK(good.is_proved_best);
  CHECK(compared_with_cpu(good) == CpuVerdict::faster);
  // With dear launches one part is better, of c and d.
  const InferenceTime dear = chain.time({100, 30, 100, 100}, {1, 1, 1, 1}, 150);
  CHECK(*dear.without.total_us == Approx(33 + 300 + 4));
  CHECK(*dear.without.best_us == Approx(100 + 30 + 2 + 150 + 2));
  CHECK_FALSE(dear.is_proved_best);
  CHECK(*dear.without.all_cpu_us == Approx(330));
  CHECK(compared_with_cpu(dear) == CpuVerdict::slower);
}

TEST_CASE("Of a split whose times are not all known, no best placement is known") {
  const Chain chain;
  const InferenceTime time = chain.time({100, -1, 100, 100}, {1, 1, 1, 1}, 5);
  CHECK(time.without.total_us.has_value() ==
        time.basis.times.cpu.of(node_named(chain.graph, "b")).has_value());
  const InferenceTime none = chain.time({}, {}, 5);
  CHECK_FALSE(none.without.total_us);
  CHECK_FALSE(none.without.best_us);
  CHECK_FALSE(none.without.bound_us);
  CHECK_FALSE(none.is_proved_best);
}

TEST_CASE(
    "The shares of the times that were measured are of all nodes, and of those that may be moved") {
  const Chain chain;
  // b has a guess, the mean of its device: 60 on the CPU, and on the accelerator none counts.
  const InferenceTime half = chain.time({20, 40, -1, -1}, {3, -1, 1, -1}, 1);
  const DeviceTimes& cpu = half.basis.times.cpu;
  const DeviceTimes& acc = half.basis.times.acc;
  double all = 0;
  for (const NodeId node : chain.graph.nodes()) all += cpu.of(node).value_or(0);
  CHECK(all > 60);
  CHECK(*half.measured.cpu == Approx(60 / all));
  const double on_acc = acc.of(node_named(chain.graph, "d")).value_or(0);
  CHECK(on_acc > 0);
  CHECK(*half.measured.acc == Approx(4 / (4 + on_acc)));
  const InferenceTime none = chain.time({}, {}, 1);
  CHECK_FALSE(none.measured.cpu);
  CHECK_FALSE(none.measured.acc);
  const InferenceTime all_measured = chain.time({1, 1, 1, 1}, {1, -1, 1, 1}, 1);
  CHECK(*all_measured.measured.cpu == 1);
  CHECK(*all_measured.measured.acc == 1);
}

}  // namespace

}  // namespace cleave
