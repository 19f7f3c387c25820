#include <algorithm>
#include <memory>
#include <set>

#include "core/cost/cost.h"
#include "core/measures/measures.h"
#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {

// ---- inference time test ----

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

// ---- measures test ----

namespace {

TEST_CASE("tensors of which a dim or the rank is not known are listed in order") {
  const Graph graph = graph_from_text(R"(
    input x: float32[1,n]
    input y: float32[2,3]
    input z: float32
    input s: scalar
    param w: float32[?]
    a: float32[2,?] = f(x, w)
    b: float32[] = f(a)
    c: scalar = f(b)
    d: float32[1,2,m] = f(c, y, z, s)
    output d)");
  CHECK(names_of(graph, values_of_unknown_shape(graph)) == "x z a d");
}

}  // namespace

// ---- preview test ----

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

TEST_CASE("what hides in the bodies of a node of unknown FLOPs is counted") {
  const auto [graph, partition, preview] = preview_of(R"(
    input x: float32[10]
    a0: float32[10] = Relu(x)
    b0: float32[10] = If(a0, ^x)
    | h: float32[10] = Relu(x)
    | i: float32[10] = Relu(h)
  )");
  const FlopsCoverage& flops = preview.coverage.flops;
  CHECK(flops.computing == 1);
  CHECK(flops.unknown == 1);
  CHECK(flops.inside == 2);
  CHECK_FALSE(flops.are_known());
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

// ---- worth test ----

namespace {

const OpFacts kNoFacts;

struct SplitCase {
  Graph graph;
  Split split;
  Preview preview;
};

SplitCase split_case(const char* text, const char* op) {
  Graph graph = graph_from_text(text);
  SupportList list;
  list.allow.emplace_back().op = op;
  const std::vector<SupportList> lists = {list};
  auto split = split_graph({graph, lists, {}}, {});
  REQUIRE(split);
  Preview preview = preview_split(graph, split->partition, split->boundaries, default_link());
  return {std::move(graph), *std::move(split), std::move(preview)};
}

WorthVerdict judged(const Graph& graph, const std::vector<SupportList>& lists,
                    const OpFacts& facts) {
  const auto split = split_graph({graph, lists, facts}, {});
  REQUIRE(split);
  const Preview preview = preview_split(graph, split->partition, split->boundaries, default_link());
  const auto verdict = judge_worth(
      {.graph = graph, .split = *split, .preview = preview, .lists = lists, .facts = facts});
  REQUIRE(verdict);
  return *verdict;
}

WorthVerdict judged(const SplitCase& of, const InferenceTime* time = nullptr) {
  auto verdict = judge_worth({.graph = of.graph,
                              .split = of.split,
                              .preview = of.preview,
                              .facts = kNoFacts,
                              .time = time});
  REQUIRE(verdict);
  return *std::move(verdict);
}

Worth answer_of(const WorthVerdict& verdict, WorthCriterion::Kind kind) {
  for (const WorthCriterion& criterion : verdict.criteria) {
    if (criterion.kind == kind) return criterion.answer;
  }
  FAIL("no such criterion");
  return Worth::no;
}

TEST_CASE("A split with all work in one partition, and much of it for each byte, is worth it") {
  const auto made = split_case(R"(
    input x: float32[512,512]
    param w: float32[512,512]
    a: float32[512,512] = MatMul(x, w)
    b: float32[512,512] = MatMul(a, w)
    output b)",
                               "MatMul");
  const WorthVerdict verdict = judged(made);
  CHECK(verdict.answer == Worth::yes);
  REQUIRE(verdict.criteria.size() == 3);
  CHECK(verdict.criteria[0].value == 1);
  CHECK(verdict.criteria[1].value == 1);
  CHECK(verdict.criteria[2].value == 2 * 2.0 * 512 * 512 * 512 / (2 * 512 * 512 * 4));
  CHECK(verdict.blamed_partitions == 0);
}

TEST_CASE(
    "Less work than a call costs is never a yes, and a stated time of a launch says how much that "
    "is") {
  const auto made = split_case(R"(
    input x: float32[64,64]
    param w: float32[64,64]
    a: float32[64,64] = MatMul(x, w)
    b: float32[64,64] = MatMul(a, w)
    output b)",
                               "MatMul");
  const WorthVerdict verdict = judged(made);
  CHECK(verdict.answer == Worth::maybe);
  CHECK(verdict.call_work == 25e6);
  CHECK(answer_of(verdict, WorthCriterion::Kind::partitions) == Worth::maybe);
  CHECK(answer_of(verdict, WorthCriterion::Kind::intensity) == Worth::yes);
  // 1 MFLOP are more than a CPU does in a microsecond.
  const WorthCase quick{.graph = made.graph,
                        .split = made.split,
                        .preview = made.preview,
                        .facts = kNoFacts,
                        .launch_us = 1};
  CHECK(judge_worth(quick)->answer == Worth::yes);
  // Where FLOPs are not known, a few nodes are as little.
  const auto nodes = split_case("input x\n a = f(x)\n output a", "f");
  CHECK(judged(nodes).basis == WorkBasis::nodes);
  CHECK(judged(nodes).answer == Worth::maybe);
}

