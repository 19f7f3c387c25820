#include "core/measures/advice.h"

#include <memory>

#include "core/lists/support.h"
#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {

// ---- advice test ----

namespace {

const OpFacts kNoFacts;

std::vector<SupportList> list_of(std::initializer_list<const char*> ops) {
  SupportList list;
  for (const char* const op : ops) list.allow.emplace_back().op = op;
  return {list};
}

Advice advice_for(const std::vector<const Graph*>& graphs, const std::vector<SupportList>& lists,
                  const AdviceOptions& options) {
  std::vector<ModelToSplit> models;
  for (const Graph* const graph : graphs) models.push_back({*graph, kNoFacts});
  auto advice = advise(models, lists, {}, default_link(), options);
  REQUIRE(advice.has_value());
  return *std::move(advice);
}

// "g 3, h 2": the op and the resulting accelerator subgraphs.
std::string describe(const std::vector<Remedy>& remedies) {
  std::string text;
  for (const Remedy& remedy : remedies) {
    text += (text.empty() ? "" : ", ") + remedy.gap.op + ' ' +
            std::to_string(remedy.then.acc_subgraphs);
  }
  return text;
}

// g cuts twice with little data, h once with much of it.
constexpr const char* kCuts = R"(
  input x
  a = f(x)
  b = g(a)
  c = f(b)
  d = g(c)
  e: float32[1000] = f(d)
  i: float32[1000] = h(e)
  j = f(i)
  output j)";

TEST_CASE("Nodes that lack nothing but sizes are counted, and no gap") {
  const auto graph_of = [](const std::string& rows) {
    return graph_from_text("input x: float32[" + rows + ",4]\na: float32[" + rows +
                           ",4] = f(x)\nb: float32[" + rows + ",4] = g(a)\nc: float32[" + rows +
                           ",4] = f(b)\noutput c");
  };
  const Graph open = graph_of("N"), sized = graph_of("2");
  std::vector<SupportList> lists = list_of({"f"});
  lists[0].allow[0].add(relation_condition(parse_relation("in[0].elements > 0").value()));
  ModelToSplit model{open, kNoFacts};
  const auto as_it_is = advise(std::vector{model}, lists, {}, default_link(), {});
  REQUIRE(as_it_is);
  CHECK(as_it_is->each.size() == 2);
  model.sized = &sized;
  const auto advice = advise(std::vector{model}, lists, {}, default_link(), {});
  REQUIRE(advice);
  CHECK(advice->lack_sizes == 2);
  REQUIRE(advice->each.size() == 1);
  CHECK(advice->each[0].gap.op == "g");
}

TEST_CASE("Of several targets, what another one takes gains less than what only the CPU takes") {
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x)
    b = g(a)
    c = f(b)
    d = h(c)
    e = f(d)
    output e)");
  std::vector<SupportList> lists = list_of({"f"});
  lists.push_back(list_of({"g"}).front());
  const std::vector<Target> targets = {{.name = "npu", .first_list = 0, .end_list = 1},
                                       {.name = "gpu", .first_list = 1, .end_list = 2}};
  SplitOptions split;
  split.target_prefixes = {"_run_on_npu_", "_run_on_gpu_"};
  split.machine.launch_us = 1;
  split.later = {split.machine};
  const auto all_take = [&](double us) {
    return DeviceTimes{PerNode<double>(graph.node_count(), us),
                       PerNode<TimeOrigin>(graph.node_count(), TimeOrigin::measured)};
  };
  const TargetTimes times{all_take(100), all_take(10), {all_take(10)}};
  const auto for_target = [&](std::size_t which) {
    AdviceOptions options{.goal = Goal::latency, .target = {lists, targets, which}};
    const std::vector<ModelToSplit> models = {{graph, kNoFacts, &times}};
    auto advice = advise(models, options.target.own(), split, default_link(), options);
    REQUIRE(advice.has_value());
    return *std::move(advice);
  };
  const Advice npu = for_target(0);
  CHECK(npu.now.nodes.acc == 4);
  CHECK(npu.now.acc_subgraphs == 4);
  CHECK(npu.now.supported == 3);
  // The op, the nodes that the target then accepts, and those off the CPU.
  const auto gains = [](const Advice& advice) {
    std::string text;
    for (const Remedy& remedy : advice.each) {
      text += remedy.gap.op + " " + std::to_string(remedy.nodes) + " " +
              std::to_string(static_cast<int>(remedy.then.nodes.acc - advice.now.nodes.acc)) + "; ";
    }
    return text;
  };
  CHECK(gains(npu) == "h 1 1; g 1 0; ");
  CHECK(describe(npu.steps) == "h 3, g 1");
  REQUIRE(npu.now.latency().has_value());
  CHECK(*npu.now.latency() - *npu.each[0].then.latency() > 90);
  CHECK(*npu.now.latency() - *npu.each[1].then.latency() < 10);
  const Advice gpu = for_target(1);
  CHECK(gains(gpu) == "h 1 1; f 3 0; ");
}

