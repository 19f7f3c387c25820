#include <array>
#include <random>
#include <set>
#include <sstream>
#include <string_view>

#include "core/graph/graph.h"
#include "core/measures/check.h"
#include "core/split/split.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/core/graph/random_graph.h"

namespace cleave {

// ---- comparison test ----

namespace {

constexpr std::string_view kGraph = "input x\na = f(x)\nb = g(a)\nc = f(b)\noutput c";

// One letter a node: a(cc), c(pu), - (absent).
PerNode<Place> places_of(std::string_view letters) {
  PerNode<Place> places(letters.size());
  for (std::size_t i = 0; i < letters.size(); ++i) {
    places[id_at<NodeId>(i)] = letters[i] == 'a'   ? Place::acc
                               : letters[i] == 'c' ? Place::cpu
                                                   : Place::absent;
  }
  return places;
}

// "b: acc -> cpu by the list\n"
std::string describe(const Graph& graph, const Comparison& comparison) {
  std::string text;
  for (const Move& move : comparison.moves) {
    text += std::string(graph.node(move.node).name) + ": " + std::string(place_name(move.from)) +
            " -> " + std::string(place_name(move.to)) + " by " +
            std::string(change_name(move.cause)) + "\n";
  }
  for (const auto& removed : comparison.removed) {
    text += removed.node + ": " + std::string(place_name(removed.from)) + " -> gone\n";
  }
  return text;
}

std::string compared(const NamedPlaces& before, const std::vector<Step>& trail) {
  const Graph graph = graph_from_text(kGraph);
  return describe(graph, compare(graph, before, trail));
}

TEST_CASE("a move is blamed on the change after which the node stays where it is") {
  const NamedPlaces before = {{"a", Place::acc}, {"b", Place::acc}, {"c", Place::acc}};
  CHECK(compared(before, {{Change::model, places_of("caa")},
                          {Change::list, places_of("cca")},
                          {Change::settings, places_of("ccc")}}) ==
        "a: acc -> cpu by model\nb: acc -> cpu by list\nc: acc -> cpu by settings\n");
  CHECK(compared(before, {{Change::model, places_of("cca")},
                          {Change::list, places_of("aaa")},
                          {Change::settings, places_of("caa")}}) == "a: acc -> cpu by settings\n");
}

TEST_CASE("nodes that were absent are new; removed nodes are listed by name") {
  const NamedPlaces before = {
      {"a", Place::acc}, {"b", Place::cpu}, {"z", Place::cpu}, {"d", Place::acc}};
  CHECK(compared(before, {{Change::model, places_of("aac")}}) ==
        "b: cpu -> acc by model\nc: absent -> cpu by model\nd: acc -> gone\nz: cpu -> gone\n");
}

TEST_CASE("a new node is blamed on the model, even if the earlier list is unknown") {
  const NamedPlaces before = {{"a", Place::acc}, {"b", Place::acc}};
  CHECK(compared(before, {{Change::model_or_list, places_of("acc")}}) ==
        "b: acc -> cpu by model_or_list\nc: absent -> cpu by model\n");
}

SupportList list_of(const std::vector<std::string>& ops) {
  SupportList list;
  for (const std::string& op : ops) list.allow.emplace_back().op = op;
  return list;
}

std::string trail_of(const std::vector<SupportList>& lists, const SplitOptions& options,
                     const Origin& origin) {
  const Graph graph = graph_from_text(kGraph);
  const OpFacts facts;
  const auto split = split_graph({graph, lists, facts}, options);
  std::string text;
  for (const Step& step :
       make_trail({graph, facts, lists, options, split.value().partition}, origin)) {
    text += std::string(change_name(step.change)) + ": ";
    for (const NodeId node : graph.nodes()) text += place_name(step.places[node])[0];
    text += '\n';
  }
  return text;
}

TEST_CASE("a trail has a step for the model, and for each other change that was made") {
  const std::vector<SupportList> all = {list_of({"f", "g"})};
  const std::vector<SupportList> some = {list_of({"f"})};
  SplitOptions large;
  large.min_acc_size = 2;
  const Origin same{.is_same_model = false, .are_same_lists = true};
  CHECK(trail_of(all, {}, same) == "model: aaa\n");
  CHECK(trail_of(some, {}, {.lists = all}) == "model: aaa\nlist: aca\n");
  CHECK(trail_of(all, large, same) == "model: aaa\nsettings: aaa\n");
  CHECK(trail_of(some, large, {.is_same_model = true, .lists = all}) ==
        "program: aaa\nlist: aca\nsettings: ccc\n");
}

TEST_CASE("an unknown earlier list is blamed, or model and list together") {
  const std::vector<SupportList> some = {list_of({"f"})};
  CHECK(trail_of(some, {}, {.is_same_model = true}) == "list: aca\n");
  CHECK(trail_of(some, {}, {.is_same_model = false}) == "model_or_list: aca\n");
  CHECK(trail_of(some, {}, {}) == "model_or_list: aca\n");
}

TEST_CASE("the speed of the link is a setting where only some subgraphs are kept") {
  const std::vector<SupportList> all = {list_of({"f", "g"})};
  SplitOptions kept;
  kept.most_kept = 1;
  Link slow = default_link();
  slow.bytes_per_second /= 2;
  const Origin same{.are_same_lists = true, .options = kept};
  const Origin slower{.are_same_lists = true, .options = kept, .link = slow};
  CHECK(trail_of(all, kept, same) == "model: aaa\n");
  CHECK(trail_of(all, kept, slower) == "model: aaa\nsettings: aaa\n");
  CHECK(trail_of(all, {}, {.are_same_lists = true, .link = slow}) == "model: aaa\n");
}

TEST_CASE("names of parts are not a change; extensions of absent subgraphs are ignored") {
  const std::vector<SupportList> some = {list_of({"f"})};
  SplitOptions named;
  named.acc_prefix = "npu";
  CHECK(trail_of(some, named, {.is_same_model = true, .are_same_lists = true}) == "program: aca\n");
  Origin extended{.is_same_model = true, .are_same_lists = true};
  extended.options.extend = {ExtendOptions::Which::one, 7};
  CHECK(trail_of(some, {}, extended) == "program: aca\nsettings: aca\n");
}

TEST_CASE("the fingerprint changes with what can move a node, and with nothing else") {
  const auto of = [](std::string_view text) { return fingerprint(graph_from_text(text)); };
  const std::uint64_t base = of("input x\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u");
  CHECK(of("input x\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u") == base);
  CHECK(of("input y\nn@ v = Conv(y) {group=2, mode=\"same\"}\noutput v") == base);  // other values
  for (const std::string_view other : {
           "input x\nm@ u = Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x\nn@ u = Conw(x) {group=2, mode=\"same\"}\noutput u",
           "input x\nn@ u = ml::Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x\nn@ u = Conv(x) {group=3, mode=\"same\"}\noutput u",
           "input x\nn@ u = Conv(x) {group=2, mode=\"valid\"}\noutput u",
           "input x\nn@ u = Conv(x) {group=2}\noutput u",
           "input x\nn@ u = Conv(x, x) {group=2, mode=\"same\"}\noutput u",
           "input x\nn@ u = Conv(k=x) {group=2, mode=\"same\"}\noutput u",
           "input x: int8\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x: float32[2,N]\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x: float32[2,?]\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x\nn@ u: tuple(float32) = Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x\nopset \"\" 17\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u",
           "input x\nn@ u = Conv(x) {group=2, mode=\"same\"}\noutput u, x",
       }) {
    INFO(other);
    CHECK(of(other) != base);
  }
}

// ---- several targets ----

TEST_CASE("the targets of two results are told apart by name; one accelerator is any of them") {
  const std::vector<std::string> before = {"gpu", "npu"}, now = {"npu", "dsp"};
  const ComparedTargets compared = compare_targets(before, now);
  CHECK(compared.names == std::vector<std::string>{"npu", "dsp", "gpu"});
  const auto names_of = [&](const TargetPlaces& places) {
    std::string text;
    for (const Place place : places) text += std::string(place_name(place, compared.names)) + " ";
    return text;
  };
  CHECK(names_of(compared.before) == "gpu npu ");
  CHECK(names_of(compared.now) == "npu dsp ");
  CHECK(compare_targets({}, now).names.empty());
  CHECK(compare_targets(before, {}).now.empty());
  CHECK(place_name(Place::acc) == "acc");
  CHECK(place_name(Place::cpu, compared.names) == "cpu");
}

// Targets with a list each, and the split for them.
struct TargetsSplit {
  std::vector<SupportList> lists;
  std::vector<Target> targets;
  SplitOptions options;
  std::vector<std::string> names;

