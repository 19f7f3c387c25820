#include "core/split/split.h"

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {

namespace {

SupportList list_of(const std::vector<std::string>& ops) {
  SupportList list;
  for (const std::string& op : ops) list.allow.emplace_back().op = op;
  return list;
}

// Targets with one list each.
class Devices {
 public:
  void add(const std::string& name, const std::vector<std::string>& ops,
           std::optional<std::uint64_t> most_nodes = std::nullopt) {
    lists_.push_back(list_of(ops));
    lists_.back().limits.most[static_cast<std::size_t>(PartLimit::nodes)] = most_nodes;
    targets.push_back({.name = name, .first_list = lists_.size() - 1, .end_list = lists_.size()});
    options.target_prefixes.push_back(name + "_");
  }

  Result<Split> try_split(const Graph& graph, const TargetTimes* times = nullptr,
                          const NodeSet* required = nullptr) const {
    return split_graph({.graph = graph,
                        .lists = lists_,
                        .facts = {},
                        .times = times,
                        .required = required,
                        .targets = targets,
                        .required_on = required_on},
                       options);
  }
  Split split(const Graph& graph, const TargetTimes* times = nullptr,
              const NodeSet* required = nullptr) const {
    auto result = try_split(graph, times, required);
    REQUIRE(result.has_value());
    return *std::move(result);
  }
  const std::vector<SupportList>& lists() const { return lists_; }

  std::vector<Target> targets;
  std::vector<std::vector<NodeId>> required_on;
  SplitOptions options;

 private:
  std::vector<SupportList> lists_;
};

// "npu_0: a b | cpu_1: c"
std::string parts_of(const Graph& graph, const Split& split) {
  std::string text;
  for (const PartId part : split.partition.parts()) {
    text += (text.empty() ? "" : " | ") + split.partition.name(part) + ":";
    for (const NodeId node : split.partition.nodes(part)) {
      text += " " + std::string(graph.node(node).name);
    }
  }
  return text;
}

TEST_CASE("Each target is asked for what those before it left") {
  const Graph graph = graph_from_text(R"(
    input x
    a = conv(x)
    b = resize(a)
    c = conv(b)
    d = nms(c)
    output d)");
  Devices devices;
  devices.add("npu_", {"conv"});
  devices.add("gpu_", {"conv", "resize"});
  devices.options.non_acc_prefix = "cpu_";
  devices.options.target_prefixes = {"npu_", "gpu_"};
  const Split split = devices.split(graph);
  CHECK(parts_of(graph, split) == "npu_0: a | gpu_1: b | npu_2: c | cpu_3: d");
  CHECK(describe(graph, split.targets[0].reasons) == "b: no_rule\nd: no_rule\n");
  CHECK(describe(graph, split.targets[1].reasons) == "d: no_rule\n");
  CHECK(describe(graph, split.reasons) == "d: no_rule\n");
  CHECK(split.least_acc_parts == 3);
}

TEST_CASE("A target that accepts nothing changes nothing") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_graph(seed, 14).graph;
    std::vector<std::string> ops;
    for (const NodeId node : graph.nodes()) {
      if ((index(node) * 7 + seed) % 3 != 0) ops.emplace_back(graph.op(node));
    }
    for (const std::size_t least : {1U, 3U}) {
      for (const std::size_t most : {std::size_t{2}, SplitOptions::kUnlimited}) {
        Devices devices;
        devices.add("npu", {"no such op"});
        devices.add("gpu", ops);
        for (Target& target : devices.targets) {
          target.min_acc_size = least;
          target.most_kept = most;
        }
        SplitOptions alone = devices.options;
        alone.acc_prefix = "gpu_";
        alone.target_prefixes.clear();
        alone.min_acc_size = least;
        alone.most_kept = most;
        const std::vector<SupportList> lists = {list_of(ops)};
        const auto one = split_graph({.graph = graph, .lists = lists, .facts = {}}, alone);
        REQUIRE(one.has_value());
        const Split two = devices.split(graph);
        CHECK(parts_of(graph, two) == parts_of(graph, *one));
      }
    }
  }
}

