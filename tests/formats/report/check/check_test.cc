#include <nlohmann/json.hpp>

#include "core/lists/support.h"
#include "formats/lists/support_file.h"
#include "formats/report/check/check.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/report/check/baseline_case.h"

namespace cleave {

// ---- check test ----
//
// The gate end to end: a report becomes a baseline, the model, the list or the settings change, and
// the check must name the nodes that moved and the change that moved them.

namespace {

// "b acc->cpu list: the list does not have op "g"\n"
std::string describe(const std::vector<CheckedMove>& moves) {
  std::string text;
  for (const CheckedMove& move : moves) {
    text += move.node.name + " " + std::string(place_name(move.from)) + "->" +
            std::string(place_name(move.to)) + " " + std::string(change_name(move.change)) +
            (move.node.detail.empty() ? "" : ": " + move.node.detail) + "\n";
  }
  return text;
}

constexpr std::string_view kGraph = "input x\na = f(x)\nb = g(a)\nc = f(b)\noutput c";

TEST_CASE("a report that becomes a baseline keeps its measures, settings, places and lists") {
  SplitOptions options;
  options.start = StartSide::acc;
  options.min_acc_size = 3;
  options.skip_fusion = true;
  options.allow_non_tensor = true;
  options.extend = {ExtendOptions::Which::automatic, 0};
  options.keep_qdq = true;
  options.host_shapes = true;
  const ReportCase result = make_report_case(kGraph, "f\ng\n", options);
  const EarlierResult found = earlier(result);
  CHECK(found.options == options);
  CHECK(found.other_settings.empty());
  CHECK(found.lists == std::vector<std::string>{"f\ng\n"});
  CHECK(found.places == named_places(result.model.graph, result.split.partition));
  const Measures& measures = found.measures;
  CHECK(measures.nodes.acc == 3);
  CHECK(measures.nodes.total == 3);
  CHECK(measures.acc_subgraphs == 1);
  CHECK(measures.cpu_nodes == 0);
  CHECK(measures.boundary_bytes == 32);
  CHECK(measures.is_boundary_known);
  REQUIRE(measures.qps.has_value());
  CHECK(*measures.qps == result.preview.bound->shared_qps);
}

TEST_CASE("if nothing changed, no node moved") {
  const ReportCase result = make_report_case(kGraph, "f\n");
  const EarlierResult before = earlier(result);
  const CheckRun run = check_report(result.report(), {.limits = {.new_cpu_nodes = 0}}, &before);
  CHECK(run.regressions.empty());
  CHECK(run.improvements.empty());
  CHECK(run.passed());
}

TEST_CASE("each change is blamed for the nodes that it moves, with the present reason") {
  const EarlierResult before = earlier(make_report_case(kGraph, "f\ng\n"));
  const auto moved = [&](const ReportCase& now) {
    const CheckRun run = check_report(now.report(), {.limits = {.new_cpu_nodes = 0}}, &before);
    CHECK(run.passed() == run.regressions.empty());
    return describe(run.regressions) + describe(run.improvements);
  };
  CHECK(moved(make_report_case(kGraph, "f\n")) ==
        "b acc->cpu list: the list does not have op \"g\"\n");
  CHECK(moved(make_report_case("input x\na = f(x)\nb = h(a)\nc = f(b)\noutput c", "f\ng\n")) ==
        "b acc->cpu model: the list does not have op \"h\"\n");
  SplitOptions large;
  large.min_acc_size = 4;
  CHECK(
      moved(make_report_case("input x\na = f(x)\nb = g(a)\nc = f(b)\noutput c", "f\ng\n", large)) ==
      "a acc->cpu settings: its accelerator subgraph has 3 nodes, below the minimum of 4\n"
      "b acc->cpu settings: its accelerator subgraph has 3 nodes, below the minimum of 4\n"
      "c acc->cpu settings: its accelerator subgraph has 3 nodes, below the minimum of 4\n");
  large.min_acc_size = 2;
  CHECK(moved(make_report_case("input x\na = f(x)\nn = h(a)\nb = g(n)\nc = f(b)\noutput c", "f\n",
                               large)) ==
        "a acc->cpu settings: its accelerator subgraph has 1 node, below the minimum of 2\n"
        "n absent->cpu model: the list does not have op \"h\"\n"
        "b acc->cpu list: the list does not have op \"g\"\n"
        "c acc->cpu settings: its accelerator subgraph has 1 node, below the minimum of 2\n");
}

TEST_CASE("a reason is reported at the rule that caused it") {
  const ReportCase result = make_report_case(
      "input x\na: scalar = size(x)\nb = view(x, a)\nc = f(x)\nd = g(x)\noutput b, c, d",
      "{\"format\": \"cleave.support\", \"version\": 1,\n"
      " \"allow\": [\"size\", \"view\", \"f\"],\n"
      " \"deny\": [{\"name\": \"c\"},\n"
      "           {\"op\": \"size\"}]}");
  const CheckRun run = check_report(result.report(), {}, nullptr);
  std::string places;
  for (const CheckedNode& node : run.cpu_nodes) {
    places += node.name + " " + node.place.file + ":" + std::to_string(node.place.line) + "\n";
  }
  CHECK(places == "a npu.txt:4\nb npu.txt:4\nc npu.txt:3\nd npu.txt:0\n");
}

TEST_CASE("a requirement asks for nodes by name, by glob and by op") {
  const Graph graph =
      graph_from_text("input x\na1 = f(x)\na2 = ml::g(a1)\nb = g(a2)\ng = h(b)\noutput g");
  CHECK(names_of(graph, RequiredNodes(graph).of("a*")) == "a1 a2");
  CHECK(names_of(graph, RequiredNodes(graph).of("g")) == "a2 b g");
  CHECK(names_of(graph, RequiredNodes(graph).of("ml::g")) == "a2");
  CHECK(names_of(graph, RequiredNodes(graph).of("ai.onnx::g")) == "b");
  CHECK(RequiredNodes(graph).of("z").empty());
  const Graph bodies =
      graph_from_text("input x\na = f(x)\ni = If(a, ^x)\n| h = g(x)\nb = h(i)\noutput b");
  CHECK(names_of(bodies, RequiredNodes(bodies).of("g")) == "i");
  CHECK(names_of(bodies, RequiredNodes(bodies).of("h")) == "i b");
}

TEST_CASE("an invalid baseline is refused with the field at fault") {
  const std::string report = report_json(make_report_case(kGraph, "f\n").report());
  const auto fault = [](const std::string& text) {
    const auto baseline = parse_baseline("main.json", text);
    if (baseline) return std::string("none");
    const Diagnostic& one = baseline.error().front();
    CHECK(one.notes == std::vector<std::string>{"cleave check -o FILE writes a new one"});
    return one.file + ":" + std::to_string(one.line) + ":" + std::to_string(one.column) + ": " +
           one.message;
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = report;
    const std::size_t at = text.find(from);
    REQUIRE(at != text.npos);
    return fault(text.replace(at, from.size(), to));
  };
  CHECK(fault(report) == "none");
  CHECK(fault("[]") == "main.json:1:1: the baseline is not an object");
  CHECK(fault("{\"format\": \"cleave.graph\"}") ==
        "main.json:1:12: \"format\" is \"cleave.graph\": a baseline is \"cleave.baseline\" or "
        "\"cleave.report\"");
  CHECK(changed("\"version\": 1", "\"version\": 2") ==
        "main.json:3:13: \"version\" is 2: this program reads cleave.report version 1");
  CHECK(changed("\"input_bytes\": 16", "\"input_bytes\": -1") ==
        "main.json:110:19: \"partitions\" / \"0\" / \"input_bytes\" is not a whole number of 0 or "
        "more");
  CHECK(changed("\"b\": \"_run_on_cpu_1\"", "\"b\": \"_run_on_cpu_9\"") ==
        "main.json:162:14: \"node_map\" puts \"b\" into no partition");
  CHECK(changed("\"start\": \"reference\"", "\"start\": \"middle\"") ==
        "main.json:29:12: \"settings\" / \"start\" is refused: \"middle\" is not reference, cpu, "
        "acc or fewest");
  CHECK(changed("\"link\"", "\"lynk\"") == "main.json:1:1: the baseline has no \"link\"");
  const std::string contents = "\"contents\": [";
  REQUIRE(report.find(contents) != std::string::npos);
  std::string lists;
  for (std::size_t i = 0; i < kMostSupportLists; ++i) lists += "\"\", ";
  CHECK(changed(contents, contents + lists) ==
        "main.json:38:15: \"support\" / \"contents\" has more support lists than can be read at "
        "once");
  CHECK(fault("{\"format\":\n  oops}") ==
        "main.json:2:3: the baseline is not JSON: syntax error while parsing value - "
        "invalid literal; last read: '\"format\":<U+000A>  o'");
  CHECK(fault("{\"version\": 1e999}") ==
        "main.json:1:13: the baseline has a number that is too large: '1e999'");
}

TEST_CASE("unknown settings are reported and ignored") {
  std::string report = report_json(make_report_case(kGraph, "f\n").report());
  report.replace(report.find("\"start\""), 7, "\"colour\": \"red\", \"start\"");
  const auto baseline = parse_baseline("main.json", report);
  REQUIRE(baseline.has_value());
  CHECK(baseline->find("any", "any")->other_settings == std::vector<std::string>{"colour"});
}

TEST_CASE("a setting's name from a baseline is fit for a terminal") {
  const auto result = make_report_case(kGraph, "f\n");
  std::string report = report_json(result.report());
  report.replace(report.find("\"start\""), 7, "\"col\\u001b[2Jour\": \"red\", \"start\"");
  const auto baseline = parse_baseline("main.json", report);
  REQUIRE(baseline.has_value());
  const CheckRun run = check_report(result.report(), {}, baseline->find("any", "any"));
  CHECK(run.settings == std::vector<std::string>{"col\\x1B[2Jour: not known to this version"});
}

}  // namespace

// ---- check words test ----

namespace {

// A run of 10 nodes, of which 7 are on the accelerator.
CheckRun run_of() {
  CheckRun run;
  run.model = "m.onnx";
  run.list = "npu.json";
  run.now.nodes = {.acc = 7, .total = 10};
  run.now.flops = {{.acc = 1e6, .total = 4e6}};
  run.now.parameter_bytes = {.acc = 1024, .total = 2048};
  run.now.is_boundary_known = true;
  run.now.acc_subgraphs = 2;
  return run;
}

// "TITLE: IS | MUST BE"
std::string told(const Gate& gate, const CheckRun& run = run_of()) {
  return gate_title(gate) + ": " + gate_actual(run, gate) + " | " + gate_limit(run, gate);
}

TEST_CASE("each gate says what it is and what it must be") {
  using K = GateKind;
  CHECK(told({.kind = K::min_node_coverage, .limit = 0.5, .actual = 0.7}) ==
        "node coverage: 70% (7 of 10 nodes) | at least 50%");
  CHECK(told({.kind = K::min_flops_coverage, .limit = 0.5, .actual = 0.25}) ==
        "FLOPs coverage: 25% of 4 MFLOP | at least 50%");
  CHECK(told({.kind = K::min_parameter_coverage, .limit = 0.5, .actual = 0.5}) ==
        "parameter coverage: 50% of 2 KiB | at least 50%");
  CHECK(told({.kind = K::max_acc_subgraphs, .limit = 1, .actual = 2}) ==
        "accelerator subgraphs: 2 | at most 1");
  CHECK(told({.kind = K::max_cpu_nodes, .limit = 1000, .actual = 2000}) ==
        "CPU nodes: 2,000 | at most 1,000");
  CHECK(told({.kind = K::max_unchecked, .limit = 0, .actual = 1}) ==
        "unchecked nodes: 1 | at most 0");
  CHECK(told({.kind = K::max_boundary_bytes, .limit = 1024, .actual = 4096}) ==
        "boundary bytes: 4 KiB | at most 1 KiB");
  CHECK(told({.kind = K::min_qps, .limit = 100, .actual = 250}) ==
        "link-bound QPS: 250 QPS (full duplex) | at least 100");
  CHECK(told({.kind = K::max_latency, .limit = 1000, .actual = 2000}) ==
        "latency: 2 ms | at most 1 ms");
  CHECK(told({.kind = K::faster_than_cpu, .limit = 3000, .actual = 2000}) ==
        "faster than the CPU: 2 ms | below 3 ms");
  CHECK(told({.kind = K::faster_than_cpu, .actual = 2000}) ==
        "faster than the CPU: 2 ms | below that of the CPU");
  CHECK(told({.kind = K::no_unknown_shapes, .limit = 0, .actual = 3}) ==
        "unknown shapes: 3 | at most 0");
  CHECK(told({.kind = K::max_new_cpu_nodes, .limit = 1, .actual = 3}) ==
        "new CPU nodes: 3 | at most 1");
  CHECK(told({.kind = K::latency_regression, .limit = 1000, .actual = 2000, .baseline = 900}) ==
        "latency kept: 2 ms, was 900 us | at most 1 ms");
  CHECK(told({.kind = K::node_coverage_regression, .limit = 0.6, .actual = 0.5, .baseline = 0.7}) ==
        "node coverage kept: 50%, was 70% | at least 60%");
  CHECK(
      told({.kind = K::flops_coverage_regression, .limit = 0.6, .actual = 0.5, .baseline = 0.7}) ==
      "FLOPs coverage kept: 50%, was 70% | at least 60%");
  CHECK(told({.kind = K::parameter_coverage_regression,
              .limit = 0.6,
              .actual = 0.5,
              .baseline = 0.7}) == "parameter coverage kept: 50%, was 70% | at least 60%");
  CHECK(told({.kind = K::qps_regression, .limit = 90, .actual = 50, .baseline = 100}) ==
        "link-bound QPS kept: 50 QPS, was 100 | at least 90");
  CHECK(told({.kind = K::qps_regression, .actual = 50}) ==
        "link-bound QPS kept: 50 QPS, was not bounded | ");
}

TEST_CASE("what is not known, or known in part, is said to be so") {
  using K = GateKind;
  CheckRun run = run_of();
  run.now.is_boundary_known = false;
  run.now.flops.unknown = 1;
  CHECK(told({.kind = K::max_boundary_bytes, .limit = 1024, .actual = 4096}, run) ==
        "boundary bytes: more than 4 KiB | at most 1 KiB");
  CHECK(told({.kind = K::min_qps, .limit = 100, .actual = 250}, run) ==
        "link-bound QPS: below 250 QPS (full duplex) | at least 100");
  CHECK(told({.kind = K::min_flops_coverage, .limit = 0.5, .actual = 0.25}, run) ==
        "FLOPs coverage: 25% of the known 4 MFLOP | at least 50%");
  CHECK(told({.kind = K::max_latency, .limit = 1, .verdict = GateVerdict::not_known}) ==
        "latency: not known | at most 1 us");
  CHECK(told({.kind = K::node_coverage_regression}) ==
        "node coverage kept: not known of the baseline | ");
  run.before = Measures();
  run.before->is_boundary_known = true;
  CHECK(told({.kind = K::qps_regression}, run) == "link-bound QPS kept: not bounded | ");
  run.before->is_boundary_known = false;
  CHECK(told({.kind = K::qps_regression}, run) ==
        "link-bound QPS kept: not known of the baseline | ");
  run.now.acc_subgraphs = 0;
  CHECK(told({.kind = K::faster_than_cpu, .limit = 3000, .actual = 3000}, run) ==
        "faster than the CPU: all of it on the CPU | below 3 ms");
}

TEST_CASE("a share has as many digits as tell it from its limit") {
  const auto shares = [](double actual, double limit) {
    const Gate gate{.kind = GateKind::node_coverage_regression,
                    .limit = limit,
                    .actual = actual,
                    .baseline = limit};
    return gate_actual(run_of(), gate) + " | " + gate_limit(run_of(), gate);
  };
  CHECK(shares(0.95, 0.95) == "95%, was 95% | at least 95%");
  CHECK(shares(0.9496, 0.95) == "94.96%, was 95.00% | at least 95.00%");
  CHECK(shares(0.949999, 0.95) == "94.9999%, was 95.0000% | at least 95.0000%");
  CHECK(shares(0.94, 0.95) == "94%, was 95% | at least 95%");
  CHECK(shares(0.95 - 1e-15, 0.95) == "95%, was 95% | at least 95%");
}

TEST_CASE("required nodes are on the accelerator, or it is said how many are not") {
  Gate gate{.kind = GateKind::require, .subject = "npu:Conv", .actual = 0};
  CHECK(told(gate) == "require \"npu:Conv\": on the accelerator | on the accelerator");
  gate.verdict = GateVerdict::fails;
  gate.actual = 1;
  CHECK(told(gate) == "require \"npu:Conv\": 1 node on the CPU | on the accelerator");
  CheckRun run = run_of();
  for (const auto& [name, nodes] : {std::pair("gpu", 1.0), std::pair("npu", 6.0)}) {
    TargetMeasures& target = run.now.targets.emplace_back();
    target.name = name;
    target.nodes = {.acc = nodes, .total = 10};
  }
  CHECK(told(gate, run) == "require \"npu:Conv\": 1 node not on npu | on npu");
  gate.actual = 2;
  CHECK(gate_outcome(run, gate) == "2 nodes not on npu");
  CHECK(gate_sentence(run, {gate, "a, b"}) == "require \"npu:Conv\": 2 nodes not on npu; a, b");
  gate.verdict = GateVerdict::holds;
  CHECK(told(gate, run) == "require \"npu:Conv\": on npu | on npu");
  gate.actual = std::nullopt;
  CHECK(told(gate, run) == "require \"npu:Conv\": no such node | on npu");
  const Gate of_one{
      .kind = GateKind::min_node_coverage, .subject = "npu", .limit = 0.5, .actual = 0.6};
  CHECK(told(of_one, run) == "node coverage of npu: 60% (6 of 10 nodes) | at least 50%");
  CHECK(gate_name(of_one).ends_with(" npu"));
  CHECK(gate_sentence(run, {of_one, ""}) ==
        "node coverage of npu: 60% (6 of 10 nodes), must be at least 50%");
}

TEST_CASE("the verdict of a check counts gates that fail and models that were not checked") {
  const Gate good{.kind = GateKind::max_cpu_nodes, .limit = 1, .actual = 1};
  Gate bad = good;
  bad.verdict = GateVerdict::fails;
  const auto verdict = [&](std::vector<Gate> gates, std::size_t errors) {
    Check check;
    check.runs.push_back(run_of());
    for (const Gate& gate : gates) check.runs.back().gates.push_back({gate, ""});
    check.errors.resize(errors);
    return verdict_text(check);
  };
  CHECK(verdict({}, 0) == "baseline written; nothing was checked");
  CHECK(verdict({}, 1) == "1 model not checked");
  CHECK(verdict({good}, 0) == "the gate holds");
  CHECK(verdict({bad}, 0) == "the gate fails");
  CHECK(verdict({good, good}, 0) == "all 2 gates hold");
  CHECK(verdict({good, bad}, 0) == "1 of 2 gates fails");
  CHECK(verdict({bad, bad}, 0) == "2 of 2 gates fail");
  CHECK(verdict({good}, 2) == "2 models not checked; the gate holds");
}

TEST_CASE("a page names models that were not checked in the order given") {
  const Check check{.runs = {}, .errors = {{"a.onnx", "is empty"}, {"b.onnx", "is empty"}}};
  const std::string page = check_page(check);
  REQUIRE(page.rfind("b.onnx") != page.npos);
  CHECK(page.rfind("a.onnx") < page.rfind("b.onnx"));
}

TEST_CASE("what changed is named, with the settings one after the other") {
  CHECK(change_text(Change::model, {}) == "the model changed");
  CHECK(change_text(Change::list, {}) == "the support list changed");
  CHECK(change_text(Change::settings, {"a", "b"}) == "the settings changed: a; b");
  CHECK(change_text(Change::settings, {}) == "the settings changed");
  CHECK(change_text(Change::model_or_list, {}) == "the model or the support list changed");
  CHECK(change_text(Change::program, {}) == "another version of cleave made the baseline");
}

CheckedMove move_of(const std::string& name, const std::string& cause, Place from = Place::acc,
                    Place to = Place::cpu) {
  CheckedNode node;
  node.name = name;
  node.cause = cause;
  node.detail = cause.empty() ? "" : cause + " of " + name;
  return {node, from, to, Change::list};
}

TEST_CASE("nodes that moved are grouped by their cause, and those that are new are marked") {
  CHECK(moves_text({}, "moved", {}).empty());
  CHECK(moves_text({move_of("a", "why")}, "moved to the CPU", {}) ==
        "\n  1 node moved to the CPU\n    the support list changed\n      a: why of a\n");
  CHECK(moves_text({move_of("a", "why"), move_of("b", "why"), move_of("c", "")}, "moved", {}) ==
        "\n  3 nodes moved\n    the support list changed\n      a, b\n        why\n      c\n");
  CHECK(moves_text({move_of("a", "why", Place::absent)}, "moved", {}).find("a (new): why of a") !=
        std::string::npos);
  CHECK(moves_text({move_of("a", "why", Place::cpu, Place::acc)}, "moved", {}) ==
        "\n  1 node moved\n    the support list changed\n      a: it was on the CPU: why of a\n");
  CHECK(
      moves_text({move_of("a", "why", Place::cpu, Place::acc),
                  move_of("b", "why", Place::cpu, Place::acc)},
                 "moved", {}) ==
      "\n  2 nodes moved\n    the support list changed\n      a, b\n        they were on the CPU: "
      "why\n");
}

TEST_CASE("of many causes twenty are listed, and the others counted") {
  const auto moves = [](std::size_t count) {
    std::vector<CheckedMove> all;
    for (std::size_t i = 0; i < count; ++i)
      all.push_back(move_of("n" + std::to_string(i), "w" + std::to_string(i)));
    return moves_text(all, "moved", {});
  };
  CHECK(moves(20).find("more cause") == std::string::npos);
  CHECK(moves(20).find("n19: ") != std::string::npos);
  CHECK(moves(21).ends_with("      n19: w19 of n19\n    ... and 1 more cause (see --json)\n"));
  CHECK(moves(22).ends_with("    ... and 2 more causes (see --json)\n"));
}

}  // namespace

}  // namespace cleave