TEST_CASE("Progress counts every gap tried, out of as many as the rounds can try") {
  // Three gaps; one is closed by the first of two steps.
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x)
    b = g(a)
    c = f(b)
    d = h(c)
    e = f(d)
    i = k(e)
    j = f(i)
    output j)");
  std::vector<std::uint64_t> done, totals;
  AdviceOptions options{.steps = 2};
  options.progress = [&](const WorkDone& work) {
    if (work.task != "trying") return;
    done.push_back(work.done);
    totals.push_back(work.total);
  };
  CHECK(advice_for({&graph}, list_of({"f"}), options).steps.size() == 2);
  CHECK(done == std::vector<std::uint64_t>{0, 1, 2, 3, 4});
  CHECK(totals == std::vector<std::uint64_t>(5, 5));
}

TEST_CASE("Gaps are ranked by what closing them gains for the goal") {
  const Graph graph = graph_from_text(kCuts);
  const Advice advice = advice_for({&graph}, list_of({"f"}), {});
  CHECK(advice.now.acc_subgraphs == 4);
  CHECK(describe(advice.each) == "g 2, h 3");
  CHECK(describe(advice.steps) == "g 2, h 1");
  CHECK(advice.each[0].nodes == 2);
  CHECK(advice.steps[1].then.nodes.ratio() == 1);
  const Advice by_bytes = advice_for({&graph}, list_of({"f"}), {.goal = Goal::bytes});
  CHECK(describe(by_bytes.each) == "h 3, g 2");
  CHECK(by_bytes.now.link_bytes == 6 * 16 + 2 * 4000);
  CHECK(by_bytes.each[0].then.link_bytes == 6 * 16);
}

TEST_CASE(
    "When there are too many gaps those with the most nodes are tried, and the others are "
    "counted") {
  const Graph graph = graph_from_text(kCuts);
  const Advice one = advice_for({&graph}, list_of({"f"}), {.most_tried = 1});
  CHECK(describe(one.each) == "g 2");
  CHECK(describe(one.steps) == "g 2, h 1");
  CHECK(one.untried == 1);
  CHECK(advice_for({&graph}, list_of({"f"}), {.most_tried = 2}).untried == 0);
}

TEST_CASE("A deny rule and the rule that is missing behind it are closed together") {
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x)
    b = q(a)
    c = f(b)
    output c)");
  std::vector<SupportList> lists = list_of({"f"});
  lists[0].deny.emplace_back().op = "q";
  const Advice advice = advice_for({&graph}, lists, {});
  REQUIRE(advice.each.size() == 2);
  CHECK(advice.each[0].gap.kind == Gap::Kind::denied);
  REQUIRE(advice.each[0].with.size() == 1);
  CHECK(advice.each[0].with[0].kind == Gap::Kind::op);
  CHECK(advice.each[0].nodes == 1);
  CHECK(advice.each[0].then.acc_subgraphs == 1);
  CHECK(advice.each[1].with.empty());
  CHECK(advice.each[1].nodes == 0);
  CHECK(advice.steps.size() == 1);
  CHECK(advice.out_of_reach.empty());
  // Other gaps before it change nothing.
  const Graph later = graph_from_text(R"(
    input x
    h = h(x)
    a = f(h)
    b = q(a)
    c = f(b)
    output c)");
  const Advice same = advice_for({&later}, lists, {});
  const auto denied = std::find_if(same.each.begin(), same.each.end(), [](const Remedy& one) {
    return one.gap.kind == Gap::Kind::denied;
  });
  REQUIRE(denied != same.each.end());
  CHECK(denied->with.size() == 1);
}