TEST_CASE("An op that a runtime puts in the place of others is blamed for their partitions, too") {
  OpFacts facts;
  facts.function_body = [](const Graph& graph, NodeId node) -> std::shared_ptr<const FunctionBody> {
    if (graph.op(node) != "sw") return nullptr;
    return std::make_shared<FunctionBody>(
        FunctionBody{graph_from_text("input u\n v = h(u)\n w = m(u, v)\n output w"), {}});
  };
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x)
    b = sw(a)
    c = f(b)
    d = h(c)
    e = f(d)
    output e)");
  std::vector<SupportList> lists(1);
  lists[0].view = GraphView::onnxruntime;
  const auto blamed = [&](std::initializer_list<const char*> ops) {
    lists[0].allow.clear();
    for (const char* const op : ops) lists[0].allow.emplace_back().op = op;
    const WorthVerdict verdict = judged(graph, lists, facts);
    return verdict.blamed + " " + std::to_string(verdict.blamed_partitions);
  };
  CHECK(blamed({"f", "m"}) == "h 2");
  CHECK(blamed({"f"}) == "h 1");  // the other lacks m, too
}

TEST_CASE("What is refused for the opset alone was not measured: the answer is no NO") {
  const Graph graph = graph_from_text(
      "opset \"\" 21\n"
      R"(
    input x: float32[64,64]
    a: float32[64,64] = Relu(x)
    b: float32[64,64] = Erf(a)
    output b)");
  std::vector<SupportList> lists(1);
  lists[0].allow.emplace_back().op = "Relu";
  const auto verdict_with = [&](std::optional<OpsetRule> opset) {
    lists[0].allow[0].opset = opset;
    return judged(graph, lists, {});
  };
  const WorthVerdict verdict = verdict_with(OpsetRule{.lowest = 9, .highest = 20});
  CHECK(verdict.answer == Worth::maybe);
  CHECK(verdict.other_opset == 1);
  CHECK(verdict_with(std::nullopt).other_opset == 0);
}