  void add(const std::string& name, const std::vector<std::string>& ops) {
    lists.push_back(list_of(ops));
    targets.push_back({.name = name, .first_list = lists.size() - 1, .end_list = lists.size()});
    options.target_prefixes.push_back("_run_on_" + name + "_");
    names.push_back(name);
  }
  Partition split(const Graph& graph) const {
    const OpFacts facts;
    auto made =
        split_graph({.graph = graph, .lists = lists, .facts = facts, .targets = targets}, options);
    REQUIRE(made.has_value());
    return made->partition;
  }
};

Comparison compare_splits(const Graph& graph, const TargetsSplit& before, const TargetsSplit& now,
                          const ComparedTargets& compared) {
  const OpFacts facts;
  const Partition partition = now.split(graph);
  const std::vector<Step> trail = make_trail({.graph = graph,
                                              .facts = facts,
                                              .lists = now.lists,
                                              .options = now.options,
                                              .partition = partition,
                                              .targets = now.targets,
                                              .places = compared.now},
                                             {.is_same_model = true,
                                              .lists = before.lists,
                                              .options = before.options,
                                              .targets = before.targets,
                                              .places = compared.before});
  return compare(graph, named_places(graph, before.split(graph), compared.before), trail);
}

std::string moves_of(const Graph& graph, const TargetsSplit& before, const TargetsSplit& now) {
  const ComparedTargets compared = compare_targets(before.names, now.names);
  std::string text;
  for (const Move& move : compare_splits(graph, before, now, compared).moves) {
    text += std::string(graph.node(move.node).name) + ": " +
            std::string(place_name(move.from, compared.names)) + " -> " +
            std::string(place_name(move.to, compared.names)) + " by " +
            std::string(change_name(move.cause)) + "\n";
  }
  return text;
}

TEST_CASE("nodes move between any two targets, and the change to blame is named") {
  const Graph graph = graph_from_text(kGraph);
  TargetsSplit before;
  before.add("npu", {"f"});
  before.add("gpu", {"f", "g"});
  TargetsSplit now;
  now.add("npu", {});
  now.add("gpu", {"f"});
  CHECK(moves_of(graph, before, now) ==
        "a: npu -> gpu by list\nb: gpu -> cpu by list\nc: npu -> gpu by list\n");
  TargetsSplit small = before;
  small.targets[0].min_acc_size = 2;
  CHECK(moves_of(graph, before, small) == "a: npu -> gpu by settings\nc: npu -> gpu by settings\n");
  TargetsSplit one;
  one.add("npu", {"f"});
  one.targets.clear();
  one.names.clear();
  one.options = {};
  CHECK(moves_of(graph, one, before) == "b: cpu -> acc by list\n");
  CHECK(moves_of(graph, before, one) == "b: acc -> cpu by list\n");
  CHECK(moves_of(graph, before, before).empty());
}

TEST_CASE("moves between targets are those that comparing the placements node by node finds") {
  std::mt19937 dice(28);
  const auto ops_of = [&](const Graph& graph) {
    std::vector<std::string> ops;
    for (const NodeId node : graph.nodes()) {
      if (dice() % 2 == 0) ops.emplace_back(graph.op(node));
    }
    return ops;
  };
  constexpr std::array<const char*, 4> kNames = {"npu", "gpu", "dsp", "tpu"};
  std::size_t moved = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const RandomGraph random = random_graph(seed, 12);
    INFO(random.text);
    const auto make = [&] {
      TargetsSplit made;
      const std::size_t first = dice() % 2;
      const std::size_t count = 2 + dice() % 2;
      for (std::size_t i = 0; i < count; ++i) {
        made.add(kNames[first + i], ops_of(random.graph));
        made.targets.back().min_acc_size = 1 + dice() % 3;
      }
      return made;
    };
    const TargetsSplit before = make();
    const TargetsSplit now = make();
    const ComparedTargets compared = compare_targets(before.names, now.names);
    const auto name_in = [&](const TargetsSplit& side, const Partition& partition, NodeId node) {
      const TargetId target = partition.target(partition.part_of[node]);
      return target == kNone<TargetId> ? std::string("cpu") : side.names[index(target)];
    };
    const Partition was = before.split(random.graph), is = now.split(random.graph);
    std::string expected;
    for (const NodeId node : random.graph.nodes()) {
      const std::string from = name_in(before, was, node), to = name_in(now, is, node);
      if (from == to) continue;
      expected += std::string(random.graph.node(node).name) + " " + from + " " + to + "\n";
      ++moved;
    }
    std::string found;
    for (const Move& move : compare_splits(random.graph, before, now, compared).moves) {
      found += std::string(random.graph.node(move.node).name) + " " +
               std::string(place_name(move.from, compared.names)) + " " +
               std::string(place_name(move.to, compared.names)) + "\n";
    }
    REQUIRE(found == expected);
  }
  CHECK(moved > 500);
}

}  // namespace

