// Reports of checks, as text, JSON, pages and for CI.

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/words.h"
#include "formats/base/faults.h"
#include "formats/base/fields.h"
#include "formats/base/text.h"
#include "formats/report/check/check.h"
#include "formats/report/drawings/pages.h"
#include "formats/report/split/split_texts.h"
#include "formats/report/words/report.h"

namespace cleave {

// ---- rows of checks and diffs ----

namespace {

// Of all accelerators, or of one of several.
struct SharesSaid {
  double nodes;
  std::optional<double> flops;
  double parameter_bytes;
};
const Fields<SharesSaid> kSharesFields = {
    kOneLine,
    {{"nodes", the<&SharesSaid::nodes>},
     {"flops", the<&SharesSaid::flops>, "null: no node's FLOPs are known."},
     {"parameter_bytes", the<&SharesSaid::parameter_bytes>}},
    "shares"};
constexpr std::string_view kSharesAbout = "Shares from 0 to 1.";

template <class Shares>
SharesSaid shares_of(const Shares& shares, bool are_flops_known) {
  return {shares.nodes.ratio(), when(are_flops_known, shares.flops.ratio()),
          shares.parameter_bytes.ratio()};
}

struct TargetSaid {
  const TargetMeasures* target;
  bool are_flops_known;
};
const Fields<TargetSaid> kTargetFields = {
    kLines,
    {{"name", the<&TargetSaid::target, &TargetMeasures::name>},
     {"coverage", [](auto& one) { return shares_of(*one.target, one.are_flops_known); },
      kSharesAbout, kSharesFields},
     {"partitions", the<&TargetSaid::target, &TargetMeasures::parts>}}};

}  // namespace

const Fields<Measures> kMeasureFields = {
    kLines,
    {{"coverage", [](auto& now) { return shares_of(now, now.flops.are_known()); }, kSharesAbout,
      kSharesFields},
     {"acc_subgraphs", the<&Measures::acc_subgraphs>},
     {"cpu_nodes", the<&Measures::cpu_nodes>},
     {"boundary_bytes",
      [](auto& now) { return when(now.is_any_boundary_known(), now.boundary_bytes); },
      "Into and out of accelerator subgraphs, for tensors of known size. null: of none it is "
      "known."},
     {"boundary_known", the<&Measures::is_boundary_known>, "All sizes are known."},
     {"qps", [](auto& now) { return now.is_boundary_known ? now.qps : std::nullopt; },
      "When all partitions share the link. null: it does not limit it, or sizes are not known."},
     {"latency_us", the<&Measures::latency_us>},
     {"all_cpu_us", the<&Measures::all_cpu_us>, "Without an accelerator; null: not known."},
     {"targets",
      [](auto& now) {
        return each(now.targets, [&](const TargetMeasures& target) {
          return TargetSaid{&target, now.flops.are_known()};
        });
      },
      "Of several targets: what each has of the model.", kTargetFields, kLeftOut}}};

const Fields<MoveSaid> kMoveFields = {
    kLines,
    {{"node", the<&MoveSaid::move, &CheckedMove::node, &CheckedNode::name>},
     {"op", the<&MoveSaid::move, &CheckedMove::node, &CheckedNode::op>},
     {"from", [](auto& one) { return place_name(one.move->from, *one.targets); },
      "absent, cpu, acc, or the name of one of several targets."},
     {"to", [](auto& one) { return place_name(one.move->to, *one.targets); },
      "cpu, acc, or the name of one of several targets."},
     {"cause", [](auto& one) { return change_name(one.move->change); },
      "The change to blame; program: another version of cleave.",
      words("model list settings model_or_list program")},
     {"code",
      [](auto& one) {
        const ReasonCode code = one.move->node.code;
        return when(code != ReasonCode::none, reason_code_name(code));
      },
      "Why it is on the CPU, or why the target that it left does not run it; null: there is none "
      "to give.",
      words(reason_code_names)},
     {"detail", the<&MoveSaid::move, &CheckedMove::node, &CheckedNode::detail>,
      "Why it is, or was, on the CPU; empty: it never was."},
     {"because",
      [](auto& one) {
        const std::string& because = one.move->node.because;
        return when(!because.empty(), because);
      },
      "The node to blame; null: none."}},
    "move"};

// ---- check ci ----
//
// What a check tells a CI server: a test for each gate, an alert for each gate that fails and each
// cause of new CPU nodes, a finding for each reason and op that keep nodes of a model on the CPU.

namespace {

// By reason code; the first is for gates.
constexpr std::array<CiRule, kReasonCodeCount> kRules = {{
    {"gate", "GateFails", "A gate of cleave check does not hold.",
     "Change the gate's limit, or fix what breaks it."},
    {"no_rule", "NoRule", "No rule of the support list names the operator.",
     "Add an allow rule for it once the accelerator can run it."},
    {"rule_failed", "RuleFailed", "A rule names the operator, but its conditions do not hold.",
     "Widen the rule's conditions, or change the model to meet them."},
    {"denied", "Denied", "A deny rule takes the node off the accelerator.",
     "Narrow or remove the deny rule once it is not needed."},
    {"non_tensor_input", "NonTensorInput", "The node reads non-tensor data from a node on the CPU.",
     "Support the node that makes the data, or allow such data to cross: --allow-non-tensor."},
    {"non_tensor_output", "NonTensorOutput",
     "The node makes non-tensor data for a node on the CPU, or for the caller.",
     "Support the node that reads the data, or allow such data to cross: --allow-non-tensor."},
    {"fusion_group", "FusionGroup", "The node is tied to a CPU node by non-tensor data.",
     "Support every node of the group, or form no groups: --skip-fusion."},
    {"small_subgraph", "SmallSubgraph",
     "The node's accelerator subgraph was below the minimum size.",
     "Support its neighbours, or lower --min-acc-module-size."},
    {"host_shape", "HostShape", "The node computes shapes, which stays on the host.",
     "Run without --host-shapes to place it on its own."},
    {"qdq_group", "QdqGroup", "The node's quantize/dequantize group holds a CPU node.",
     "Support every node of the group, or run without --keep-qdq."},
    {"over_cap", "OverCap", "The node's accelerator subgraph was beyond the number to keep.",
     "Keep more accelerator subgraphs."},
    {"costs_more", "CostsMore", "An inference is faster with the node on the CPU.",
     "Run with --place priority to place it by the lists alone."},
    {"shared_memory", "SharedMemory",
     "The node and a CPU node use memory that is written in place, so one partition has both.",
     "Support every node that uses the memory, or decompose the program before it is saved."},
    {"part_limit", "PartLimit",
     "The node, or its group, is by itself beyond the list's limit on a whole partition.",
     "Raise the list's limit, or split the node."},
    {"pattern_failed", "PatternFailed",
     "Only a pattern names the operator, and the pattern does not match around the node.",
     "Change the pattern to what the model has, or add a rule for the operator."},
    {"pattern_group", "PatternGroup", "A pattern keeps the node together with a CPU node.",
     "Support every node of the match."},
    {"runtime_graph", "RuntimeGraph",
     "What ONNX Runtime makes of the node before it asks a provider is not supported.",
     "Support the node that is named, or run with --as model."},
    {"part_condition", "PartCondition",
     "The node's accelerator subgraph lacks what a list asks of a whole partition.",
     "Support its neighbours, or change the list's condition."},
}};

// ---- tests: a suite for each model and list ----

std::vector<std::pair<std::string, std::string>> properties_of(const Measures& now) {
  const auto flops_text = [&](const Coverage& flops) {
    return now.flops.are_known() ? shortest_text(flops.ratio()) : "unknown";
  };
  std::vector<std::pair<std::string, std::string>> properties = {
      {"coverage.nodes", shortest_text(now.nodes.ratio())},
      {"coverage.flops", flops_text(now.flops)},
      {"coverage.flops.unknown_nodes", std::to_string(now.flops.unknown)},
      {"coverage.params", shortest_text(now.parameter_bytes.ratio())},
      {"acc_subgraphs", std::to_string(now.acc_subgraphs)},
      {"cpu_nodes", std::to_string(now.cpu_nodes)},
      {"boundary_bytes",
       now.is_any_boundary_known() ? std::to_string(now.boundary_bytes) : "unknown"}};
  if (now.qps && now.is_boundary_known) properties.emplace_back("qps", shortest_text(*now.qps));
  for (const TargetMeasures& target : now.targets) {
    const std::string prefix = target.name + ".";
    properties.emplace_back(prefix + "coverage.nodes", shortest_text(target.nodes.ratio()));
    properties.emplace_back(prefix + "coverage.flops", flops_text(target.flops));
    properties.emplace_back(prefix + "coverage.params",
                            shortest_text(target.parameter_bytes.ratio()));
    properties.emplace_back(prefix + "partitions", std::to_string(target.parts));
  }
  return properties;
}

// The nodes that broke the gate and why, one per line.
std::string broken_by(const CheckRun& run, const CheckedGate& checked) {
  if (checked.gate.kind != GateKind::max_new_cpu_nodes) {
    return checked.detail.empty() ? "" : escaped(checked.detail) + "\n";
  }
  std::string text;
  for (const CheckedMove& move : run.regressions) {
    text += escaped(move.node.name) + ": " + change_text(move.change, run.settings) + ": " +
            escaped(move.node.detail) + "\n";
  }
  return text;
}

// Gates that cannot be judged fail; gates without anything to compare with are skipped. There are no
// times: the same check gives the same bytes.
CiCase case_of(const CheckRun& run, const CheckedGate& checked) {
  const Gate& gate = checked.gate;
  CiCase test{.name = gate_name(gate), .class_name = run.model + " with " + run.list};
  if (gate.verdict == GateVerdict::not_applicable) {
    test.outcome = CiCase::Outcome::skipped;
    test.message = gate_actual(run, gate);
  } else if (!gate.passed()) {
    test.outcome = CiCase::Outcome::failure;
    test.type = row_of(gate.kind).name;
    test.message = gate_title(gate) + ": " + gate_outcome(run, gate);
    test.details = broken_by(run, checked);
  }
  return test;
}

CiSuite suite_of(const CheckRun& run) {
  CiSuite suite{.name = run.model + " with " + run.list, .properties = properties_of(run.now)};
  for (const CheckedGate& checked : run.gates) suite.cases.push_back(case_of(run, checked));
  return suite;
}

// ---- alerts and findings ----

// The gates of all runs that do not hold.
template <class Visit>
void each_failed_gate(const Check& check, const Visit& visit) {
  for (const CheckRun& run : check.runs) {
    for (const CheckedGate& checked : run.gates) {
      if (!checked.gate.passed()) visit(run, checked);
    }
  }
}

// A scanner shows places in the project: a list that came with cleave is not in it.
bool is_in_project(const FilePlace& place) {
  return !place.file.starts_with('/') && !place.file.starts_with("..");
}

// The model; it has no lines, and GitHub asks for one.
FilePlace place_of_model(const CheckRun& run) { return {.file = run.model, .line = 1}; }

// The rule to blame, if that may be shown, or else the model.
FilePlace place_of_alert(const CheckRun& run, const FilePlace& rule) {
  return is_in_project(rule) ? rule : place_of_model(run);
}

CiAlert alert_of(const CheckRun& run, const MoveGroup& group) {
  const CheckedNode& first = group.moves.front()->node;
  const std::string names = some_of(
      group.moves, 200, [](const CheckedMove* move) { return fitted(move->node.name, 60); });
  return {place_of_alert(run, first.place),
          "cleave check: " + counted(group.moves.size(), "node") + " newly on the CPU",
          run_title(run) + ": " + names + ": " + change_text(group.change, run.settings) + "; " +
              (group.moves.size() == 1 ? first.detail : group.cause)};
}

std::vector<CiAlert> alerts_of(const Check& check) {
  std::vector<CiAlert> alerts;
  each_failed_gate(check, [&](const CheckRun& run, const CheckedGate& checked) {
    alerts.push_back({place_of_alert(run, run.list_place),
                      "cleave check: " + gate_title(checked.gate),
                      run_title(run) + ": " + gate_sentence(run, checked)});
  });
  for (const CheckRun& run : check.runs) {
    if (run.passed()) continue;
    for (const MoveGroup& group : group_moves(run.regressions)) {
      alerts.push_back(alert_of(run, group));
    }
  }
  return alerts;
}

// Nodes on the CPU that a reader mends together.
using NodeGroup = std::vector<const CheckedNode*>;

// By op and reason, in the order of the first.
std::vector<NodeGroup> groups_of(const CheckRun& run, bool is_breaking) {
  std::vector<NodeGroup> groups;
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::size_t> places;
  for (const CheckedNode& node : run.cpu_nodes) {
    if (node.breaks_gate != is_breaking) continue;
    const auto [place, is_new] =
        places.try_emplace({node.op, node.cause, node.runs_on}, groups.size());
    if (is_new) groups.emplace_back();
    groups[place->second].push_back(&node);
  }
  return groups;
}

CiFinding finding_of(const CheckRun& run, const NodeGroup& group) {
  constexpr std::size_t kMostNamed = 3;
  const CheckedNode& first = *group.front();
  const auto rule = static_cast<std::size_t>(first.code);
  const auto name = [](const CheckedNode* node) { return escaped_in_quotes(node->name); };
  const bool is_one = group.size() == 1;
  CiFinding finding{
      .rule = rule,
      .level = first.breaks_gate ? "error" : "note",
      .message =
          (is_one ? name(&first) : counted(group.size(), "node")) + " (" + escaped(first.op) +
          ") of " + run_title(run) + (is_one ? " runs on " : " run on ") +
          (first.runs_on.empty() ? "the CPU" : first.runs_on) + ": " +
          (is_one ? first.detail : first.cause + " (" + capped_list(group, kMostNamed, name) + ")"),
      .place = place_of_model(run),
      .rule_place = is_in_project(first.place) ? first.place : FilePlace{},
      .occurrences = group.size(),
      .model = run.model};
  for (const CheckedNode* const node : group) finding.nodes.push_back(node->name);
  return finding;
}

// A key is made of model, list, op, rule and target, and of nothing that changes from run to run.
// Findings with the same five are counted.
class Keys {
 public:
  std::string key_of(const CheckRun& run, std::string_view what, std::size_t rule,
                     const std::string& target = {}) {
    std::string key = run.model + '\n' + run.list + '\n' + std::string(what) + '\n' +
                      std::string(kRules[rule].id) + (target.empty() ? "" : '\n' + target);
    const std::size_t before = seen_[key]++;
    return before == 0 ? key : key + '\n' + std::to_string(before);
  }

