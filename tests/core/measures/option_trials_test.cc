#include "core/measures/measures.h"

#include <algorithm>

#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

const OpFacts kNothing;

OptionTrials tried(const Graph& graph, const char* op, const Graph* folded = nullptr) {
  SupportList list;
  list.allow.emplace_back().op = op;
  const std::vector<SupportList> lists = {list};
  const std::vector<ModelToSplit> models = {{graph, kNothing}};
  std::vector<ModelToSplit> others;
  if (folded != nullptr) others.push_back({*folded, kNothing});
  auto trials = try_options(models, others, lists, {}, default_link());
  REQUIRE(trials);
  return *std::move(trials);
}

// Two large parts and a small one between them.
constexpr const char* kSmallPart = R"(
  input x: float32[64,64]
  param w: float32[64,64]
  a: float32[64,64] = MatMul(x, w)
  b: float32[64,64] = MatMul(a, w)
  c: float32[1] = cpu(b)
  d: float32[1] = MatMul(c, c)
  e: float32[64,64] = cpu(d)
  f: float32[64,64] = MatMul(e, w)
  g: float32[64,64] = MatMul(f, w)
  output g)";

TEST_CASE("A minimum size that drops parts without work is the best option") {
  const Graph graph = graph_from_text(kSmallPart);
  const OptionTrials trials = tried(graph, "MatMul");
  CHECK(trials.now.acc_subgraphs == 3);
  REQUIRE(trials.best() != nullptr);
  CHECK(trials.best()->kind == OptionTrial::Kind::min_acc_size);
  CHECK(trials.best()->min_acc_size == 2);
  CHECK(trials.best()->then.acc_subgraphs == 2);
}

TEST_CASE("An option that takes a required node off the accelerator gains nothing") {
  const Graph graph = graph_from_text(kSmallPart);
  SupportList list;
  list.allow.emplace_back().op = "MatMul";
  NodeSet required(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    if (graph.node(node).name == "d") required.insert(node);
  }
  const std::vector<ModelToSplit> models = {{graph, kNothing, nullptr, &required}};
  const auto trials = try_options(models, {}, {list}, {}, default_link());
  REQUIRE(trials);
  CHECK(trials->now.required_on_cpu == 0);
  for (const OptionTrial& trial : trials->trials) {
    if (trial.then.required_on_cpu > 0) CHECK_FALSE(trial.gains);
  }
  CHECK((trials->best() == nullptr || trials->best()->then.required_on_cpu == 0));
}

TEST_CASE("A minimum size that takes work off the accelerator gains nothing") {
  const Graph graph = graph_from_text(kSmallPart);
  const OptionTrials trials = tried(graph, "MatMul");
  const auto drops_all = [](const OptionTrial& trial) {
    return trial.kind == OptionTrial::Kind::min_acc_size && trial.min_acc_size == 3;
  };
  const auto found = std::find_if(trials.trials.begin(), trials.trials.end(), drops_all);
  REQUIRE(found != trials.trials.end());
  CHECK(found->then.acc_subgraphs == 0);
  CHECK_FALSE(found->gains);
}

TEST_CASE("A minimum size that takes most of a little work off the accelerator gains nothing") {
  const Graph graph = graph_from_text(R"(
  input x: float32[4,4]
  param w: float32[4,4]
  input y: float32[512,512]
  param v: float32[512,512]
  a: float32[512,512] = Gemm(y, v)
  b: float32[4,4] = MatMul(x, w)
  c: float32[4,4] = Gemm(b, w)
  d: float32[4,4] = MatMul(c, w)
  output a
  output d)");
  const OptionTrials trials = tried(graph, "MatMul");
  CHECK(trials.now.acc_subgraphs == 2);
  CHECK(trials.now.flops.ratio() < 0.01);
  CHECK(trials.best() == nullptr);
}

TEST_CASE(
    "Folding is the best option where the folded model has fewer parts, and is tried only then") {
  const Graph graph = graph_from_text(kSmallPart);
  const Graph folded = graph_from_text(R"(
    input x: float32[64,64]
    param w: float32[64,64]
    a: float32[64,64] = MatMul(x, w)
    b: float32[64,64] = MatMul(a, w)
    f: float32[64,64] = MatMul(b, w)
    g: float32[64,64] = MatMul(f, w)
    output g)");
  const OptionTrials with = tried(graph, "MatMul", &folded);
  REQUIRE(with.best() != nullptr);
  CHECK(with.best()->kind == OptionTrial::Kind::fold);
  CHECK(with.best()->then.acc_subgraphs == 1);
  for (const OptionTrial& trial : tried(graph, "MatMul").trials) {
    CHECK(trial.kind != OptionTrial::Kind::fold);
  }
}

