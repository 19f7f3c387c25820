// The gate end to end: a report becomes a baseline, the model, the list or the settings change, and
// the check must tell which nodes moved and which change moved them.
#include "formats/check.h"

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "formats/baseline_file.h"
#include "formats/check_text.h"
#include "formats/check_words.h"
#include "formats/diff.h"
#include "formats/support_file.h"
#include "tests/catch2.h"
#include "tests/core/graph_text.h"
#include "tests/core/random_graph.h"

namespace cleave {
namespace {

// All that a report refers to.
struct Result {
  LoadedModel model;
  std::vector<SupportList> lists;
  OpFacts facts;
  SplitOptions options;
  Split split;
  Preview preview;

  Report report() const { return {model, lists, facts, options, split, preview, {}}; }
};

Result result_of(std::string_view graph, std::string_view list, const SplitOptions& options = {}) {
  LoadedModel model{SourceFile::from_text("m.json", ""),
                    ModelFormat::graph_json,
                    graph_from_text(graph),
                    nullptr,
                    {},
                    {}};
  auto parsed = parse_support("npu.json", list);
  if (!parsed) FAIL(format_diagnostic(parsed.error().front()));
  std::vector<SupportList> lists = {std::move(parsed->list)};
  auto split = split_graph(model.graph, lists, {}, options);
  if (!split) FAIL(split.error().message);
  Preview preview = preview_split(model.graph, split->partition, split->boundaries, default_link());
  return {std::move(model), std::move(lists), {}, options, *std::move(split), std::move(preview)};
}

EarlierResult earlier(const Result& result) {
  auto baseline = parse_baseline(
      "main.json", baseline_json({{"m.json", "npu.json", report_json(result.report())}}));
  if (!baseline) FAIL(format_diagnostic(baseline.error().front()));
  const EarlierResult* const found = baseline->find("m.json", "npu.json");
  REQUIRE(found != nullptr);
  return *found;
}

// "b acc->cpu list: no rule names op "g"\n"
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
  options.subgraphs = {StartSide::acc, 3};
  options.fusion.skip = true;
  options.acc_finder.allow_non_tensor = true;
  options.extend = {ExtendOptions::Which::automatic, 0};
  options.qdq.keep = true;
  options.host_shapes.follow = true;
  const Result result = result_of(kGraph, "f\ng\n", options);
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
  CHECK(*measures.qps == result.preview.bound->max_qps);
}

TEST_CASE("nothing changed: no node moved") {
  const Result result = result_of(kGraph, "f\n");
  const EarlierResult before = earlier(result);
  const CheckRun run = check_report(result.report(), {.limits = {.new_cpu_nodes = 0}}, &before);
  CHECK(run.regressions.empty());
  CHECK(run.improvements.empty());
  CHECK(run.passed());
}

TEST_CASE("each change is blamed for what it moves, with the reason of now") {
  const EarlierResult before = earlier(result_of(kGraph, "f\ng\n"));
  const auto moved = [&](const Result& now) {
    const CheckRun run = check_report(now.report(), {.limits = {.new_cpu_nodes = 0}}, &before);
    CHECK(run.passed() == run.regressions.empty());
    return describe(run.regressions) + describe(run.improvements);
  };
  CHECK(moved(result_of(kGraph, "f\n")) == "b acc->cpu list: no rule names op \"g\"\n");
  CHECK(moved(result_of("input x\na = f(x)\nb = h(a)\nc = f(b)\noutput c", "f\ng\n")) ==
        "b acc->cpu model: no rule names op \"h\"\n");
  SplitOptions large;
  large.subgraphs.min_acc_size = 4;
  CHECK(moved(result_of("input x\na = f(x)\nb = g(a)\nc = f(b)\noutput c", "f\ng\n", large)) ==
        "a acc->cpu settings: its accelerator subgraph has 3 nodes, below the minimum of 4\n"
        "b acc->cpu settings: its accelerator subgraph has 3 nodes, below the minimum of 4\n"
        "c acc->cpu settings: its accelerator subgraph has 3 nodes, below the minimum of 4\n");
  large.subgraphs.min_acc_size = 2;
  CHECK(
      moved(result_of("input x\na = f(x)\nn = h(a)\nb = g(n)\nc = f(b)\noutput c", "f\n", large)) ==
      "a acc->cpu settings: its accelerator subgraph has 1 node, below the minimum of 2\n"
      "n absent->cpu model: no rule names op \"h\"\n"
      "b acc->cpu list: no rule names op \"g\"\n"
      "c acc->cpu settings: its accelerator subgraph has 1 node, below the minimum of 2\n");
}

TEST_CASE("a reason is anchored at the rule at its root") {
  const Result result =
      result_of("input x\na: scalar = size(x)\nb = view(x, a)\nc = f(x)\nd = g(x)\noutput b, c, d",
                "{\"format\": \"cleave.support\", \"version\": 1,\n"
                " \"allow\": [\"size\", \"view\", \"f\"],\n"
                " \"deny\": [{\"name\": \"c\"},\n"
                "           {\"op\": \"size\"}]}");
  const CheckRun run = check_report(result.report(), {}, nullptr);
  std::string places;
  for (const CheckedNode& node : run.cpu_nodes) {
    places += node.name + " " + node.place.file + ":" + std::to_string(node.place.line) + "\n";
  }
  CHECK(places == "a npu.json:4\nb npu.json:4\nc npu.json:3\nd npu.json:0\n");
}

TEST_CASE("a requirement asks for nodes by name, by glob and by op") {
  const Graph graph =
      graph_from_text("input x\na1 = f(x)\na2 = ml::g(a1)\nb = g(a2)\ng = h(b)\noutput g");
  CHECK(names_of(graph, required_nodes(graph, "a*")) == "a1 a2");
  CHECK(names_of(graph, required_nodes(graph, "g")) == "a2 b g");
  CHECK(names_of(graph, required_nodes(graph, "ml::g")) == "a2");
  CHECK(names_of(graph, required_nodes(graph, "ai.onnx::g")) == "b");
  CHECK(required_nodes(graph, "z").empty());
}

TEST_CASE("a baseline that is none says which field is at fault") {
  const std::string report = report_json(result_of(kGraph, "f\n").report());
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
  CHECK(fault("[]") == "main.json: error: the baseline is no object\n");
  CHECK(fault("{\"format\": \"cleave.graph\"}") ==
        "main.json: error: \"format\" is \"cleave.graph\": a baseline is \"cleave.baseline\" or "
        "\"cleave.report\"\n");
  CHECK(changed("\"version\": 1", "\"version\": 2") ==
        "main.json: error: \"version\" is 2: this program reads cleave.report version 1\n");
  CHECK(changed("\"input_bytes\": 16", "\"input_bytes\": -1") ==
        "main.json: error: \"partitions\" / 0 / \"input_bytes\" is no whole number of 0 or more\n");
  CHECK(changed("\"b\": \"_run_on_cpu_1\"", "\"b\": \"_run_on_cpu_9\"") ==
        "main.json: error: \"node_map\" puts \"b\" into no partition\n");
  CHECK(changed("\"start\": \"reference\"", "\"start\": \"middle\"") ==
        "main.json: error: \"settings\" / \"start\" is \"middle\", not reference, cpu, acc or "
        "fewest\n");
  CHECK(changed("\"link\"", "\"lynk\"") == "main.json: error: the baseline has no \"link\"\n");
  CHECK(fault("{\"format\":\n  oops}") ==
        "main.json:2:3: error: the baseline is no JSON: syntax error while parsing value - invalid "
        "literal; last read: '\"format\":<U+000A>  o'\n      oops}\n      ^\n");
}

TEST_CASE("settings that this version does not know are told, not taken") {
  std::string report = report_json(result_of(kGraph, "f\n").report());
  report.replace(report.find("\"start\""), 7, "\"colour\": \"red\", \"start\"");
  const auto baseline = parse_baseline("main.json", report);
  REQUIRE(baseline.has_value());
  CHECK(baseline->find("any", "any")->other_settings == std::vector<std::string>{"colour"});
}

// ---- property: random changes to graph, list and settings ----

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t bound) { return random() % bound; }