TEST_CASE(
    "What a runtime takes out of the graph makes no NO, unless the lists are about its graph") {
  const Graph graph = graph_from_text(R"(
    input x: float32[64,64]
    a: float32[64,64] = MatMul(x, x)
    b: float32[64,64] = Identity(a)
    c: float32[64,64] = MatMul(b, b)
    d: float32[64,64] = Identity(c)
    e: float32[64,64] = MatMul(d, d)
    output e)");
  OpFacts facts;
  facts.runtime_host = [](const Graph& of, NodeId node) {
    return of.op(node) == "Identity" ? of.value(of.operands(node)[0].value).producer
                                     : kNone<NodeId>;
  };
  std::vector<SupportList> lists(1);
  lists[0].allow.emplace_back().op = "MatMul";
  const WorthVerdict verdict = judged(graph, lists, facts);
  CHECK(verdict.answer == Worth::maybe);
  CHECK(verdict.merged == 2);
  const auto trials =
      try_options(std::vector<ModelToSplit>{{graph, facts}}, {}, lists, {}, default_link());
  REQUIRE(trials);
  REQUIRE(trials->best() != nullptr);
  CHECK(trials->best()->kind == OptionTrial::Kind::as_runtime);
  CHECK(trials->best()->then.acc_subgraphs == 1);
  lists[0].view = GraphView::onnxruntime;
  const auto again = split_graph({graph, lists, facts}, {});
  REQUIRE(again);
  CHECK(again->partition.count() == 1);
}

TEST_CASE("Partitions that one op separates are too many, and the op is named") {
  const auto made = split_case(R"(
    input x: float32[64,64]
    param w: float32[64,64]
    a: float32[64,64] = MatMul(x, w)
    b: float32[64,64] = Softmax(a)
    c: float32[64,64] = MatMul(b, w)
    d: float32[64,64] = Softmax(c)
    e: float32[64,64] = MatMul(d, w)
    f: float32[64,64] = Erf(e)
    output f)",
                               "MatMul");
  const WorthVerdict verdict = judged(made);
  CHECK(verdict.answer == Worth::no);
  CHECK(answer_of(verdict, WorthCriterion::Kind::work) == Worth::yes);
  CHECK(answer_of(verdict, WorthCriterion::Kind::partitions) == Worth::no);
  CHECK(verdict.blamed == "Softmax");
  CHECK(verdict.blamed_partitions == 2);
}

TEST_CASE("Work that is less than moving its bytes is not worth it, however whole the split is") {
  const auto made = split_case(R"(
    input x: float32[64,64]
    a: float32[64,64] = Relu(x)
    output a)",
                               "Relu");
  const WorthVerdict verdict = judged(made);
  CHECK(verdict.answer == Worth::no);
  CHECK(answer_of(verdict, WorthCriterion::Kind::partitions) == Worth::maybe);
  CHECK(answer_of(verdict, WorthCriterion::Kind::intensity) == Worth::no);
}

TEST_CASE(
    "Where FLOPs are not known the share is that of the nodes, and nothing is said of bytes") {
  const auto made = split_case(R"(
    input x: float32[N,64]
    a: float32[N,64] = MatMul(x, x)
    b: float32[N,64] = Odd(a)
    output b)",
                               "MatMul");
  const WorthVerdict verdict = judged(made);
  REQUIRE(verdict.criteria.size() == 2);
  CHECK(verdict.criteria[0].value == 0.5);
  CHECK(verdict.answer == Worth::maybe);
}

TEST_CASE("Several partitions are few where each has much work, whatever the number of nodes") {
  const auto made = split_case(R"(
    input x: float32[512,1024]
    param w: float32[1024,1024]
    a: float32[512,1024] = MatMul(x, w)
    b: float32[512,1024] = Dropout(a)
    c: float32[512,1024] = MatMul(b, w)
    d: float32[512,1024] = Dropout(c)
    e: float32[512,1024] = MatMul(d, w)
    output e)",
                               "MatMul");
  const WorthVerdict verdict = judged(made);
  CHECK(verdict.answer == Worth::yes);
  CHECK(verdict.basis == WorkBasis::flops);
  CHECK(verdict.acc_work == 3 * 2.0 * 512 * 1024 * 1024);
  REQUIRE(verdict.criteria.size() == 3);
  CHECK(verdict.criteria[1].value == 3);
  CHECK(verdict.criteria[1].yes == 12);
  CHECK(verdict.criteria[1].maybe == 64);
}