TEST_CASE("Where nothing changes, no option is named") {
  const Graph graph = graph_from_text("input x: float32[2]\n a: float32[2] = f(x)\n output a");
  CHECK(tried(graph, "f").best() == nullptr);
  CHECK(tried(graph, "nothing").best() == nullptr);  // no byte crosses the link, nor any less
}

const OptionTrial* find(const OptionTrials& trials, OptionTrial::Kind kind) {
  const auto is_of_kind = [&](const OptionTrial& trial) { return trial.kind == kind; };
  const auto found = std::find_if(trials.trials.begin(), trials.trials.end(), is_of_kind);
  return found == trials.trials.end() ? nullptr : &*found;
}

TEST_CASE("An opset that is all that rules ask for is tried, and is the best option") {
  const Graph graph = graph_from_text(R"(
    opset "" 12
    input x: float32[64,64]
    a: float32[64,64] = MatMul(x, x)
    b: float32[64,64] = Add(a, x)
    c: float32[64,64] = MatMul(b, x)
    output c)");
  SupportList list;
  list.allow.emplace_back().op = "MatMul";
  Rule& add = list.allow.emplace_back();
  add.op = "Add";
  add.opset = OpsetRule{13, 23};
  const std::vector<ModelToSplit> models = {{graph, kNothing}};
  const auto trials = try_options(models, {}, {list}, {}, default_link());
  REQUIRE(trials);
  REQUIRE(trials->best() != nullptr);
  CHECK(trials->best()->kind == OptionTrial::Kind::opset);
  CHECK(trials->best()->opset == 13);
  CHECK(trials->best()->then.acc_subgraphs == 1);
  CHECK(trials->now.acc_subgraphs == 2);
}

TEST_CASE("Keeping the few subgraphs that have nearly all of the work is tried") {
  const Graph graph = graph_from_text(R"(
    input x: float32[64,64]
    a: float32[64,64] = MatMul(x, x)
    b: float32[64,64] = cpu(a)
    c: float32[64,64] = MatMul(b, x)
    d: float32[1,1] = cpu(c)
    e: float32[1,1] = MatMul(d, d)
    f: float32[1,1] = MatMul(e, d)
    g: float32[1,1] = cpu(f)
    output g)");
  const OptionTrials trials = tried(graph, "MatMul");
  CHECK(trials.now.acc_subgraphs == 3);
  const OptionTrial* const kept = find(trials, OptionTrial::Kind::keep);
  REQUIRE(kept != nullptr);
  CHECK(kept->most_kept == 2);
  CHECK(kept->then.acc_subgraphs == 2);
  CHECK(kept->gains);
}

TEST_CASE("Placement by cost is tried where times are known, and only there") {
  const Graph graph = graph_from_text(kSmallPart);
  CHECK(find(tried(graph, "MatMul"), OptionTrial::Kind::place_by_cost) == nullptr);
  SupportList list;
  list.allow.emplace_back().op = "MatMul";
  SplitOptions options;
  options.machine.launch_us = 100;
  const auto all = [&](double us) {
    DeviceTimes times{PerNode<double>(graph.node_count()), PerNode<TimeOrigin>(graph.node_count())};
    for (const NodeId node : graph.nodes()) {
      times.us[node] = us;
      times.origins[node] = TimeOrigin::measured;
    }
    return times;
  };
  const TargetTimes times{all(10), all(1)};
  const std::vector<ModelToSplit> models = {{graph, kNothing, &times}};
  const auto trials = try_options(models, {}, {list}, options, default_link());
  REQUIRE(trials);
  const OptionTrial* const placed = find(*trials, OptionTrial::Kind::place_by_cost);
  REQUIRE(placed != nullptr);
  CHECK(placed->gains);
  CHECK(placed->then.latency() < trials->now.latency());
}

}  // namespace

}  // namespace cleave