 private:
  std::map<std::string, std::size_t> seen_;
};

// Gates first, then nodes that break one, then the other nodes on the CPU.
std::vector<CiFinding> findings_of(const Check& check) {
  std::vector<CiFinding> findings;
  Keys keys;
  each_failed_gate(check, [&](const CheckRun& run, const CheckedGate& checked) {
    findings.push_back({.rule = 0,
                        .level = "error",
                        .message = run_title(run) + ": " + gate_sentence(run, checked),
                        .place = place_of_model(run),
                        .rule_place = is_in_project(run.list_place) ? run.list_place : FilePlace{},
                        .key = keys.key_of(run, gate_title(checked.gate), 0)});
  });
  for (const bool is_breaking : {true, false}) {
    for (const CheckRun& run : check.runs) {
      for (const NodeGroup& group : groups_of(run, is_breaking)) {
        const CheckedNode& first = *group.front();
        findings.push_back(finding_of(run, group));
        findings.back().key =
            keys.key_of(run, first.op, static_cast<std::size_t>(first.code), first.target);
      }
    }
  }
  return findings;
}

// The nodes that moved, by what became of them.
std::vector<std::pair<std::string, std::vector<CheckedMove>>> moves_by_what(const CheckRun& run) {
  if (run.targets.empty()) {
    return {{"newly on the CPU", run.regressions}, {"newly on the accelerator", run.improvements}};
  }
  std::vector<std::pair<std::string, std::vector<CheckedMove>>> all;
  for (const auto* const moves : {&run.regressions, &run.moved, &run.improvements}) {
    for (MovesBetween& between : moves_between(*moves, run.targets)) {
      const bool is_new = between.from == Place::absent;
      all.emplace_back(is_new ? "newly on the CPU" : "moved " + between.text,
                       std::move(between.moves));
    }
  }
  return all;
}

// "87.1% in 3 FAIL": what a list takes of a model, for tables.
std::string taken_text(const CheckRun& run) {
  return percent_text(run.now.nodes.ratio()) + " in " + count_text(run.now.acc_subgraphs) +
         (run.passed() ? "" : " FAIL");
}

// ---- Markdown ----

std::string names_of(const MoveGroup& group) {
  return capped_list(group.moves, 10, [](const CheckedMove* move) {
    return markdown_code(move->node.name) + (move->from == Place::absent ? " (new)" : "");
  });
}

std::string moves_text(const CheckRun& run, const std::vector<CheckedMove>& moves,
                       const std::string& what) {
  if (moves.empty()) return {};
  std::string text = "\n**" + counted(moves.size(), "node") + " " + what + "**\n\n";
  CappedList list(20);
  const MoveGroup* last = nullptr;
  const std::vector<MoveGroup> groups = group_moves(moves);
  for (const MoveGroup& group : groups) {
    if (!list.shows_next()) continue;
    if (last == nullptr || last->change != group.change) {
      text += "- " + markdown_text(change_text(group.change, run.settings)) + "\n";
    }
    last = &group;
    const std::string& why =
        group.moves.size() == 1 ? group.moves.front()->node.detail : group.cause;
    text += "  - " + names_of(group) + (why.empty() ? "" : ": " + markdown_text(why)) + "\n";
  }
  return text + list.rest("- ... and # more cause\n", "- ... and # more causes\n");
}

std::string ci_gates_text(const CheckRun& run) {
  std::string text = "\n| | gate | is | must be |\n| --- | --- | --- | --- |\n";
  for (const CheckedGate& checked : run.gates) {
    const Gate& gate = checked.gate;
    text +=
        markdown_row({markdown_mark(gate.passed()), markdown_text(gate_title(gate)),
                      markdown_text(gate_actual(run, gate)), markdown_text(gate_limit(run, gate))});
  }
  for (const CheckedGate& checked : run.gates) {
    if (checked.detail.empty() || checked.gate.kind == GateKind::max_new_cpu_nodes) continue;
    text += "\n" + markdown_text(gate_title(checked.gate)) + ": " + markdown_text(checked.detail) +
            "\n";
  }
  return text;
}

std::string ci_errors_text(const Check& check) {
  if (check.errors.empty()) return {};
  std::string text = "\n| | model | not checked |\n| --- | --- | --- |\n";
  CappedList list(50);
  for (const CheckError& error : check.errors) {
    if (!list.shows_next()) continue;
    text += markdown_row({"**ERROR**", markdown_code(error.model), markdown_text(error.message)});
  }
  return text + list.rest("\n... and # more\n", "\n... and # more\n");
}

// An overview of several runs: those that fail first.
std::string ci_overview_text(const Check& check) {
  std::string text =
      "\n| | model | list | node coverage | accelerator subgraphs | CPU nodes |\n"
      "| --- | --- | --- | ---: | ---: | ---: |\n";
  for (const bool passes : {false, true})
    for (const CheckRun& run : check.runs) {
      if (run.passed() != passes) continue;
      text += markdown_row({markdown_mark(run.passed()), markdown_code(run.model),
                            markdown_code(run.list), percent_text(run.now.nodes.ratio()),
                            count_text(run.now.acc_subgraphs), count_text(run.now.cpu_nodes)});
    }
  return text;
}

std::string ci_run_text(const CheckRun& run) {
  std::string text = "\n### " + markdown_code(run.model) + " with " + markdown_code(run.list) +
                     "\n" + (run.gates.empty() ? "" : ci_gates_text(run));
  for (const auto& [what, moves] : moves_by_what(run)) text += moves_text(run, moves, what);
  return text;
}

}  // namespace

CiReport ci_report(const Check& check) {
  CiReport report{.program = "cleave check",
                  .is_passed = check.passed(),
                  .alerts = alerts_of(check),
                  .rules = kRules,
                  .findings = findings_of(check),
                  .title = verdict_text(check)};
  for (const CheckError& error : check.errors) {
    report.suites.push_back({.name = error.model,
                             .cases = {{.name = "read",
                                        .class_name = error.model,
                                        .outcome = CiCase::Outcome::error,
                                        .type = "unreadable",
                                        .message = error.message}}});
    report.alerts.push_back(
        {{.file = error.model, .has_lines = false}, "cleave check: not checked", error.message});
  }
  report.body = ci_errors_text(check);
  if (check.runs.size() > 1) report.body += ci_overview_text(check);
  for (const CheckRun& run : check.runs) {
    report.suites.push_back(suite_of(run));
    report.findings_left_out += run.cpu_nodes_left_out;
    report.body += ci_run_text(run);
  }
  return report;
}

// ---- check json ----
//
// cleave.check; each entry also has its model and list.

namespace {

const Fields<CheckRun> kWhoseFields = {
    kLines, {{"model", the<&CheckRun::model>}, {"list", the<&CheckRun::list>}}};

const Fields<CheckRun> kRunFields = {
    kLines,
    {{Itself{}, kWhoseFields},
     {"passed", [](auto& run) { return run.passed(); }},
     {the<&CheckRun::now>, kMeasureFields},
     {"baseline", [](auto& run) { return run.before.has_value(); },
      "It was compared with a baseline."},
     {"settings_changed", the<&CheckRun::settings>},
     {"state", the<&CheckRun::state>, "What one step of the model hands to the next, in words.",
      kLeftOut},
     {"other_opset",
      [](auto& run) { return when(run.unmeasured.other_opset > 0, run.unmeasured.other_opset); },
      "Nodes that the list refuses for the model's opset alone: whether the device takes them was "
      "not measured.",
      kLeftOut},
     {"removed_nodes", the<&CheckRun::removed>,
      "Nodes of the baseline that the model no longer has."}}};

struct GateSaid {
  const CheckRun* run;
  const CheckedGate* checked;
};
template <auto Member>
constexpr auto of_gate = the<&GateSaid::checked, &CheckedGate::gate, Member>;

const Fields<GateSaid> kGateFields = {
    kLines,
    {{"name", [](auto& one) { return gate_name(one.checked->gate); }},
     {"model", the<&GateSaid::run, &CheckRun::model>},
     {"list", the<&GateSaid::run, &CheckRun::list>},
     {"limit",
      [](auto& one) {
        // If the baseline had no rate, there is no limit.
        const Gate& gate = one.checked->gate;
        return when(gate.kind != GateKind::qps_regression || gate.baseline, gate.limit);
      },
      "The minimum or maximum; null: the baseline has none."},
     {"actual", of_gate<&Gate::actual>, "null: unknown, unlimited, or there is no such node."},
     {"baseline", of_gate<&Gate::baseline>,
      "The baseline's value that the limit comes from; null: none."},
     {"passed", [](auto& one) { return one.checked->gate.passed(); }},
     {"verdict", [](auto& one) { return gate_verdict_name(one.checked->gate.verdict); },
      words("holds fails not_known not_applicable")},
     {"detail", the<&GateSaid::checked, &CheckedGate::detail>}}};

const Fields<CheckError> kErrorFields = {
    kOneLine, {{"model", the<&CheckError::model>}, {"message", the<&CheckError::message>}}};

struct RunMoveSaid {
  const CheckRun* run;
  MoveSaid move;
};
const Fields<RunMoveSaid> kRunMoveFields = {kLines,
                                            {{"model", the<&RunMoveSaid::run, &CheckRun::model>},
                                             {"list", the<&RunMoveSaid::run, &CheckRun::list>},
                                             {the<&RunMoveSaid::move>, kMoveFields}},
                                            "move"};

template <auto Moves>
std::vector<RunMoveSaid> moves_of_runs(const Check& check) {
  std::vector<RunMoveSaid> all;
  for (const CheckRun& run : check.runs) {
    for (const CheckedMove& move : run.*Moves) all.push_back({&run, {&move, &run.targets}});
  }
  return all;
}

const Fields<Check> kCheckFields = {
    kLines,
    {{"passed", [](auto& check) { return check.passed(); },
      "All gates hold, and all models were checked."},
     {"runs", the<&Check::runs>, kRunFields},
     {"gates",
      [](auto& check) {
        std::vector<GateSaid> all;
        for (const CheckRun& run : check.runs) {
          for (const CheckedGate& checked : run.gates) all.push_back({&run, &checked});
        }
        return all;
      },
      kGateFields},
     {"errors", the<&Check::errors>, "Models that could not be read or split.", kErrorFields},
     {"regressions", the<moves_of_runs<&CheckRun::regressions>>,
      "On the CPU now, but not in the baseline.", kRunMoveFields},
     {"improvements", the<moves_of_runs<&CheckRun::improvements>>,
      "From the CPU to the accelerator.", kRunMoveFields},
     {"moved",
      [](auto& check) {
        const bool has_targets = std::ranges::any_of(
            check.runs, [](const CheckRun& run) { return !run.now.targets.empty(); });
        return has_targets ? std::optional(moves_of_runs<&CheckRun::moved>(check)) : std::nullopt;
      },
      "From one of several targets to another; left out where there is one.", kRunMoveFields,
      kLeftOut}}};

}  // namespace

Document check_document() {
  return {"check",
          "The output of `check --json`. A run is a model with a support list, named as on the "
          "command line.",
          kCheckFields.table()};
}

std::string check_json(const Check& check) { return document_text("check", kCheckFields, check); }

// ---- check pages ----

namespace {

constexpr std::size_t kMostRows = 50'000;  // of a table

// "CPU", "accelerator", "npu"; "-" for a node that is not there.
std::string place_text(Place place, const std::vector<std::string>& targets) {
  if (place == Place::cpu) return "CPU";
  if (place == Place::absent) return "-";
  return targets.empty() ? "accelerator" : std::string(place_name(place, targets));
}

void add_row(PageTable& table, PageRow row) {
  if (table.rows.size() < kMostRows) table.rows.push_back(std::move(row));
}

// A text that names the file of a list, without the folder.
std::string with_short_list(std::string text, const std::string& file) {
  const std::string path = escaped(file);
  const std::string name = path.substr(path.rfind('/') + 1);
  for (std::size_t at = 0; path != name && (at = text.find(path, at)) != std::string::npos;) {
    text.replace(at, path.size(), name);
  }
  return text;
}

// ---- a comparison ----

PageTable moves_of(const Diff& diff) {
  PageTable table{.title = "Nodes that moved",
                  .headings = {"node", "op type", "was on", "is on", "why", "what changed"},
                  .aligns = std::vector<Align>(6, Align::left)};
  for (const auto* const moves : {&diff.to_cpu, &diff.to_acc, &diff.moved, &diff.added}) {
    for (const CheckedMove& move : *moves) {
      const bool is_past = is_on_acc(move.to) && move.node.target.empty();
      const bool says_why = !move.node.detail.empty();
      add_row(table,
              {.cells = {escaped(move.node.name), escaped(move.node.op),
                         place_text(move.from, diff.targets), place_text(move.to, diff.targets),
                         (says_why && is_past ? "was on the CPU: " : "") + move.node.detail,
                         change_text(move.change, diff.settings)},
               .node = escaped(move.node.name),
               .fails = move.to == Place::cpu});
    }
  }
  for (const Diff::Removed& removed : diff.removed) {
    add_row(table, {.cells = {escaped(removed.node), "", place_text(removed.from, diff.targets),
                              "-", "removed", ""},
                    .node = escaped(removed.node)});
  }
  return table;
}

PageTable with_title(PageTable table, std::string title) {
  table.title = std::move(title);
  return table;
}

// ---- a fleet ----

std::vector<std::string> lists_of(const Check& check) {
  std::vector<std::string> lists;
  std::set<std::string_view> seen;
  for (const CheckRun& run : check.runs) {
    if (seen.insert(run.list).second) lists.push_back(run.list);
  }
  return lists;
}

// True where the list has no op of the model: it is for another format.
bool has_no_op(const CheckRun& run) {
  return run.now.nodes.acc == 0 && !run.cpu_nodes.empty() &&
         std::ranges::all_of(run.cpu_nodes, [](const CheckedNode& node) {
           return node.code == ReasonCode::no_rule;
         });
}

// Which limits a run breaks, and whether its list is for such models at all.
std::string failures_of(const CheckRun& run) {
  std::string text;
  for (const CheckedGate& checked : run.gates) {
    if (checked.gate.passed()) continue;
    text += (text.empty() ? "" : ", ") + gate_title(checked.gate) + " " +
            gate_outcome(run, checked.gate);
  }
  if (has_no_op(run))
    text += std::string(text.empty() ? "" : "; ") + "the list has no op of this model";
  return text.empty() ? "" : escaped(run.list) + ": " + text;
}

// A row for each model: what each list takes of it. Those that fail come first.
PageTable models_of(const Check& check) {
  const std::vector<std::string> lists = lists_of(check);
  PageTable table{.title = "Models", .headings = {"model", "nodes"}, .aligns = {}};
  for (const std::string& list : lists) table.headings.push_back(escaped(list));
  table.aligns.assign(table.headings.size(), Align::right);
  table.aligns[0] = Align::left;
  for (auto error = check.errors.rbegin(); error != check.errors.rend(); ++error) {
    PageRow row{
        .cells = {escaped(error->model), "-"}, .note = escaped(error->message), .fails = true};
    row.cells.resize(table.headings.size(), "-");
    table.rows.push_back(std::move(row));
  }
  std::map<std::string_view, std::map<std::string_view, const CheckRun*>> models;
  for (const CheckRun& run : check.runs) models[run.model].emplace(run.list, &run);
  for (const bool fails : {true, false}) {
    for (const auto& [model, runs] : models) {
      const bool is_failed =
          std::ranges::any_of(runs, [](const auto& run) { return !run.second->passed(); });
      if (is_failed != fails) continue;
      const double nodes = runs.begin()->second->now.nodes.total;
      PageRow row{
          .cells = {escaped(std::string(model)), count_text(static_cast<std::uint64_t>(nodes))},
          .fails = fails};
      for (const std::string& list : lists) {
        const auto found = runs.find(list);
        row.cells.push_back(found == runs.end() ? "-" : taken_text(*found->second));
        if (found == runs.end()) continue;
        const std::string failures = failures_of(*found->second);
        if (!failures.empty()) row.note += (row.note.empty() ? "" : "\n") + failures;
      }
      add_row(table, std::move(row));
    }
  }
  return table;
}

PageTable gates_of(const Check& check) {
  PageTable table{.title = "Gates",
                  .headings = {"model", "result", "gate", "is", "must be", "list"},
                  .aligns = std::vector<Align>(6, Align::left)};
  for (const bool passes : {false, true}) {
    for (const CheckRun& run : check.runs) {
      for (const CheckedGate& checked : run.gates) {
        if (checked.gate.passed() != passes) continue;
        add_row(table, {.cells = {escaped(run.model), std::string(gate_mark(checked.gate)),
                                  gate_title(checked.gate), gate_actual(run, checked.gate),
                                  gate_limit(run, checked.gate), escaped(run.list)},
                        .note = passes ? "" : with_short_list(checked.detail, run.list_place.file),
                        .fails = !passes});
      }
    }
  }
  return table;
}

PageTable fleet_moves(const Check& check) {
  PageTable table{.title = "Nodes that moved",
                  .headings = {"node", "op type", "was on", "is on", "model", "list", "why"},
                  .aligns = std::vector<Align>(7, Align::left)};
  for (const CheckRun& run : check.runs) {
    for (const auto* const moves : {&run.regressions, &run.moved, &run.improvements}) {
      for (const CheckedMove& move : *moves) {
        add_row(table,
                {.cells = {escaped(move.node.name), escaped(move.node.op),
                           place_text(move.from, run.targets), place_text(move.to, run.targets),
                           escaped(run.model), escaped(run.list), move.node.detail},
                 .fails = move.to == Place::cpu});
      }
    }
  }
  return table;
}

// What one change of a list would mend, over all models.
PageTable reasons_of(const Check& check) {
  struct Group {
    std::size_t nodes = 0;
    std::set<std::string_view> models;
    std::string first, cause;
  };
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, Group> groups;
  for (const CheckRun& run : check.runs) {
    for (const CheckedNode& node : run.cpu_nodes) {
      Group& group = groups[{run.list, node.op, node.cause}];
      if (group.nodes++ == 0) {
        group.first = run.model + ": " + node.name;
        group.cause = with_short_list(node.cause, run.list_place.file);
      }
      group.models.insert(run.model);
    }
  }
  PageTable table{
      .title = "Why nodes are on the CPU",
      .headings = {"reason", "op type", "nodes", "models", "list", "for example"},
      .aligns = {Align::left, Align::left, Align::right, Align::right, Align::left, Align::left}};
  std::vector<std::pair<std::size_t, PageRow>> rows;
  for (const auto& [key, group] : groups) {
    const auto& [list, op, shared] = key;
    rows.push_back({group.nodes,
                    {.cells = {group.cause, escaped(std::string(op)), count_text(group.nodes),
                               count_text(group.models.size()), escaped(std::string(list)),
                               escaped(group.first)}}});
  }
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.first > b.first; });
  for (auto& [nodes, row] : rows) add_row(table, std::move(row));
  return table;
}