TEST_CASE("Where no gap gains alone, those that gain together are found") {
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x)
    b: float32[1000] = g(a)
    c = h(b)
    d = f(c)
    e: float32[1000] = k(d)
    output e)");
  const Advice advice = advice_for({&graph}, list_of({"f"}), {.steps = 1});
  CHECK(advice.now.acc_subgraphs == 2);
  REQUIRE(advice.steps.size() == 1);
  CHECK(advice.steps[0].then.acc_subgraphs == 1);
  CHECK(advice.steps[0].gap.op == "g");
  REQUIRE(advice.steps[0].with.size() == 1);
  CHECK(advice.steps[0].with[0].op == "h");
  CHECK(advice.each.front().then.acc_subgraphs == 1);
}

TEST_CASE("What gains more for each addition comes first, also where two are needed together") {
  // Three pairs of p and q, and one of each of two others.
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x)
    b = p(a)
    c = q(b)
    d = f(c)
    e = p(d)
    g = q(e)
    h = f(g)
    i = p(h)
    j = q(i)
    k = f(j)
    l = s(k)
    m = f(l)
    n = t(m)
    o = f(n)
    output o)");
  const Advice advice = advice_for({&graph}, list_of({"f"}), {});
  CHECK(advice.now.acc_subgraphs == 6);
  CHECK(describe(advice.steps) == "p 3, s 2, t 1");
  REQUIRE(advice.steps[0].with.size() == 1);
  CHECK(advice.steps[0].with[0].op == "q");
  CHECK(count_additions(advice.steps) == 4);
}

TEST_CASE("What a runtime's body lacks is a gap, and closing it is a split of the list's own way") {
  // A provider is asked for h and m where it does not take sw.
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
    d = sw(c)
    e = f(d)
    g = h(e)
    i = f(g)
    output i)");
  std::vector<SupportList> lists = list_of({"f", "m"});
  lists[0].view = GraphView::onnxruntime;
  const std::vector<ModelToSplit> models = {{graph, facts}};
  const auto advice = advise(models, lists, {}, default_link(), {});
  REQUIRE(advice);
  CHECK(advice->now.acc_subgraphs == 4);
  CHECK(describe(advice->each) == "h 1, sw 2");
  CHECK(advice->each[0].nodes == 3);
  CHECK(advice->each[1].nodes == 2);
  CHECK(describe(advice->steps) == "h 1");
  lists[0].allow.emplace_back().op = "h";
  CHECK(split_outcome(models[0], lists, {}, default_link())->outcome.acc_subgraphs == 1);
  // Where the list lacks all of the body, all of it is closed together, or the op itself.
  std::vector<SupportList> less = list_of({"f"});
  less[0].view = GraphView::onnxruntime;
  const auto more = advise(models, less, {}, default_link(), {});
  REQUIRE(more);
  CHECK(describe(more->each) == "sw 2, h 3, m 4");
}

TEST_CASE("Types of one op are closed together, and what stays refused is listed by op") {
  const Graph graph = graph_from_text(R"(
    input x
    input i: int64[2,2]
    a = g(x)
    b = g(i)
    c = h(a)
    output b, c)");
  const Advice advice = advice_for({&graph}, list_of({"f"}), {.steps = 1});
  REQUIRE(advice.each.size() == 2);
  CHECK(describe(advice.each) == "g 1, h 1");
  CHECK(advice.each[0].with.size() == 1);
  CHECK(advice.each[0].nodes == 2);
  CHECK(advice.each[1].with.empty());
  const Advice none = advice_for({&graph}, list_of({"f"}), {.steps = 0});
  REQUIRE(none.out_of_reach.size() == 2);
  CHECK(none.out_of_reach[0].nodes + none.out_of_reach[1].nodes == 3);
}

TEST_CASE("The best order ends at the given number of steps, or when no step gains") {
  const Graph graph = graph_from_text(kCuts);
  CHECK(describe(advice_for({&graph}, list_of({"f"}), {.steps = 1}).steps) == "g 2");
  CHECK(advice_for({&graph}, list_of({"f"}), {.steps = 0}).steps.empty());
  // From nothing on the accelerator the work counts first: h has more of it, though in two subgraphs.
  const Graph apart = graph_from_text("input x\n a = h(x)\n b = g(a)\n c = h(b)\n output c");
  const Advice advice = advice_for({&apart}, list_of({"f"}), {});
  CHECK(advice.now.acc_subgraphs == 0);
  CHECK(describe(advice.steps) == "h 2, g 1");
  CHECK(describe(advice.each) == "h 2, g 1");
}