TEST_CASE("No value flows to an earlier part, and each node is on a target that takes it") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const Graph graph = random_graph(seed, 14).graph;
    std::vector<std::vector<std::string>> ops(3);
    for (const NodeId node : graph.nodes()) {
      for (std::uint32_t i = 0; i < 3; ++i) {
        if ((index(node) * 5 + seed + i * 3) % (2 + i) == 0) ops[i].emplace_back(graph.op(node));
      }
    }
    Devices devices;
    devices.add("npu", ops[0]);
    devices.add("gpu", ops[1]);
    devices.add("dsp", ops[2]);
    devices.targets[0].min_acc_size = seed % 4;
    devices.targets[1].most_kept = 1 + seed % 2;
    const Split split = devices.split(graph);
    const auto fine = check_partition(graph, split.partition, nullptr);
    CHECK(fine.has_value());
    std::size_t on_gpu = 0;
    for (const PartId part : split.partition.parts()) {
      const TargetId target = split.partition.target(part);
      if (target == kNone<TargetId>) continue;
      on_gpu += target == TargetId{1} ? 1 : 0;
      CHECK((target != TargetId{0} || split.partition.nodes(part).size() >= seed % 4));
      for (const NodeId node : split.partition.nodes(part)) {
        CHECK(split.targets[index(target)].support.supported.contains(node));
        CHECK(split.targets[index(target)].reasons[node].code == ReasonCode::none);
      }
    }
    CHECK(on_gpu <= devices.targets[1].most_kept);
    for (const NodeId node : graph.nodes()) {
      const bool is_on_cpu = !split.partition.is_acc(split.partition.part_of[node]);
      CHECK((split.reasons[node].code != ReasonCode::none) == is_on_cpu);
    }
  }
}

TEST_CASE("A part that is too small goes to the next target that takes all of it") {
  const Graph graph = graph_from_text(R"(
    input x
    a = conv(x)
    b = relu(a)
    c = pool(b)
    d = conv(c)
    output d)");
  Devices devices;
  devices.add("npu", {"conv", "relu"});
  devices.add("gpu", {"pool", "conv"});
  devices.targets[0].min_acc_size = 2;
  const Split split = devices.split(graph);
  CHECK(parts_of(graph, split) == "npu_0: a b | gpu_1: c d");
  CHECK(split.targets[0].reasons[NodeId{3}].code == ReasonCode::small_subgraph);
}

TEST_CASE("Data that is no tensor stays on one device, and groups stay whole") {
  const Graph graph = graph_from_text(R"(
    input x
    n = f(x)
    s: scalar = size(n)
    a = g(x)
    c = view(a, s)
    output c)");
  Devices devices;
  devices.add("npu", {"f", "size"});
  devices.add("gpu", {"g", "view", "size"});
  const Split split = devices.split(graph);
  CHECK(parts_of(graph, split) == "npu_0: n | gpu_1: s a c");
  CHECK(split.targets[0].reasons[NodeId{1}].code == ReasonCode::non_tensor_output);
}

// Times and machines of an npu and a gpu.
struct Numbers {
  explicit Numbers(const Graph& graph, std::uint32_t seed) {
    const auto all = [&](double us) {
      DeviceTimes on_device{PerNode<double>(graph.node_count(), 0),
                            PerNode<TimeOrigin>(graph.node_count(), TimeOrigin::measured)};
      for (const NodeId node : graph.nodes())
        on_device.us[node] = us * (1 + (index(node) + seed) % 7);
      return on_device;
    };
    times = {.cpu = all(10), .acc = all(1), .later = {all(1.5)}};
  }
  TargetTimes times;
};

TEST_CASE(
    "Placed by cost, several targets take no longer than in order, and keep to their memory") {
  int limited = 0;
  for (std::uint32_t seed = 0; seed < 24; ++seed) {
    const Graph graph = random_graph(seed, 14).graph;
    std::vector<std::vector<std::string>> ops(2);
    for (const NodeId node : graph.nodes()) {
      for (std::uint32_t i = 0; i < 2; ++i) {
        if ((index(node) * 5 + seed + i * 3) % 3 != 0) ops[i].emplace_back(graph.op(node));
      }
    }
    Devices devices;
    devices.add("npu", ops[0]);
    devices.add("gpu", ops[1]);
    const Numbers numbers(graph, seed);
    SplitOptions& latency = devices.options;
    latency.machine = {.launch_us = 4, .link_bytes_per_second = 1e8};
    latency.later = {{.launch_us = 2, .link_bytes_per_second = 4e8}};
    const auto input = [&] {
      return LatencyInput{numbers.times, latency.machine, latency.residency, latency.later};
    };
    const auto us = [&](const Split& split) {
      return cleave::latency(graph, split.partition, split.boundaries, input()).total_us;
    };
    const Split in_order = devices.split(graph, &numbers.times);
    devices.options.place = PlaceBy::cost;
    const Split free = devices.split(graph, &numbers.times);
    INFO("seed " << seed);
    if (free.targets.empty() || !free.placement || !us(free)) continue;
    CHECK(*us(free) <= *us(in_order) * (1 + 1e-9));
    CHECK(*us(free) >= free.placement->bound_us * (1 - 1e-9));
    const auto peaks = device_use(graph, free.partition, input()).peak_bytes;
    latency.machine.acc_memory = peaks[0] / 2;
    latency.later[0].acc_memory = peaks[1] / 2;
    const Split fitting = devices.split(graph, &numbers.times);
    CHECK(!fitting.unfit);
    const auto held = device_use(graph, fitting.partition, input()).peak_bytes;
    CHECK(held[0] <= peaks[0] / 2);
    CHECK(held[1] <= peaks[1] / 2);
    ++limited;
  }
  CHECK(limited > 8);
}