// The graph as lines; nodes get ops of their own, f, g or h.
std::vector<std::string> random_lines(Random& random) {
  const RandomGraph graph = random_graph(static_cast<std::uint32_t>(random()), 14);
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (begin < graph.text.size()) {
    const std::size_t end = std::min(graph.text.find('\n', begin), graph.text.size());
    lines.push_back(graph.text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

void give_op(Random& random, std::string& line) {
  for (const char* const from : {" = f(", " = g(", " = h("}) {
    const std::size_t at = line.find(from);
    if (at != line.npos) line[at + 3] = "fgh"[below(random, 3)];
  }
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Other ops for some nodes, nodes more or fewer.
std::vector<std::string> changed_model(Random& random, std::vector<std::string> lines) {
  for (std::string& line : lines) {
    if (below(random, 4) == 0) give_op(random, line);
  }
  for (std::size_t i = below(random, 3); i > 0; --i) {
    lines.push_back("new" + std::to_string(i) + " = " + "fgh"[below(random, 3)] + "(x)");
  }
  return lines;
}

std::string random_list(Random& random) {
  std::string text = "{\"format\": \"cleave.support\", \"version\": 1, \"allow\": [\"f\"";
  for (const char* const op : {", \"g\"", ", \"h\""}) {
    if (below(random, 3) > 0) text += op;
  }
  text += "], \"deny\": [";
  for (std::size_t i = below(random, 3); i > 0; --i) {
    text += "{\"name\": \"n" + std::to_string(below(random, 14)) + "\"}" + (i > 1 ? ", " : "");
  }
  return text + "]}";
}

SplitOptions random_settings(Random& random) {
  SplitOptions options;
  options.subgraphs.min_acc_size = 1 + below(random, 4);
  options.subgraphs.start = static_cast<StartSide>(below(random, 4));
  options.fusion.skip = below(random, 4) == 0;
  options.acc_finder.allow_non_tensor = below(random, 3) == 0;
  return options;
}

struct Setup {
  std::vector<std::string> lines;
  std::string list;
  SplitOptions options;

  Result result() const { return result_of(joined(lines), list, options); }
};

// The place of each node by name.
NamedPlaces places_in(const Setup& setup) {
  const Result result = setup.result();
  return named_places(result.model.graph, result.split.partition);
}

Place place_in(const NamedPlaces& places, const std::string& node) {
  const auto found = places.find(node);
  return found == places.end() ? Place::absent : found->second;
}

class Trial {
 public:
  explicit Trial(std::uint32_t seed) : random_(seed) {
    std::vector<std::string> lines = random_lines(random_);
    for (std::string& line : lines) give_op(random_, line);
    old_ = {lines, random_list(random_), random_settings(random_)};
    now_ = old_;
    const std::size_t changes = below(random_, 8);
    if ((changes & 1U) != 0) now_.lines = changed_model(random_, old_.lines);
    if ((changes & 2U) != 0) now_.list = random_list(random_);
    if ((changes & 4U) != 0) now_.options = random_settings(random_);
    if (below(random_, 3) == 0) std::swap(old_, now_);
  }

  // Moves by kind, so that the test can tell that it tried them all.
  void run(std::map<std::string, int>& met) {
    const Result earlier_result = old_.result();
    const EarlierResult before = earlier(earlier_result);
    const Result result = now_.result();
    const std::size_t most = below(random_, 3);
    const CheckRun run =
        check_report(result.report(), {.limits = {.new_cpu_nodes = most}}, &before);
    CHECK(run.passed() == (run.regressions.size() <= most));
    check_moves(run);
    check_diff(run, diff_reports(earlier_result.report(), result.report()));
    for (const CheckedMove& move : run.regressions) check_blame(move);
    for (const CheckedMove& move : run.improvements) check_blame(move);
    for (const CheckedMove& move : run.regressions) ++met[std::string(change_name(move.change))];
    ++met[run.passed() ? "passed" : "failed"];
  }

 private:
  // The verdict: just those nodes that a comparison by name finds.
  void check_moves(const CheckRun& run) {
    const NamedPlaces before = places_in(old_);
    std::set<std::string> lost, won;
    for (const auto& [node, place] : places_in(now_)) {
      const Place from = place_in(before, node);
      if (place == Place::cpu && from != Place::cpu) lost.insert(node);
      if (place == Place::acc && from == Place::cpu) won.insert(node);
    }
    CHECK(names_of_moves(run.regressions) == lost);
    CHECK(names_of_moves(run.improvements) == won);
  }

  // A diff of the same two results, which has both at hand, tells the same.
  static void check_diff(const CheckRun& run, const Diff& diff) {
    std::map<std::string, Change> lost, won;
    for (const CheckedMove& move : diff.to_cpu) lost.emplace(move.node.name, move.change);
    for (const CheckedMove& move : diff.to_acc) won.emplace(move.node.name, move.change);
    for (const CheckedMove& move : diff.added) {
      if (move.to == Place::cpu) lost.emplace(move.node.name, move.change);
    }
    CHECK(changes_of(run.regressions) == lost);
    CHECK(changes_of(run.improvements) == won);
    CHECK(diff.removed.size() == run.removed);
  }

  static std::map<std::string, Change> changes_of(const std::vector<CheckedMove>& moves) {
    std::map<std::string, Change> changes;
    for (const CheckedMove& move : moves) changes.emplace(move.node.name, move.change);
    return changes;
  }

  static std::set<std::string> names_of_moves(const std::vector<CheckedMove>& moves) {
    std::set<std::string> names;
    for (const CheckedMove& move : moves) names.insert(move.node.name);
    return names;
  }

  // The blame: the change was made; without it and what came after it the node is elsewhere, and
  // what came after it leaves it where it is.
  void check_blame(const CheckedMove& move) {
    Setup without = old_;
    if (move.change != Change::model) without.lines = now_.lines;
    if (move.change == Change::settings) without.list = now_.list;
    Setup with = without;
    if (move.change == Change::model) with.lines = now_.lines;
    if (move.change == Change::list) with.list = now_.list;
    if (move.change == Change::settings) with.options = now_.options;
    INFO(move.node.name << " blamed on the " << change_name(move.change));
    CHECK((move.change == Change::model || move.change == Change::list ||
           move.change == Change::settings));
    if (move.change == Change::model) CHECK(old_.lines != now_.lines);
    if (move.change == Change::list) CHECK(old_.list != now_.list);
    if (move.change == Change::settings) CHECK(!(old_.options == now_.options));
    CHECK(place_in(places_in(without), move.node.name) != move.to);
    CHECK(place_in(places_in(with), move.node.name) == move.to);
    with.list = now_.list;
    if (move.change == Change::model) {
      CHECK(place_in(places_in(with), move.node.name) == move.to);
    }
  }

  Random random_;
  Setup old_, now_;
};

TEST_CASE("property: random changes get the right verdict and the right blame") {
  std::map<std::string, int> met;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    INFO("seed " << seed);
    Trial(seed).run(met);
  }
  for (const char* const kind : {"model", "list", "settings", "passed", "failed"}) {
    INFO(kind);
    CHECK(met[kind] > 100);
  }
}

}  // namespace
}  // namespace cleave