TEST_CASE("Numbers are summed over the models, and each gap says which of them have it") {
  const Graph first = graph_from_text("input x\n a = f(x)\n b = g(a)\n c = f(b)\n output c");
  const Graph second = graph_from_text("input x\n a = f(x)\n b = h(a)\n c = f(b)\n output c");
  const Graph third = graph_from_text(kCuts);
  const Advice advice = advice_for({&first, &second, &third}, list_of({"f"}), {});
  CHECK(advice.now.acc_subgraphs == 8);
  CHECK(describe(advice.each) == "g 5, h 6");
  CHECK(advice.each[0].models == std::vector<std::size_t>{0, 2});
  CHECK(advice.each[1].models == std::vector<std::size_t>{1, 2});
  CHECK(describe(advice.steps) == "g 5, h 3");
}

TEST_CASE("A remedy found in one model is tried on all that have the op") {
  SupportList list = list_of({"f"})[0];
  Rule& rule = list.allow.emplace_back();
  rule.op = "g";
  rule.conditions = {attribute_within("n", {}, 4.0), attribute_within("m", {}, 4.0)};
  const Graph first = graph_from_text("input x\n a = g(x) {n=9, m=9}\n output a");
  const Graph second = graph_from_text("input x\n a = g(x) {n=9, m=1}\n output a");
  const Advice advice = advice_for({&first, &second}, {list}, {.goal = Goal::flops});
  REQUIRE(advice.each.size() == 2);
  CHECK(advice.each[0].models == std::vector<std::size_t>{0});
  CHECK(advice.each[0].nodes == 2);
  CHECK(advice.each[1].models == std::vector<std::size_t>{1});
  CHECK(advice.each[1].nodes == 1);
}

TEST_CASE("Rates are those of running every model once") {
  Outcome a;
  a.link_seconds = 0.25;
  Outcome b;
  b.link_seconds = 0.25;
  b.shared_link_seconds = 1;
  a.add(b);
  CHECK(a.qps() == 2);
  CHECK(a.shared_qps() == 1);
  CHECK_FALSE(Outcome{}.qps().has_value());
}

TEST_CASE("A split made with a remedy has the promised numbers") {
  for (std::uint32_t seed = 0; seed < 120; ++seed) {
    const RandomGraph random = random_graph(seed, 20);
    INFO("seed " << seed << "\n" << random.text << "unsupported " << random.unsupported);
    SupportList list = list_of({"f"})[0];
    for (const NodeId node : random.graph.nodes()) {
      if (random.support.supported.contains(node)) continue;
      list.deny.emplace_back().node_name = std::string(random.graph.node(node).name);
    }
    SplitOptions options;
    options.min_acc_size = seed % 3;
    const std::vector<ModelToSplit> models{{random.graph, kNoFacts}};
    const auto advice = advise(models, {list}, options, default_link(),
                               {.goal = static_cast<Goal>(seed % 4), .steps = 3});
    REQUIRE(advice.has_value());
    FilledLists after_steps({list});
    for (const Remedy& step : advice->steps) {
      after_steps.fill(step.gap);
      for (const Gap& gap : step.with) after_steps.fill(gap);
      const auto split =
          split_outcome(models[0], after_steps.with_remedies(), options, default_link());
      REQUIRE(split->outcome.acc_subgraphs == step.then.acc_subgraphs);
      REQUIRE(split->outcome.link_bytes == step.then.link_bytes);
    }
    const Goal goal = goal_from(advice->now, static_cast<Goal>(seed % 4));
    for (std::size_t i = 0; i + 1 < advice->each.size(); ++i) {
      REQUIRE_FALSE(is_better(advice->each[i + 1].then, advice->each[i].then, goal));
    }
  }
}

