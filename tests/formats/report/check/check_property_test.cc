// The gate's property test: a result becomes a baseline; graph, list or settings, one or several of
// them, change at random; verdicts and blame are compared with new splits.

#include <map>
#include <random>
#include <set>

#include "formats/report/check/check.h"
#include "tests/catch2.h"
#include "tests/core/graph/random_graph.h"
#include "tests/formats/report/check/baseline_case.h"

namespace cleave {

namespace {

using Random = std::mt19937;

std::size_t below(Random& random, std::size_t bound) { return random() % bound; }

// The graph as lines; nodes get the ops f, g or h.
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

// Changes the ops of some nodes, and adds or removes nodes.
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
  options.min_acc_size = 1 + below(random, 4);
  options.start = static_cast<StartSide>(below(random, 4));
  options.skip_fusion = below(random, 4) == 0;
  options.allow_non_tensor = below(random, 3) == 0;
  options.host_shapes = below(random, 5) == 0;
  if (below(random, 3) == 0) options.most_kept = below(random, 3);
  options.keep_by = below(random, 2) == 0 ? KeepBy::nodes : KeepBy::flops;
  using Which = ExtendOptions::Which;
  if (below(random, 4) == 0) options.extend.which = Which::all;
  if (below(random, 4) == 0) options.extend.which = Which::automatic;
  return options;
}

struct Setup {
  std::vector<std::string> lines;
  std::string list;
  SplitOptions options;

  ReportCase result() const { return make_report_case(joined(lines), list, options); }
};

// The place of each node by name.
NamedPlaces places_in(const Setup& setup) {
  const ReportCase result = setup.result();
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

  // Moves by kind, so that the test can check that all were tried.
  void run(std::map<std::string, int>& met) {
    const ReportCase earlier_result = old_.result();
    const EarlierResult before = earlier(earlier_result);
    const ReportCase result = now_.result();
    const std::size_t most = below(random_, 3);
    const CheckRun run =
        check_report(result.report(), {.limits = {.new_cpu_nodes = most}}, &before);
    CHECK(run.passed() == (run.regressions.size() <= most));
    check_moves(run);
    check_limits(result, met);
    check_diff(run, diff_reports(earlier_result.report(), result.report()));
    for (const CheckedMove& move : run.regressions) check_blame(move);
    for (const CheckedMove& move : run.improvements) check_blame(move);
    for (const CheckedMove& move : run.regressions) ++met[std::string(change_name(move.change))];
    ++met[run.passed() ? "passed" : "failed"];
  }

 private:
  // The verdict on limits that need no baseline, counted again from where the nodes are.
  void check_limits(const ReportCase& result, std::map<std::string, int>& met) {
    const std::size_t tenths = below(random_, 11);
    const std::string asked = "n" + std::to_string(below(random_, 14));
    const GateLimits limits{.node_coverage = static_cast<double>(tenths) / 10,
                            .acc_subgraphs = below(random_, 4),
                            .cpu_nodes = below(random_, 8),
                            .boundary_bytes = below(random_, 400)};
    const CheckRun run =
        check_report(result.report(), {.limits = limits, .require = {asked}}, nullptr);
    const Partition& partition = result.split.partition;
    std::size_t nodes = 0, acc = 0, subgraphs = 0;
    std::uint64_t bytes = 0;
    bool is_asked_on_cpu = false, is_known = true;
    for (const PartId part : partition.parts()) {
      nodes += partition.nodes(part).size();
      for (const NodeId node : partition.nodes(part)) {
        const bool is_asked = result.model.graph.node(node).name == asked;
        is_asked_on_cpu = is_asked_on_cpu || (is_asked && !partition.is_acc(part));
      }
      if (!partition.is_acc(part)) continue;
      ++subgraphs;
      acc += partition.nodes(part).size();
      const PartNumbers& numbers = result.preview.parts[part];
      bytes += numbers.input_bytes + numbers.output_bytes;
      for (const Hazard& hazard : numbers.hazards) {
        is_known = is_known && hazard.kind != Hazard::Kind::unknown_bytes;
      }
    }
    const std::map<std::string, bool> expected = {
        {"min-coverage-nodes", 10 * acc >= tenths * nodes},
        {"max-acc-subgraphs", subgraphs <= *limits.acc_subgraphs},
        {"max-cpu-nodes", nodes - acc <= *limits.cpu_nodes},
        {"max-boundary-bytes", is_known && bytes <= *limits.boundary_bytes},
        {"require", !is_asked_on_cpu}};
    REQUIRE(run.gates.size() == expected.size());
    bool all = true;
    for (const CheckedGate& checked : run.gates) {
      const std::string kind(row_of(checked.gate.kind).name);
      INFO(kind);
      CHECK(checked.gate.passed() == expected.at(kind));
      all = all && expected.at(kind);
      ++met[kind + (expected.at(kind) ? " holds" : " fails")];
    }
    CHECK(run.passed() == all);
  }

  // The verdict: exactly those nodes that a comparison by name finds.
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

  // A diff of the same two results gives the same.
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

  // The blame: the change was made; without it and later ones the node is elsewhere, and later ones
  // leave it where it is.
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

TEST_CASE("random changes get the right verdict and the right blame") {
  std::map<std::string, int> met;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    INFO("seed " << seed);
    Trial(seed).run(met);
  }
  for (const char* const kind : {"model", "list", "settings", "passed", "failed"}) {
    INFO(kind);
    CHECK(met[kind] > 100);
  }
  for (const char* const gate : {"min-coverage-nodes", "max-acc-subgraphs", "max-cpu-nodes",
                                 "max-boundary-bytes", "require"}) {
    INFO(gate);
    CHECK(met[std::string(gate) + " holds"] > 50);
    CHECK(met[std::string(gate) + " fails"] > 50);
  }
}

}  // namespace

}  // namespace cleave
