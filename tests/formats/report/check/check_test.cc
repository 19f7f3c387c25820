// The gate end to end: a report becomes a baseline, the model, the list or the settings change, and
// the check must name the nodes that moved and the change that moved them.
#include "formats/report/check/check.h"

#include <nlohmann/json.hpp>

#include "core/support/required_nodes.h"
#include "formats/lists/support/support_file.h"
#include "formats/report/check/baseline_file.h"
#include "formats/report/check/check_words.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/report/check/baseline_case.h"

namespace cleave {
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
    return format_diagnostic(baseline.error().front());
  };
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = report;
    const std::size_t at = text.find(from);
    REQUIRE(at != text.npos);
    return fault(text.replace(at, from.size(), to));
  };
  CHECK(fault(report) == "none");
  CHECK(fault("[]") == "main.json: error: the baseline is not an object\n");
  CHECK(fault("{\"format\": \"cleave.graph\"}") ==
        "main.json: error: \"format\" is \"cleave.graph\": a baseline is \"cleave.baseline\" or "
        "\"cleave.report\"\n");
  CHECK(changed("\"version\": 1", "\"version\": 2") ==
        "main.json: error: \"version\" is 2: this program reads cleave.report version 1\n");
  CHECK(changed("\"input_bytes\": 16", "\"input_bytes\": -1") ==
        "main.json: error: \"partitions\" / 0 / \"input_bytes\" is not a whole number of 0 or "
        "more\n");
  CHECK(changed("\"b\": \"_run_on_cpu_1\"", "\"b\": \"_run_on_cpu_9\"") ==
        "main.json: error: \"node_map\" puts \"b\" into no partition\n");
  CHECK(changed("\"start\": \"reference\"", "\"start\": \"middle\"") ==
        "main.json: error: \"settings\" / \"start\" is not reference, cpu, acc or fewest\n");
  CHECK(changed("\"link\"", "\"lynk\"") == "main.json: error: the baseline has no \"link\"\n");
  const std::string contents = "\"contents\": [";
  REQUIRE(report.find(contents) != std::string::npos);
  std::string lists;
  for (std::size_t i = 0; i < kMostSupportLists; ++i) lists += "\"\", ";
  CHECK(changed(contents, contents + lists) ==
        "main.json: error: \"support\" / \"contents\" has more support lists than can be read at "
        "once\n");
  CHECK(fault("{\"format\":\n  oops}") ==
        "main.json:2:3: error: the baseline is not JSON: syntax error while parsing value - "
        "invalid literal; last read: '\"format\":<U+000A>  o'\n      oops}\n      ^\n");
  CHECK(fault("{\"version\": 1e999}") ==
        "main.json: error: the baseline has a number that is too large: '1e999'\n");
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
}  // namespace cleave