// What each list takes of all models together.
std::vector<PageShare> shares_of(const Check& check) {
  std::vector<PageShare> shares;
  for (const std::string& list : lists_of(check)) {
    Coverage sum;
    std::size_t models = 0;
    for (const CheckRun& run : check.runs) {
      if (run.list != list) continue;
      sum.acc += run.now.nodes.acc;
      sum.total += run.now.nodes.total;
      ++models;
    }
    if (sum.total <= 0) continue;
    shares.push_back({"of " + count_text(static_cast<std::uint64_t>(sum.total)) + " nodes of " +
                          counted(models, "model") + " with " + escaped(list),
                      sum.ratio()});
  }
  return shares;
}

}  // namespace

namespace {

// What one side of a comparison has of each setting that differs: "start cpu" of "start: cpu, was acc".
std::string settings_of(const Diff& diff, bool is_before) {
  std::string text;
  for (const std::string& setting : diff.settings) {
    const std::size_t name = setting.find(": "), was = setting.rfind(", was ");
    if (name == std::string::npos || was == std::string::npos || was < name) continue;
    const std::string value =
        is_before ? setting.substr(was + 6) : setting.substr(name + 2, was - name - 2);
    text += ", " + setting.substr(0, name) + " " + value;
  }
  return text;
}

PageShare share_of(std::string_view when, const Measures& measures) {
  const auto total = static_cast<std::uint64_t>(measures.nodes.total);
  return {std::string(when) + ": of " + count_text(total) + " nodes on the accelerator, in " +
              counted(measures.acc_subgraphs, "partition") +
              (measures.flops.have_share() ? "; " + share_text(measures.flops) + " of known FLOPs"
                                           : ""),
          measures.nodes.ratio()};
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

HtmlPage diff_page(const Diff& diff, const Report& before, const Report& after,
                   const LayoutLimits& limits) {
  LayoutLimits half = limits;
  half.seconds /= 2;
  HtmlPage was = split_data(before, half, {});
  HtmlPage is = split_data(after, half, {});
  const auto title = [&](std::string_view when, const DiffSide& side) {
    return std::string(when) + ": " + escaped(last_part(side.model)) + " with " +
           escaped(last_part(side.list)) + settings_of(diff, &side == &diff.before);
  };
  ContentPage page{
      .title = model_name(after.model) + ": what differs",
      .text = diff_text(diff),
      .shares = {share_of("before", diff.before.measures), share_of("after", diff.after.measures)},
      .drawings = {{.title = title("before", diff.before), .split = std::move(was.text)},
                   {.title = title("after", diff.after), .split = std::move(is.text)}},
      .tables = {moves_of(diff), with_title(diff_numbers(diff).page(), "Numbers")}};
  for (PageRow& row : page.tables[0].rows) {
    for (const Report* const report : {&before, &after}) {
      for (const SupportList& list : report->lists) {
        row.cells[4] = with_short_list(std::move(row.cells[4]), list.path);
      }
    }
  }
  for (const auto& [when, notes] :
       {std::pair("before", &was.notes), std::pair("after", &is.notes)}) {
    for (const std::string& note : *notes) page.notes.push_back(std::string(when) + ": " + note);
  }
  const std::vector<std::string> faults = page.notes;
  for (const auto& [when, side] : {std::pair("before", &was), std::pair("after", &is)}) {
    if (!side->left_out.empty()) page.notes.push_back(std::string(when) + ": " + side->left_out);
  }
  return {.text = content_page(page), .notes = faults};
}

std::string check_page(const Check& check) {
  ContentPage page{
      .title = "cleave check",
      .text = check_text(check),
      .shares = shares_of(check),
      .tables = {models_of(check), gates_of(check), fleet_moves(check), reasons_of(check)}};
  std::erase_if(page.tables, [](const PageTable& table) { return table.rows.empty(); });
  for (const CheckRun& run : check.runs) {
    if (run.cpu_nodes_left_out > 0) {
      page.notes.push_back(run_title(run) + ": " + count_text(run.cpu_nodes_left_out) +
                           " more nodes on the CPU are not counted among the reasons");
    }
  }
  return content_page(page);
}

// ---- check text ----

namespace {

// The end of a path, which tells it from others: ".../models/a.onnx", "...v4_det_infer.onnx".
std::string path_end(const std::string& path, std::size_t columns) {
  const std::string shown = escaped(path);
  if (text_columns(shown) <= columns) return shown;
  std::size_t at = shown.find('/', shown.size() - std::min(shown.size(), columns - 4));
  if (at == shown.npos) {
    const auto is_inside = [&] { return (static_cast<unsigned char>(shown[at]) & 0xC0U) == 0x80U; };
    for (at = 1; is_inside() || text_columns(shown.substr(at)) > columns - 3;) ++at;
  }
  return "..." + shown.substr(at);
}

std::string indented(std::string_view text, std::size_t columns) {
  std::string result;
  for (const std::string_view line : split_at(text, '\n')) {
    result += std::string(columns, ' ') + std::string(line) + '\n';
  }
  return result;
}

std::string gates_text(const CheckRun& run) {
  TextTable table({"", "gate", "is", "must be"},
                  {Align::left, Align::left, Align::left, Align::left});
  for (const CheckedGate& checked : run.gates) {
    const Gate& gate = checked.gate;
    table.add_row({std::string(gate_mark(gate)), gate_title(gate), gate_actual(run, gate),
                   gate_limit(run, gate)});
  }
  std::string text = indented(table.text(), 2);
  for (const CheckedGate& checked : run.gates) {
    if (checked.detail.empty() || checked.gate.kind == GateKind::max_new_cpu_nodes) continue;
    text += as_line(gate_title(checked.gate) + ": " + checked.detail, 2);
  }
  return text;
}

// What a list says nothing of: its rules are for other opsets.
std::string other_opset_text(const CheckRun& run) {
  if (run.unmeasured.other_opset == 0) return {};
  return path_end(run.list, 24) + " refuses " + counted(run.unmeasured.other_opset, "node") +
         " for the opset alone, " + run.opsets +
         ", which was not measured: cleave explain says which it takes";
}

// A latency that rose, where no gate holds it; else "".
std::string risen_latency_text(const CheckRun& run) {
  const bool is_held = std::ranges::any_of(run.gates, [](const CheckedGate& checked) {
    return checked.gate.kind == GateKind::latency_regression;
  });
  if (is_held || !run.before || !run.before->latency_us || !run.now.latency_us) return {};
  const double was = *run.before->latency_us;
  const double is = *run.now.latency_us;
  constexpr double kRounding = 1e-9;
  if (is <= was * (1 + kRounding)) return {};
  return as_line("latency " + duration_text(is) + ", was " + duration_text(was) +
                     ": no gate holds it (--max regression=0 does)",
                 2);
}

std::string run_text(const CheckRun& run) {
  std::string text = as_line(run_title(run));
  if (!run.gates.empty()) text += gates_text(run);
  if (!run.state.empty()) text += as_line("state: " + run.state, 2);
  if (run.unmeasured.other_opset > 0) text += as_line(other_opset_text(run), 2);
  if (!run.passed() && !run.open_sizes.empty()) {
    const std::size_t nodes = run.unmeasured.open_sizes;
    text += as_line((nodes == 0 ? "sizes are open, so conditions on shapes may fail"
                                : "rules of " + counted(nodes, "node") +
                                      " on the CPU fail while sizes are open") +
                        ": give " + run.open_sizes,
                    2);
  }
  text += risen_latency_text(run);
  const bool has_moves =
      !run.regressions.empty() || !run.improvements.empty() || !run.moved.empty();
  if (!has_moves && !run.settings.empty()) {
    text += as_line("no node moved; " + change_text(Change::settings, run.settings), 2);
  }
  for (const auto& [what, moves] : moves_by_what(run)) {
    text += moves_text(moves, what, run.settings);
  }
  if (run.removed > 0) {
    text += "\n  " + counted(run.removed, "node") + " of the baseline no longer there\n";
  }
  return text;
}

// Those that fail first; the others in the order given.
std::vector<const CheckRun*> failing_first(const Check& check) {
  std::vector<const CheckRun*> runs;
  for (const CheckRun& run : check.runs) runs.push_back(&run);
  std::stable_partition(runs.begin(), runs.end(),
                        [](const CheckRun* run) { return !run->passed(); });
  return runs;
}

std::string errors_text(const Check& check) {
  std::string text;
  constexpr std::size_t kMost = 20;
  CappedList list(kMost);
  for (const CheckError& error : check.errors) {
    if (list.shows_next()) {
      text += as_line("ERROR " + escaped(error.model) + ": " + error.message, 2);
    }
  }
  return text + list.rest("  ... and # more model that could not be checked\n",
                          "  ... and # more models that could not be checked\n");
}

// An overview of several runs.
std::string overview_text(const Check& check) {
  TextTable table(
      {"", "model", "list", "node coverage", "subgraphs", "gates"},
      {Align::left, Align::left, Align::left, Align::right, Align::right, Align::right});
  for (const CheckRun* const one : failing_first(check)) {
    const CheckRun& run = *one;
    const auto held = std::ranges::count_if(
        run.gates, [](const CheckedGate& checked) { return checked.gate.passed(); });
    table.add_row(
        {run.passed() ? "ok" : "FAIL", path_end(run.model, 40), path_end(run.list, 40),
         percent_text(run.now.nodes.ratio()), count_text(run.now.acc_subgraphs),
         count_text(static_cast<std::uint64_t>(held)) + " of " + count_text(run.gates.size())});
  }
  return indented(table.text(), 2);
}

}  // namespace

namespace {

// What the stars of a table stand for.
std::string open_text(const std::map<std::string, std::string>& open) {
  if (open.empty()) return {};
  constexpr std::size_t kMost = 5;
  std::string text = "\n* sizes are open, so conditions on shapes may fail; give\n";
  CappedList list(kMost);
  for (const auto& [model, options] : open) {
    if (list.shows_next()) text += as_line(path_end(model, 48) + ": " + options, 2);
  }
  return text + list.rest("  ... and # more model\n", "  ... and # more models\n");
}

// What the carets of a table stand for.
std::string other_opsets_text(const std::vector<std::string>& others) {
  if (others.empty()) return {};
  constexpr std::size_t kMost = 5;
  const auto line = [](const std::string& text) { return as_line(text, 2); };
  return "\n^ not measured, so no refusal by the device\n" +
         capped_list(others, kMost, line, "  ... and # more\n", "");
}

}  // namespace

std::string check_table(const Check& check) {
  std::vector<std::string> lists, models;
  std::map<std::pair<std::string, std::string>, const CheckRun*> runs;
  const auto add = [](std::vector<std::string>& names, const std::string& name) {
    if (!contains(names, name)) names.push_back(name);
  };
  for (const CheckRun& run : check.runs) {
    add(lists, run.list);
    runs.try_emplace({run.model, run.list}, &run);
  }
  for (const CheckRun& run : check.runs) models.push_back(run.model);
  sort_unique(models);
  std::vector<std::string> headings = {"model"};
  for (const std::string& list : lists) headings.push_back(path_end(list, 24));
  TextTable table(std::move(headings));
  std::map<std::string, std::string> open;  // by model: the options that state its sizes
  std::vector<std::string> others;          // what lists say nothing of
  for (const std::string& model : models) {
    std::vector<std::string> row = {path_end(model, 48)};
    for (const std::string& list : lists) {
      const auto found = runs.find({model, list});
      row.push_back(found == runs.end() ? "-" : taken_text(*found->second));
      if (found != runs.end() && !found->second->open_sizes.empty()) {
        row.back() += " *";
        open.emplace(model, found->second->open_sizes);
      }
      if (found != runs.end() && found->second->unmeasured.other_opset > 0) {
        row.back() += " ^";
        others.push_back(path_end(model, 48) + ": " + other_opset_text(*found->second));
      }
    }
    table.add_row(std::move(row));
  }
  return table.text() + open_text(open) + other_opsets_text(others) +
         (check.errors.empty() ? "" : '\n' + errors_text(check));
}

std::string check_text(const Check& check) {
  const bool is_asked =
      !check.errors.empty() ||
      std::ranges::any_of(check.runs, [](const CheckRun& run) { return !run.gates.empty(); });
  std::string text =
      is_asked ? std::string(check.passed() ? "passed: " : "FAILED: ") + verdict_text(check) + '\n'
               : "baseline written; nothing was checked\n";
  if (!check.errors.empty()) text += '\n' + errors_text(check);
  if (check.runs.size() > 1 || (!is_asked && !check.runs.empty()))
    text += '\n' + overview_text(check);
  if (!is_asked) return text;
  // Of a fleet the overview has those that hold.
  constexpr std::size_t kFew = 20;
  for (const CheckRun* const run : failing_first(check)) {
    if (run->passed() && check.runs.size() > kFew) break;
    text += '\n' + run_text(*run);
  }
  return text;
}

}  // namespace cleave