TEST_CASE("Where required nodes do not fit, what they need is known") {
  const Graph graph = graph_from_text(R"(
    input x: float32[100]
    param w: float32[1000]
    a: float32[100] = f(x, w)
    b: float32[100] = g(a)
    output b)");
  Devices devices;
  devices.add("npu", {"f"});
  devices.add("gpu", {"g"});
  const Numbers numbers(graph, 0);
  devices.options.place = PlaceBy::cost;
  devices.options.machine = {.launch_us = 4, .acc_memory = 1000};
  devices.options.later = {{.launch_us = 4}};
  CHECK(!devices.split(graph, &numbers.times).unfit);
  NodeSet required(graph.node_count());
  required.insert(node_named(graph, "a"));
  const Split split = devices.split(graph, &numbers.times, &required);
  REQUIRE(split.unfit);
  CHECK(split.unfit->bytes[0] == 4000 + 800);
}

// By node, why the target that could run it does not; nullopt where the reason is another, or none.
std::vector<std::optional<Elsewhere>> elsewhere(const Graph& graph, const Split& split,
                                                std::size_t target) {
  std::vector<std::optional<Elsewhere>> found;
  for (const NodeId node : graph.nodes()) {
    const Reason& reason = split.targets[target].reasons[node];
    found.emplace_back();
    if (reason.code == ReasonCode::costs_more) found.back() = reason.elsewhere;
  }
  return found;
}

// One node with a weight of 4,000 bytes and one after it, both taken by an npu and a gpu; by cost.
struct WeighedPair {
  WeighedPair() : numbers(graph, 0) {
    devices.add("npu", {"f", "g"});
    devices.add("gpu", {"f", "g"});
    devices.options.place = PlaceBy::cost;
    devices.options.machine = {.launch_us = 4};
    devices.options.later = {{.launch_us = 4}};
  }

  const Graph graph = graph_from_text(R"(
    input x: float32[100]
    param w: float32[1000]
    a: float32[100] = f(x, w)
    b: float32[100] = g(a)
    output b)");
  const NodeId a = node_named(graph, "a");
  Devices devices;
  Numbers numbers;
};

TEST_CASE("Nodes that are required on one of several targets are there, or do not fit") {
  WeighedPair pair;
  auto& [graph, a, devices, numbers] = pair;
  numbers.times.acc.us[a] = 1000;  // the gpu is faster
  const auto target_of_a = [&pair](const Split& split) {
    return split.partition.target(split.partition.part_of[pair.a]);
  };
  CHECK(target_of_a(devices.split(graph, &numbers.times)) == TargetId{1});
  devices.required_on = {{a}};
  const Split split = devices.split(graph, &numbers.times);
  CHECK(!split.unfit);
  CHECK(target_of_a(split) == TargetId{0});
  CHECK(elsewhere(graph, split, 1)[0] == Elsewhere::required);
  devices.options.machine.acc_memory = 1000;
  CHECK(devices.split(graph, &numbers.times).unfit);
  devices.required_on.clear();
  CHECK(!devices.split(graph, &numbers.times).unfit);
}