// ---- gate test ----

namespace {

// 19 of 20 nodes, 3 of 4 GFLOP, half of the parameters; two subgraphs, 1000 bytes, 50 QPS.
Measures some_measures() {
  return {.nodes = {19, 20},
          .flops = {{3e9, 4e9}},
          .parameter_bytes = {512, 1024},
          .acc_subgraphs = 2,
          .cpu_nodes = 1,
          .boundary_bytes = 1000,
          .qps = 50};
}

// "min-coverage-nodes holds: 0.95 of 0.95\n"
std::string describe(const std::vector<Gate>& gates) {
  std::ostringstream text;
  for (const Gate& gate : gates) {
    text << row_of(gate.kind).name << ' ' << gate_verdict_name(gate.verdict) << ": ";
    if (gate.actual) text << *gate.actual << " of ";
    text << gate.limit << '\n';
  }
  return text.str();
}

std::string evaluated(const GateLimits& limits, const GateFacts& facts) {
  return describe(evaluate_gates(limits, facts));
}

TEST_CASE(
    "whether a split is faster is not known where unmatched time is more than the difference") {
  Measures now = some_measures();
  now.latency_us = 105;
  now.all_cpu_us = 100;
  const auto verdict = [&] { return evaluated({.faster_than_cpu = true}, {.now = now}); };
  CHECK(verdict() == "faster-than-cpu fails: 105 of 100\n");
  now.cpu_unmatched_us = 4;
  CHECK(verdict() == "faster-than-cpu fails: 105 of 100\n");
  now.cpu_unmatched_us = 6;
  CHECK(verdict() == "faster-than-cpu not_known: 105 of 100\n");
  now.latency_us = 95;
  CHECK(verdict() == "faster-than-cpu holds: 95 of 100\n");
  now.acc_unmatched_us = 10;
  CHECK(verdict() == "faster-than-cpu not_known: 95 of 100\n");
  now.acc_subgraphs = 0;
  now.latency_us = 100;
  CHECK(verdict() == "faster-than-cpu fails: 100 of 100\n");
}

TEST_CASE("a share of FLOPs of which most are not known meets and breaks no limit") {
  Measures now = some_measures();
  now.flops.computing = now.flops.unknown = 15;
  const auto verdict = [&] { return evaluated({.flops_coverage = 0.5}, {.now = now}); };
  CHECK(verdict() == "min-coverage-flops holds: 0.75 of 0.5\n");
  now.flops.computing = 14;
  CHECK(verdict() == "min-coverage-flops not_known: 0.5\n");
  now.flops.acc = 0;
  CHECK(verdict() == "min-coverage-flops not_known: 0.5\n");
}

TEST_CASE("the nodes in bodies of unknown FLOPs count as nodes that are not known") {
  Measures now = some_measures();
  now.flops.computing = now.flops.unknown = 15;
  now.flops.inside = 1;
  CHECK(evaluated({.flops_coverage = 0.5}, {.now = now}) == "min-coverage-flops not_known: 0.5\n");
}

TEST_CASE("coverage of one of several targets is that target's share of the whole model") {
  Measures now = some_measures();
  now.targets = {{.name = "npu", .nodes = {15, 20}, .flops = {3e9, 4e9}, .parameter_bytes = {0, 1}},
                 {.name = "gpu", .nodes = {4, 20}, .flops = {0, 4e9}, .parameter_bytes = {1, 1}}};
  const auto gates = [&](const std::string& target, GateKind kind, double least) {
    return evaluated({.target_coverage = {{target, kind, least}}}, {.now = now});
  };
  CHECK(gates("npu", GateKind::min_node_coverage, 0.75) ==
        "min-coverage-nodes holds: 0.75 of 0.75\n");
  CHECK(gates("gpu", GateKind::min_node_coverage, 0.75) ==
        "min-coverage-nodes fails: 0.2 of 0.75\n");
  CHECK(gates("gpu", GateKind::min_flops_coverage, 0) == "min-coverage-flops holds: 0 of 0\n");
  CHECK(gates("npu", GateKind::min_parameter_coverage, 0.5) ==
        "min-coverage-params fails: 0 of 0.5\n");
  CHECK(gates("dsp", GateKind::min_node_coverage, 0) == "min-coverage-nodes not_known: 0\n");
}

TEST_CASE("rows of gates stand in the order of their kinds, and each word sets one limit") {
  CHECK(row_of(GateKind::min_node_coverage).name == "min-coverage-nodes");
  CHECK(row_of(GateKind::require).name == "require");
  CHECK(row_of(GateKind::max_new_cpu_nodes).name == "max-new-cpu-nodes");
  CHECK(row_of(GateKind::latency_regression).name == "regression-latency");
  std::set<std::string_view> words;
  for (const GateRow& row : kGates) {
    CHECK(row.word.empty() == (row.number == nullptr && row.count == nullptr));
    CHECK((row.number == nullptr || row.count == nullptr));
    if (!row.word.empty()) CHECK(words.insert(row.word).second);
  }
  CHECK(words.size() == 12);
}

TEST_CASE("a limit that is met exactly holds") {
  const GateLimits limits{.node_coverage = 0.95,
                          .flops_coverage = 0.75,
                          .parameter_coverage = 0.5,
                          .acc_subgraphs = 2,
                          .cpu_nodes = 1,
                          .boundary_bytes = 1000,
                          .qps = 50,
                          .unknown_shapes = 0};
  CHECK(evaluated(limits, {.now = some_measures()}) ==
        "min-coverage-nodes holds: 0.95 of 0.95\n"
        "min-coverage-flops holds: 0.75 of 0.75\n"
        "min-coverage-params holds: 0.5 of 0.5\n"
        "max-acc-subgraphs holds: 2 of 2\n"
        "max-cpu-nodes holds: 1 of 1\n"
        "max-boundary-bytes holds: 1000 of 1000\n"
        "min-qps holds: 50 of 50\n"
        "no-unknown-shapes holds: 0 of 0\n");
}

TEST_CASE("a limit that is missed by little fails") {
  const GateLimits limits{.node_coverage = 0.9500001,
                          .flops_coverage = 0.7500001,
                          .parameter_coverage = 0.5000001,
                          .acc_subgraphs = 1,
                          .cpu_nodes = 0,
                          .boundary_bytes = 999,
                          .qps = 50.001,
                          .unknown_shapes = 0};
  for (const Gate& gate : evaluate_gates(limits, {.now = some_measures(), .unknown_shapes = 1})) {
    CHECK(gate.verdict == GateVerdict::fails);
  }
}

TEST_CASE("every share of nodes equals itself when written as a decimal") {
  for (int total = 1; total <= 400; ++total) {
    for (int acc = 0; acc <= total; ++acc) {
      Measures now = some_measures();
      now.nodes = {static_cast<double>(acc), static_cast<double>(total)};
      const double written = static_cast<double>(acc) / total;
      REQUIRE(evaluate_gates({.node_coverage = written}, {.now = now}).front().passed());
    }
  }
}

TEST_CASE("no gate is made if no limit is given") {
  CHECK(evaluated({}, {.now = some_measures()}).empty());
  CHECK(evaluated({.new_cpu_nodes = 0, .regression = 0.0}, {.now = some_measures()}).empty());
}

TEST_CASE("bytes and rates hold only when all that crosses the link is known") {
  Measures now = some_measures();
  now.is_boundary_known = false;
  CHECK(evaluated({.boundary_bytes = 2000, .qps = 10}, {.now = now}) ==
        "max-boundary-bytes not_known: 1000 of 2000\n"
        "min-qps not_known: 50 of 10\n");
  CHECK(evaluated({.boundary_bytes = 500, .qps = 60}, {.now = now}) ==
        "max-boundary-bytes fails: 1000 of 500\n"
        "min-qps fails: 50 of 60\n");
  now.qps = std::nullopt;
  CHECK(evaluated({.qps = 10}, {.now = now}) == "min-qps not_known: 10\n");
  now.is_boundary_known = true;
  CHECK(evaluated({.qps = 10}, {.now = now}) == "min-qps holds: 10\n");
  now.has_link = false;
  CHECK(evaluated({.qps = 10}, {.now = now}) == "min-qps not_known: 10\n");
}

TEST_CASE("of bytes of which none is known there is no sum") {
  Measures now = some_measures();
  now.boundary_bytes = 0;
  now.is_boundary_known = false;
  const Gate gate = evaluate_gates({.boundary_bytes = 1000}, {.now = now}).front();
  CHECK(gate.verdict == GateVerdict::not_known);
  CHECK_FALSE(gate.actual);
}

TEST_CASE("the share of FLOPs is unknown if no node's FLOPs are known") {
  Measures now = some_measures();
  now.flops = {{}, 0, 20};
  CHECK(evaluated({.flops_coverage = 0.0}, {.now = now}) == "min-coverage-flops not_known: 0\n");
  now.flops.unknown = 0;
  CHECK(evaluated({.flops_coverage = 1.0}, {.now = now}) == "min-coverage-flops holds: 1 of 1\n");
}

TEST_CASE("coverage and QPS may fall by the share allowed, and no further") {
  const Measures before = some_measures();
  Measures now = before;
  now.nodes = {18, 20};
  now.qps = 49;
  CHECK(evaluated({.regression = 0.02}, {.now = now, .before = before}) ==
        "regression-coverage-nodes fails: 0.9 of 0.931\n"
        "regression-coverage-flops holds: 0.75 of 0.735\n"
        "regression-coverage-params holds: 0.5 of 0.49\n"
        "regression-qps holds: 49 of 49\n");
}

TEST_CASE("a share of FLOPs is compared while the FLOPs of the baseline are still known") {
  Measures before = some_measures();
  Measures now = before;
  const auto flops_gate = [&] {
    return describe({evaluate_gates({.regression = 0.1}, {.now = now, .before = before}).at(1)});
  };
  now.flops.computing = 3;
  before.flops.computing = 3;
  now.flops.unknown = 2;  // of new nodes: what was known still is
  CHECK(flops_gate() == "regression-coverage-flops holds: 0.75 of 0.675\n");
  now.flops.acc = now.flops.total = 1e9;
  CHECK(flops_gate() == "regression-coverage-flops not_known: 0.675\n");
  before.flops.unknown = 2;  // they were not known then either: the model shrank
  CHECK(flops_gate() == "regression-coverage-flops holds: 1 of 0.675\n");
  now.flops = {{}, 0, 2};
  CHECK(flops_gate() == "regression-coverage-flops not_known: 0.675\n");
  before.flops = {{}, 0, 2};
  CHECK(flops_gate() == "regression-coverage-flops not_applicable: 0\n");
}

TEST_CASE("a rate is compared with a baseline that had one") {
  Measures before = some_measures();
  Measures now = before;
  const auto qps_gate = [&] {
    return describe({evaluate_gates({.regression = 0.0}, {.now = now, .before = before}).back()});
  };
  now.qps = std::nullopt;  // the link no longer sets a bound
  CHECK(qps_gate() == "regression-qps not_applicable: 0\n");
  now.is_boundary_known = false;  // unless some bytes are unknown
  CHECK(qps_gate() == "regression-qps not_known: 50\n");
  now = some_measures();
  before.qps = std::nullopt;  // the link set no bound
  CHECK(qps_gate() == "regression-qps fails: 50 of 0\n");
  before.acc_subgraphs = 0;  // since no node was on the accelerator
  CHECK(qps_gate() == "regression-qps not_applicable: 50 of 0\n");
  before = some_measures();
  before.is_boundary_known = false;  // it was at most 50, and may have been less
  CHECK(qps_gate() == "regression-qps holds: 50 of 50\n");
  now.qps = 10;
  CHECK(qps_gate() == "regression-qps not_applicable: 0\n");
}

TEST_CASE("new CPU nodes are counted against a baseline") {
  const GateFacts facts{.now = some_measures(), .before = some_measures(), .new_cpu_nodes = 2};
  CHECK(evaluated({.new_cpu_nodes = 2}, facts) == "max-new-cpu-nodes holds: 2 of 2\n");
  CHECK(evaluated({.new_cpu_nodes = 1}, facts) == "max-new-cpu-nodes fails: 2 of 1\n");
}

TEST_CASE("a requirement fails with one node on the CPU, and does not apply without a node") {
  CHECK(require_gate("Conv", 3, 0).verdict == GateVerdict::holds);
  CHECK(require_gate("Conv", 3, 1).verdict == GateVerdict::fails);
  CHECK(require_gate("Conv", 0, 0).verdict == GateVerdict::not_applicable);
}

TEST_CASE("an unknown latency does not pass a gate; the CPU's time must be undercut") {
  const GateLimits limits{.latency_us = 20000, .faster_than_cpu = true};
  GateFacts facts{.now = some_measures()};
  CHECK(evaluated(limits, facts) ==
        "max-latency not_known: 20000\n"
        "faster-than-cpu not_known: 0\n");
  facts.now.latency_us = 20000;
  facts.now.all_cpu_us = 20000;
  CHECK(evaluated(limits, facts) ==
        "max-latency holds: 20000 of 20000\n"
        "faster-than-cpu fails: 20000 of 20000\n");
}

TEST_CASE("a latency may rise by the allowed share if the baseline has one") {
  const GateLimits limits{.regression = 0.1};
  GateFacts facts{.now = some_measures(), .before = some_measures()};
  CHECK(evaluated(limits, facts).find("latency") == std::string::npos);
  facts.before->latency_us = 1000;
  CHECK(evaluated(limits, facts).find("regression-latency not_known: 1100") != std::string::npos);
  facts.now.latency_us = 1100;
  CHECK(evaluated(limits, facts).find("regression-latency holds: 1100 of 1100") !=
        std::string::npos);
  facts.now.latency_us = 1101;
  CHECK(evaluated(limits, facts).find("regression-latency fails: 1101 of 1100") !=
        std::string::npos);
}

}  // namespace

}  // namespace cleave