TEST_CASE("With patterns, too, every remedy has the numbers of a split made with it") {
  std::size_t rows = 0, matches = 0;
  for (std::uint32_t seed = 0; seed < 150; ++seed) {
    const RandomGraph one = random_graph(seed, 14);
    const RandomGraph two = random_graph(seed + 1000, 14);
    INFO("seed " << seed << "\n" << one.text << "and\n" << two.text);
    SupportList list;
    if (seed % 3 == 0) {
      list.allow.emplace_back().op = "f";
      list.allow.back().node_name = "*2";
    }
    Pattern& pattern = list.patterns.emplace_back();
    pattern.name = "pair";
    pattern.ops.resize(2);
    pattern.ops[0].op = "f";
    pattern.ops[1].op = "*";
    pattern.graph = {2, {{0, 1, {}, {}}}};
    list.deny.emplace_back().node_name = "n*3";
    TypeSet ints;
    ints.add(DType::int64);
    list.deny.emplace_back().input_dtype = ints;
    SupportList overlay;
    overlay.deny.emplace_back().node_name = "n5";
    std::vector<SupportList> lists = {list, overlay};
    if (seed % 4 == 1) {
      lists[0].role = lists[1].role = ListRole::all_of;
      lists.push_back(list_of({"f"})[0]);
      lists[2].role = ListRole::all_of;
    }
    const std::vector<ModelToSplit> models{{one.graph, kNoFacts}, {two.graph, kNoFacts}};
    matches += match_support(one.graph, lists, kNoFacts).patterns.count();
    const Goal goal = static_cast<Goal>(seed % 4);
    const auto advice = advise(models, lists, {}, default_link(), {.goal = goal, .steps = 2});
    REQUIRE(advice.has_value());
    for (const Remedy& remedy : advice->each) {
      ++rows;
      FilledLists filled(lists);
      filled.fill(remedy.gap);
      for (const Gap& gap : remedy.with) filled.fill(gap);
      Outcome sum;
      for (const ModelToSplit& model : models) {
        sum.add(split_outcome(model, filled.with_remedies(), {}, default_link())->outcome);
      }
      REQUIRE(sum.acc_subgraphs == remedy.then.acc_subgraphs);
      REQUIRE(sum.link_bytes == remedy.then.link_bytes);
      REQUIRE(sum.nodes.acc == remedy.then.nodes.acc);
    }
  }
  CHECK(rows > 150);
  CHECK(matches > 100);
}

// ---- settings ----

TEST_CASE("Settings are tried where something changes; at the knee little work is lost") {
  // Subgraphs of 3, 1 and 2 nodes, with the work in the first.
  const Graph graph = graph_from_text(R"(
    input x: float32[512,512]
    a: float32[512,512] = MatMul(x, x)
    b: float32[512,512] = MatMul(a, x)
    c: float32[512,512] = MatMul(b, x)
    d = g(c)
    e = Relu(d)
    f = g(e)
    h = Relu(f)
    i = Relu(h)
    output i)");
  const std::vector<ModelToSplit> models{{graph, kNoFacts}};
  const auto sweep = sweep_settings(models, list_of({"MatMul", "Relu"}), {}, default_link());
  REQUIRE(sweep.has_value());
  std::string text;
  for (const Setting& setting : sweep->settings) {
    if (setting.start != StartSide::reference) continue;
    text += std::to_string(setting.min_acc_size) + ": " +
            std::to_string(setting.outcome.acc_subgraphs) + '\n';
  }
  CHECK(text == "1: 3\n2: 2\n3: 1\n");
  CHECK(sweep->settings.size() == 9);
  CHECK(sweep->settings[sweep->knee].min_acc_size == 3);
}

TEST_CASE("Twelve of many sizes are tried, the least and the greatest among them") {
  std::string text = "input x\n a0 = f(x)\n";
  std::string last = "a0";
  for (int size = 1; size <= 20; ++size) {
    for (int i = 0; i <= size; ++i) {
      const std::string name = "n" + std::to_string(size) + "_" + std::to_string(i);
      text += name + " = " + (i == 0 ? "g(" : "f(") + last + ")\n";
      last = name;
    }
  }
  const Graph graph = graph_from_text(text + "output " + last);
  const std::vector<ModelToSplit> models{{graph, kNoFacts}};
  const auto sweep = sweep_settings(models, list_of({"f"}), {}, default_link());
  REQUIRE(sweep.has_value());
  CHECK(sweep->settings.size() == 36);
  CHECK(sweep->settings.front().min_acc_size == 1);
  CHECK(sweep->settings.back().min_acc_size == 20);
}

TEST_CASE("A model without accelerator subgraphs has one setting for each side") {
  const Graph graph = graph_from_text("input x\n a = g(x)\n output a");
  const std::vector<ModelToSplit> models{{graph, kNoFacts}};
  const auto sweep = sweep_settings(models, {}, {}, default_link());
  REQUIRE(sweep.has_value());
  CHECK(sweep->settings.size() == 3);
  CHECK(sweep->knee == 0);
}

}  // namespace