TEST_CASE("A reason says whether a target lacks memory for a node, or another is better") {
  WeighedPair pair;
  auto& [graph, a, devices, numbers] = pair;
  numbers.times.later[0].us[a] = 1000;  // the npu is faster
  SplitOptions& latency = devices.options;
  latency.machine.acc_memory = 2048;
  const Split split = devices.split(graph, &numbers.times);
  const Reason& of_npu = split.targets[0].reasons[a];
  CHECK(elsewhere(graph, split, 0)[0] == Elsewhere::memory);
  CHECK(of_npu.size == 2);  // KiB
  CHECK(elsewhere(graph, split, 1)[0] == Elsewhere::less_time);
  latency.machine.acc_memory.reset();
  latency.machine.acc.energy = {.pj_per_byte = 10};
  latency.later[0].acc.energy = {.pj_per_byte = 20};
  latency.machine.cpu.energy = {.pj_per_byte = 30};
  devices.options.place_goal = PlaceGoal::energy;
  const Split drawn = devices.split(graph, &numbers.times);
  CHECK(elsewhere(graph, drawn, 1)[0] == Elsewhere::less_energy);
}

TEST_CASE("Where one of several targets takes part, its parts have its name before and after") {
  const Graph graph = graph_from_text(R"(
    input x: float32[100]
    a: float32[100] = f(x)
    b: float32[100] = h(a)
    c: float32[100] = f(b)
    output c)");
  Devices devices;
  devices.add("npu", {"none"});
  devices.add("gpu", {"f"});
  const Split split = devices.split(graph);
  CHECK(split.found.subgraphs.targets == split.partition.targets);
  CHECK(split.partition.targets == std::vector{TargetId{1}, kNone<TargetId>, TargetId{1}});
}

TEST_CASE(
    "A node whose non-tensor data leaves a target's partition moves on to the one that reads it") {
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x)
    s: scalar = size(a)
    b = f(a, s)
    c = h(s)
    output b, c)");
  Devices devices;
  devices.options.non_acc_prefix = "cpu_";
  devices.options.allow_non_tensor = true;
  devices.options.skip_fusion = true;
  devices.add("npu", {"f", "size"});
  devices.add("gpu", {"f", "size", "h"});
  CHECK(parts_of(graph, devices.split(graph)) == "npu_0: a s b | gpu_1: c");
  devices.options.move_non_tensor = true;
  const Split split = devices.split(graph);
  CHECK(parts_of(graph, split) == "npu_0: a | gpu_1: s b c");
  CHECK(split.targets[0].reasons[node_named(graph, "s")].code == ReasonCode::non_tensor_output);
  CHECK(split.targets[0].reasons[node_named(graph, "b")].code == ReasonCode::fusion_group);
  CHECK(split.targets[1].reasons[node_named(graph, "s")].code == ReasonCode::none);

  // To the CPU, and not to a target that does not take all that would move there.
  Devices others;
  others.options = devices.options;
  others.options.target_prefixes.clear();
  others.add("npu", {"f", "size"});
  others.add("gpu", {"h", "g"});
  CHECK(parts_of(graph, others.split(graph)) == "npu_0: a s b | gpu_1: c");
  const Graph on_cpu = graph_from_text(R"(
    input x
    g0 = g(x)
    a = f(g0)
    s: scalar = size(a)
    c = other(s)
    output c)");
  const Split moved = others.split(on_cpu);
  CHECK(parts_of(on_cpu, moved) == "gpu_0: g0 | npu_1: a | cpu_2: s c");
  CHECK(moved.targets[0].reasons[node_named(on_cpu, "s")].code == ReasonCode::non_tensor_output);
}

TEST_CASE("A partition that a move left empty is none of those that a target may keep") {
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x)
    s: scalar = size(a)
    b = f(s)
    c = g(b)
    d = f(c)
    output d)");
  Devices devices;
  devices.options.non_acc_prefix = "cpu_";
  devices.options.allow_non_tensor = true;
  devices.options.skip_fusion = true;
  devices.options.move_non_tensor = true;
  devices.options.keep_by = KeepBy::nodes;
  devices.add("npu", {"size"});
  devices.add("gpu", {"f", "size"});
  devices.add("dsp", {"g"});
  CHECK(parts_of(graph, devices.split(graph)) == "gpu_0: a | gpu_2: s b | dsp_3: c | gpu_4: d");
  devices.targets[0].most_kept = 0;
  devices.targets[1].most_kept = 2;
  const Split split = devices.split(graph);
  CHECK(parts_of(graph, split) == "gpu_0: a s b | dsp_1: c | cpu_2: d");
  CHECK(split.targets[1].reasons[node_named(graph, "d")].code == ReasonCode::over_cap);
  CHECK(split.cap.subgraphs == 1);
}

