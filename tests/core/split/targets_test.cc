#include "core/split/targets.h"

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
  void add(const std::string& name, const std::vector<std::string>& ops) {
    lists_.push_back(list_of(ops));
    targets.push_back({.name = name, .first_list = lists_.size() - 1, .end_list = lists_.size()});
    options.partition.target_prefixes.push_back(name + "_");
  }

  Result<Split> try_split(const Graph& graph) const {
    return split_graph({.graph = graph, .lists = lists_, .facts = {}, .targets = targets}, options);
  }
  Split split(const Graph& graph) const {
    auto result = try_split(graph);
    REQUIRE(result.has_value());
    return *std::move(result);
  }
  const std::vector<SupportList>& lists() const { return lists_; }

  std::vector<Target> targets;
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
  devices.options.partition.non_acc_prefix = "cpu_";
  devices.options.partition.target_prefixes = {"npu_", "gpu_"};
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
      for (const std::size_t most : {std::size_t{2}, KeepOptions::kUnlimited}) {
        Devices devices;
        devices.add("npu", {"no such op"});
        devices.add("gpu", ops);
        for (Target& target : devices.targets) {
          target.min_acc_size = least;
          target.most_kept = most;
        }
        SplitOptions alone = devices.options;
        alone.partition = {.acc_prefix = "gpu_"};
        alone.subgraphs.min_acc_size = least;
        alone.keep.most = most;
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

TEST_CASE("Options for one accelerator are refused for several") {
  const Graph graph = graph_from_text("input x\na = f(x)\nb = g(a)\noutput b");
  Devices devices;
  devices.add("npu", {"f"});
  devices.add("gpu", {"g"});
  devices.options.extend.which = ExtendOptions::Which::all;
  const auto split = devices.try_split(graph);
  REQUIRE(!split.has_value());
  CHECK(split.error().message == "--extend is for one target, and there are several");
}

}  // namespace
}  // namespace cleave