// ---- gaps test ----

namespace {

using What = FailedCondition::What;

// The key of the condition, which fails on the node of the text.
std::string key_of(const std::string& text, const Condition& condition) {
  const Graph graph = graph_from_text(text);
  FailedPart part;
  CHECK_FALSE(condition_holds(graph, graph.nodes()[0], condition, {}, &part));
  std::string key;
  append_key({What::condition, 0}, part, key);
  return key;
}

std::string attribute_key(const Condition& wanted, int value) {
  return key_of("input x\n a = f(x) {n=" + std::to_string(value) + "}", wanted);
}

TEST_CASE("the key contains an attribute's value if the rule asks for a value") {
  const Condition one = attribute_is("n", {std::int64_t{1}});
  CHECK(attribute_key(one, 2) != attribute_key(one, 3));
  const Graph graph = graph_from_text("opset \"\" 13\n input x\n a = f(x)");
  OpFacts facts;
  facts.default_attribute = [](std::string_view, std::string_view, std::int64_t,
                               std::string_view) -> std::optional<AttributeValue> {
    return std::int64_t{2};
  };
  FailedPart by_default;
  CHECK_FALSE(condition_holds(graph, graph.nodes()[0], one, facts, &by_default));
  std::string key;
  append_key({What::condition, 0}, by_default, key);
  CHECK(attribute_key(one, 2) == key);
  const Condition bound = attribute_within("n", {}, 1.0);
  CHECK(attribute_key(bound, 2) == attribute_key(bound, 3));
}

TEST_CASE("the key contains a rank, but not a dim that exceeds a bound") {
  const auto key = [](const std::string& shape, const Condition& wanted) {
    return key_of("input x: float32[" + shape + "]\n a = f(x)", wanted);
  };
  const Condition rank = conditions_of(ShapeEntry{.rank = 4})[1];
  CHECK(key("1,2,3", rank) != key("1,2", rank));
  const Condition dims = conditions_of(ShapeEntry{.max_dim = 8})[1];
  CHECK(key("9", dims) == key("1,10", dims));
}

TEST_CASE("conditions of different places have different keys") {
  const FailedPart part;
  std::string first, second;
  append_key({What::condition, 0}, part, first);
  append_key({What::condition, 1}, part, second);
  CHECK(first != second);
}

Rule rule_for(std::string op) {
  Rule rule;
  rule.op = std::move(op);
  return rule;
}

TypeSet types(DType dtype) {
  TypeSet types;
  types.add(dtype);
  return types;
}

// "op f: a b" a line: kind, op, nodes.
std::string describe(const Graph& graph, const std::vector<GapFound>& gaps) {
  std::string text;
  for (const GapFound& found : gaps) {
    const auto kind = static_cast<std::size_t>(found.gap.kind);
    text += std::array{"op ", "condition ", "denied "}[kind] + found.gap.op + ':';
    for (const NodeId node : found.nodes) text += ' ' + std::string(graph.node(node).name);
    text += '\n';
  }
  return text;
}

std::vector<GapFound> gaps_of(const Graph& graph, const std::vector<SupportList>& lists) {
  return find_gaps(graph, lists, {}, match_support(graph, lists, {}).supported);
}

TEST_CASE("Ops that no rule names are distinguished by what they read") {
  const Graph graph = graph_from_text(R"(
    input x: float32[2]
    input i: int64[2]
    a = f(x)
    b = f(i)
    c = f(x, i)
    d = f(a)
    e = g(d, k=i)
    output b, c, e)");
  const auto gaps = gaps_of(graph, {});
  CHECK(describe(graph, gaps) == "op f: a d\nop f: b\nop f: c\nop g: e\n");
  CHECK(gaps[1].gap.remedy.inputs == std::vector<MaybeTypes>{types(DType::int64)});
  CHECK(gaps[3].gap.remedy.kwargs.size() == 1);
}

TEST_CASE("A condition on a value makes a gap for each value found; a bound makes one gap") {
  const Graph graph = graph_from_text(R"(
    input x
    a = f(x) {mode="cubic", size=9}
    b = f(a) {mode="linear", size=9}
    c = f(b) {mode="near", size=9}
    d = f(c) {mode="near", size=99}
    output d)");
  SupportList list;
  Rule& rule = list.allow.emplace_back(rule_for("f"));
  SECTION("a value") {
    rule.conditions = {attribute_is("mode", {AttributeValue("near")})};
    const auto gaps = gaps_of(graph, {list});
    CHECK(describe(graph, gaps) == "condition f: a\ncondition f: b\n");
    CHECK(gaps[0].gap.failed[0].actual == "\"cubic\"");
    CHECK(gaps[0].gap.remedy.conditions ==
          std::vector{attribute_is("mode", {AttributeValue("cubic")})});
  }
  SECTION("a bound") {
    rule.conditions = {attribute_within("size", {}, 4.0)};
    const auto gaps = gaps_of(graph, {list});
    CHECK(describe(graph, gaps) == "condition f: a b c d\n");
    CHECK(gaps[0].gap.remedy.conditions.empty());
  }
}

TEST_CASE("A remedy changes failed conditions to what the node has, and keeps the others") {
  const Graph graph = graph_from_text(R"(
    input x: float16[3,5]
    opset "" 9
    a, b: scalar = f(x, k=x) {p=1, q=2}
    output a, b)");
  SupportList list;
  Rule& rule = list.allow.emplace_back(rule_for("*"));
  rule.why = "because";
  rule.line = 7;
  rule.opset = OpsetRule{.lowest = 11, .highest = 13};
  rule.inputs = {types(DType::float32)};
  rule.outputs = {std::nullopt, types(DType::float32)};
  rule.kwargs = {{"k", types(DType::int8)}};
  rule.conditions = {attribute_is("p", {std::int64_t{1}}), attribute_within("absent", 1.0, {})};
  rule.add(ShapeEntry{.input = 0,
                      .rank = 4,
                      .is_static = true,
                      .max_dim = 4,
                      .multiple_of = {{0, 3}, {1, 4}, {1, 5}}});
  const auto gaps = gaps_of(graph, {list});
  REQUIRE(gaps.size() == 1);
  const Rule& remedy = gaps[0].gap.remedy;
  CHECK(remedy.op == "f");
  CHECK(remedy.why.empty());
  CHECK(remedy.line == 0);
  CHECK_FALSE(remedy.opset.has_value());
  CHECK(remedy.inputs[0] == types(DType::float16));
  TypeSet scalar;
  scalar.add(ValueType::scalar);
  CHECK(remedy.outputs[1] == scalar);
  CHECK(remedy.kwargs[0].second == types(DType::float16));
  Rule wanted;
  wanted.add(attribute_is("p", {std::int64_t{1}}));
  wanted.add(ShapeEntry{.input = 0, .rank = 2, .is_static = true, .multiple_of = {{0, 3}, {1, 5}}});
  CHECK(remedy.conditions == wanted.conditions);
  FilledLists filled({list});
  filled.fill(gaps[0].gap);
  CHECK(match_support(graph, filled.with_remedies(), {}).supported.count() == 1);
}

TEST_CASE("A denied node's remedy is to remove the rule; what still refuses it is the next gap") {
  const Graph graph = graph_from_text("input x\n a = f(x)\n b = g(a)\n output b");
  SupportList list;
  list.allow.push_back(rule_for("f"));
  list.deny.push_back(rule_for("g"));
  list.deny.emplace_back().node_name = "a";
  const auto gaps = gaps_of(graph, {list});
  CHECK(describe(graph, gaps) == "denied f: a\ndenied g: b\n");
  FilledLists filled({list});
  filled.fill(gaps[0].gap);
  CHECK(filled.lists()[0].deny == std::vector<Rule>{list.deny[0]});
  CHECK(names_of(graph, match_support(graph, filled.with_remedies(), {}).supported) == "a");
  filled.fill(gaps[1].gap);
  CHECK(describe(graph, gaps_of(graph, filled.lists())) == "op g: b\n");
}

TEST_CASE("Body nodes have gaps of their own; their owner has one for its own op only") {
  constexpr const char* kText = R"(
    input x
    a = If(x)
    | h = f(x)
    | i = g(h)
    output a)";
  const Graph graph = graph_from_text(kText);
  SupportList list;
  list.allow.push_back(rule_for("f"));
  CHECK(describe(graph, gaps_of(graph, {list})) == "op If: a\nop g: i\n");
  list.allow.push_back(rule_for("If"));
  CHECK(describe(graph, gaps_of(graph, {list})) == "op g: i\n");
}

}  // namespace

}  // namespace cleave