TEST_CASE(
    "A node that fits in two neighbouring partitions of a target goes where fewer bytes cross") {
  const Graph graph = graph_from_text(R"(
    input x: float32[100]
    a: float32[100] = f(x)
    b: float32[100] = f(a)
    c: float32[100] = g(a)
    d: float32[100] = f(b, c)
    output d)");
  Devices devices;
  devices.add("npu", {"f"});
  devices.add("gpu", {"g"});
  CHECK(parts_of(graph, devices.split(graph)) == "npu_0: a b | gpu_1: c | npu_2: d");
  devices.options.pack = PackBy::bytes;
  CHECK(parts_of(graph, devices.split(graph)) == "npu_0: a | gpu_1: c | npu_2: b d");
}

// Each node takes 10 us on the CPU, 1 on the first target and 2 on the others; a byte takes 1 ns.
TargetTimes times_of(const Graph& graph) {
  const auto all = [&](double us) {
    return DeviceTimes{PerNode<double>(graph.node_count(), us),
                       PerNode<TimeOrigin>(graph.node_count(), TimeOrigin::measured)};
  };
  return {.cpu = all(10), .acc = all(1), .later = {all(2), all(2)}};
}

Devices two_timed(double launch_us) {
  Devices devices;
  devices.options.non_acc_prefix = "cpu_";
  devices.options.machine = {.launch_us = launch_us, .link_bytes_per_second = 1e9};
  devices.options.later = {devices.options.machine};
  return devices;
}

TEST_CASE("A plan by cost that fits no more gives way, unless it alone has required nodes right") {
  const Graph graph = graph_from_text(R"(
    input x: float32[1]
    a: float32[1] = f(x)
    b: float32[1] = f(a)
    c: float32[1] = f(b)
    d: float32[1] = f(c)
    output d)");
  Devices devices = two_timed(1);
  devices.add("npu", {"f"});
  devices.add("gpu", {"f"}, 2);  // nodes a part
  devices.options.place = PlaceBy::cost;
  devices.options.later[0].most_acc_parts = 1;
  TargetTimes times = times_of(graph);
  for (const NodeId node : graph.nodes()) times.acc.us[node] = 5;  // the gpu is faster
  const NodeSet any = nodes_named(graph, "a b c d");
  for (const NodeSet* const required : {static_cast<const NodeSet*>(nullptr), &any}) {
    const Split split = devices.split(graph, &times, required);
    CHECK(parts_of(graph, split) == "npu_0: a b c d");
    CHECK(!split.unfit);
  }
  const auto with_required = [&](std::size_t target, std::string_view name) {
    devices.required_on.assign(2, {});
    devices.required_on[target] = {node_named(graph, name)};
    return devices.split(graph, &times);
  };
  for (const char* const name : {"a", "c"}) {
    const Split on_gpu = with_required(1, name);
    CHECK(parts_of(graph, on_gpu) == "gpu_0: a b | gpu_1: c d");
    REQUIRE(on_gpu.unfit);
    CHECK(on_gpu.unfit->parts == std::vector<std::size_t>{0, 2});
  }
  const Split on_npu = with_required(0, "a");
  CHECK(parts_of(graph, on_npu) == "npu_0: a b c d");
}

TEST_CASE("A plan by cost that costs more stays where it alone has required nodes on a target") {
  const Graph graph = graph_from_text(R"(
    input x: float32[1]
    a: float32[1] = f(x)
    b: float32[1] = g(a)
    c: float32[1] = f(b)
    d: float32[1] = g(c)
    e: float32[1] = g(d)
    output e)");
  Devices devices = two_timed(1);
  devices.add("npu", {"f"});
  devices.add("gpu", {"g"});
  devices.options.keep_by = KeepBy::nodes;
  devices.options.place = PlaceBy::cost;
  devices.targets[1].most_kept = 1;
  const TargetTimes times = times_of(graph);
  CHECK(parts_of(graph, devices.split(graph, &times)) ==
        "npu_0: a | cpu_1: b | npu_2: c | gpu_3: d e");
  const NodeSet required = nodes_named(graph, "b");
  CHECK(parts_of(graph, devices.split(graph, &times, &required)) ==
        "npu_0: a | gpu_1: b | npu_2: c | cpu_3: d e");
}