TEST_CASE("Open dims are judged at their first sizes, before nodes are counted") {
  const auto made = split_case(R"(
    input x: float32[N,64]
    param w: float32[64,64]
    a: float32[N,64] = MatMul(x, w)
    b: float32[N,64] = Relu(a)
    output b)",
                               "MatMul");
  OpenSizes sizes;
  sizes.names = {"N"};
  sizes.flops.at_first = 8256e4;
  sizes.acc_flops.at_first = 8192e4;
  sizes.parts = PerPart<OpenPart>(made.split.partition.count());
  for (const PartId part : made.split.partition.parts()) {
    (*sizes.parts)[part].input_bytes.at_first = 256e4;
    (*sizes.parts)[part].output_bytes.at_first = 256e4;
  }
  const auto verdict = judge_worth({.graph = made.graph,
                                    .split = made.split,
                                    .preview = made.preview,
                                    .facts = kNoFacts,
                                    .sizes = &sizes});
  REQUIRE(verdict);
  CHECK(verdict->basis == WorkBasis::flops_at_first);
  REQUIRE(verdict->criteria.size() == 3);
  CHECK(verdict->criteria[0].value == 8192.0 / 8256);
  CHECK(verdict->criteria[2].value == 8192.0 / 512);
  CHECK(verdict->answer == Worth::yes);
  sizes.flops.is_partial = true;
  for (const PartId part : made.split.partition.parts()) {
    (*sizes.parts)[part].flops.is_partial = made.split.partition.is_acc(part);
  }
  const auto least = judge_worth({.graph = made.graph,
                                  .split = made.split,
                                  .preview = made.preview,
                                  .facts = kNoFacts,
                                  .sizes = &sizes});
  REQUIRE(least);
  CHECK(least->is_at_least);
  CHECK(least->criteria.size() == 2);
  for (const PartId part : made.split.partition.parts()) {
    (*sizes.parts)[part].flops.is_partial = !made.split.partition.is_acc(part);
  }
  const auto partial = judge_worth({.graph = made.graph,
                                    .split = made.split,
                                    .preview = made.preview,
                                    .facts = kNoFacts,
                                    .sizes = &sizes});
  REQUIRE(partial);
  CHECK(partial->basis == WorkBasis::nodes);
  CHECK(partial->criteria[0].value == 0.5);
}

TEST_CASE("Where times are known they alone decide") {
  const auto made = split_case(R"(
    input x: float32[64,64]
    a: float32[64,64] = Relu(x)
    output a)",
                               "Relu");
  InferenceTime time;
  const auto speedup = [&](double with, double on_cpu) {
    time.without.total_us = with;
    time.without.all_cpu_us = on_cpu;
    const WorthVerdict verdict = judged(made, &time);
    REQUIRE(verdict.criteria.size() == 1);
    CHECK(verdict.criteria[0].value == on_cpu / with);
    return verdict.answer;
  };
  CHECK(speedup(10, 20) == Worth::yes);
  CHECK(speedup(10, 10.5) == Worth::maybe);
  CHECK(speedup(10, 9) == Worth::no);
  time.without.total_us = std::nullopt;
  CHECK(judged(made, &time).criteria.size() == 3);
  // All on the CPU takes as long as the CPU alone.
  const auto none = split_case("input x: float32[2]\n a: float32[2] = Relu(x)\n output a", "f");
  time.without.total_us = time.without.all_cpu_us = 10;
  CHECK(judged(none, &time).answer == Worth::no);
}

TEST_CASE("Nothing on the accelerator is a no, and a model without nodes has no verdict") {
  const auto none = split_case("input x: float32[2]\n a: float32[2] = Relu(x)\n output a", "f");
  const WorthVerdict verdict = judged(none);
  CHECK(verdict.answer == Worth::no);
  REQUIRE(verdict.criteria.size() == 1);
  CHECK(verdict.criteria[0].value == 0);
  const auto empty = split_case("input x: float32[2]\n output x", "f");
  CHECK_FALSE(judge_worth(
      {.graph = empty.graph, .split = empty.split, .preview = empty.preview, .facts = kNoFacts}));
}

}  // namespace

}  // namespace cleave
