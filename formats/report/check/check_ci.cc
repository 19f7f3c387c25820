// What a check tells a CI server: a test for each gate, an alert for each gate that fails and each
// cause of new CPU nodes, a finding for each reason and op that keep nodes of a model on the CPU.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "core/base/capped_list.h"
#include "core/base/decimal.h"
#include "core/base/number_text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/markup_text.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/check/check_words.h"

namespace cleave {
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
    test.type = gate_kind_name(gate.kind);
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

std::string gates_text(const CheckRun& run) {
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

std::string errors_text(const Check& check) {
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
std::string overview_text(const Check& check) {
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

std::string run_text(const CheckRun& run) {
  std::string text = "\n### " + markdown_code(run.model) + " with " + markdown_code(run.list) +
                     "\n" + (run.gates.empty() ? "" : gates_text(run)) +
                     moves_text(run, run.regressions, "newly on the CPU");
  if (run.targets.empty()) text += moves_text(run, run.improvements, "newly on the accelerator");
  for (const std::vector<CheckedMove>* const moves : {&run.moved, &run.improvements}) {
    if (run.targets.empty()) break;
    for (const MovesBetween& between : moves_between(*moves, run.targets)) {
      text += moves_text(run, between.moves, "moved " + between.text);
    }
  }
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
  report.body = errors_text(check);
  if (check.runs.size() > 1) report.body += overview_text(check);
  for (const CheckRun& run : check.runs) {
    report.suites.push_back(suite_of(run));
    report.findings_left_out += run.cpu_nodes_left_out;
    report.body += run_text(run);
  }
  return report;
}

}  // namespace cleave