TEST_CASE("Parts of each of several targets reach back for nodes that only they use") {
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x)
    b = f(x)
    c = g(a)
    d = f(c, b)
    output d)");
  Devices devices;
  devices.add("npu", {"f"});
  devices.add("gpu", {"g"});
  CHECK(parts_of(graph, devices.split(graph)) == "npu_0: a b | gpu_1: c | npu_2: d");
  devices.options.extend.which = ExtendOptions::Which::all;
  const Split all = devices.split(graph);
  CHECK(parts_of(graph, all) == "npu_0: a | gpu_1: c | npu_2: b d");
  CHECK(all.extended == std::vector{node_named(graph, "b")});
  devices.options.extend = {ExtendOptions::Which::one, 2};
  CHECK(parts_of(graph, devices.split(graph)) == "npu_0: a | gpu_1: c | npu_2: b d");
  devices.options.extend.subgraph = 1;
  CHECK(parts_of(graph, devices.split(graph)) == "npu_0: a b | gpu_1: c | npu_2: d");
  devices.options.extend.subgraph = 3;
  CHECK(!devices.try_split(graph).has_value());
}

TEST_CASE("Shape computations go where their users are, with several targets too") {
  const Graph graph = graph_from_text(R"(
    input x: float32[2, 3]
    a: float32[2, 3] = Relu(x)
    s: int64[2] = Shape(a)
    b: float32[2, 3] = Reshape(a, s)
    c: float32[2, 3] = Tanh(b)
    output c)");
  Devices devices;
  devices.options.non_acc_prefix = "cpu_";
  devices.add("npu", {"Relu", "Reshape"});
  devices.add("gpu", {"Tanh"});
  CHECK(parts_of(graph, devices.split(graph)) == "npu_0: a | cpu_1: s | npu_2: b | gpu_3: c");
  devices.options.host_shapes = true;
  const Split split = devices.split(graph);
  CHECK(parts_of(graph, split) == "npu_0: a s b | gpu_1: c");
  CHECK(split.host_shapes.nodes.contains(node_named(graph, "s")));
  CHECK(split.count_without_host_shapes == 4);
}

TEST_CASE("The parts of each target that gain most, or gain at all, are kept by their time") {
  const Graph graph = graph_from_text(R"(
    input x: float32[100]
    a: float32[9000] = f(x)
    b: float32[9000] = cpu(a)
    c: float32[100] = f(x)
    d: float32[100] = cpu(c)
    e: float32[100] = g(d)
    output b, e)");
  Devices devices = two_timed(1);
  devices.add("npu", {"f"});
  devices.add("gpu", {"g"});
  const TargetTimes times = times_of(graph);
  CHECK(parts_of(graph, devices.split(graph, &times)) == "npu_0: a c | cpu_1: b d | gpu_2: e");
  devices.options.keep_only_gaining = true;  // a and c gain 2 * 9 - 1 and take 36.8 us to send
  CHECK(parts_of(graph, devices.split(graph, &times)) == "cpu_0: a b c d | gpu_1: e");
  devices.options.keep_only_gaining = false;
  devices.options.is_min_automatic = true;
  const Split least = devices.split(graph, &times);
  CHECK(parts_of(graph, least) == "cpu_0: a b c d | gpu_1: e");
  CHECK(least.targets[0].min_acc_size == 3);
  CHECK(least.targets[1].min_acc_size == 1);
  devices.options.is_min_automatic = false;
  devices.options.keep_by = KeepBy::latency;
  for (Target& target : devices.targets) target.most_kept = 1;
  CHECK(parts_of(graph, devices.split(graph, &times)) == "npu_0: a c | cpu_1: b d | gpu_2: e");
}

TEST_CASE("Several targets stay in their order unless costs gain what is asked for") {
  const Graph graph = graph_from_text(R"(
    input x: float32[1]
    a: float32[1] = f(x)
    b: float32[1] = g(a)
    c: float32[1] = f(b)
    output c)");
  Devices devices = two_timed(3);
  devices.add("npu", {"f"});
  devices.add("gpu", {"f", "g"});
  devices.options.place = PlaceBy::cost;
  const TargetTimes times = times_of(graph);  // in order 1 + 2 + 1 + 9, all on the gpu 6 + 3
  CHECK(parts_of(graph, devices.split(graph, &times)) == "gpu_0: a b c");
  devices.options.min_gain = 0.2;
  CHECK(parts_of(graph, devices.split(graph, &times)) == "gpu_0: a b c");
  devices.options.min_gain = 0.5;
  const Split split = devices.split(graph, &times);
  CHECK(parts_of(graph, split) == "npu_0: a | gpu_1: b | npu_2: c");
  CHECK(split.placement->is_too_little);
  CHECK(split.placement->gain == Approx(1 - 9 / 13.0).epsilon(0.01));
}

}  // namespace

}  // namespace cleave
