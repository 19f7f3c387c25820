#include "formats/report/split/explain_text.h"

#include <nlohmann/json.hpp>

#include "core/support/accepting_rule.h"
#include "formats/base/text/number_text.h"
#include "formats/base/text/text_layout.h"
#include "formats/report/words/latency_words.h"
#include "formats/report/words/pattern_text.h"
#include "formats/report/words/reason_text.h"

namespace cleave {
namespace {

constexpr std::size_t kLongestChain = 20;

bool is_constant(const Graph& graph, NodeId node) { return graph.constants().contains(node); }

bool on_acc(const Report& report, NodeId node) {
  return report.split.partition.is_acc(report.split.partition.part_of[node]);
}

// What a rule or a pattern leaves unchecked; empty when there is nothing.
template <class Accepting>
std::string unchecked_of(const Accepting& accepting) {
  return accepting.unchecked.empty() ? "" : "; unchecked: " + escaped(accepting.unchecked);
}

// "npu.json:12 (Conv)" for the allow rule that accepts the node.
std::string accepting_rule(const Report& report, NodeId node) {
  const auto found = find_accepting_rule(report.model.graph, node, report.lists, report.facts);
  if (!found) return "the support list";
  const SupportList& list = report.lists[found->list];
  const Rule& rule = list.allow[found->rule];
  return escaped(list.path) + (rule.line == 0 ? "" : ":" + std::to_string(rule.line)) + " (" +
         escaped(rule.op) + ")" + unchecked_of(rule);
}

// `pattern "gelu" of npu.json:12, with 4 other nodes: a, b, c, d`
std::string accepting_pattern(const Report& report, std::uint32_t match) {
  const PatternMatches& matches = report.split.support.patterns;
  const auto nodes = matches.nodes_of(match);
  std::string names;
  for (const NodeId node : nodes) {
    names += (names.empty() ? ": " : ", ") + escaped(report.model.graph.node(node).name);
  }
  return pattern_place(reason_context(report), matches.matches[match]) + ", which matches " +
         counted(nodes.size(), "node", "nodes") + names +
         unchecked_of(
             report.lists[matches.matches[match].list].patterns[matches.matches[match].pattern]);
}

// On the accelerator although no rule accepts it.
bool rides_along(const Report& report, NodeId node) {
  return report.options.host_shapes.follow && report.split.host_shapes.nodes.contains(node) &&
         !report.split.support.supported.contains(node);
}

std::string detail_of(const Report& report, NodeId node) {
  const Graph& graph = report.model.graph;
  if (is_constant(graph, node)) {
    return "a constant: it depends on parameters alone, so it is copied into each partition that "
           "reads it";
  }
  if (on_acc(report, node)) {
    if (rides_along(report, node)) {
      return "computes shapes, and follows the nodes that use them (--host-shapes)";
    }
    const auto match = report.split.support.patterns.match_of(node);
    return "allowed by " +
           (match ? accepting_pattern(report, *match) : accepting_rule(report, node));
  }
  const ReasonContext context = reason_context(report);
  return reason_text(context, node, report.split.reasons[node]);
}

// The nodes to blame, starting with the node's own culprit, as long as each has a culprit itself.
std::vector<NodeId> blame_chain(const Report& report, NodeId node) {
  std::vector<NodeId> chain;
  NodeId at = report.split.reasons[node].because;
  const auto names_others = [&](NodeId of) {  // in its own text, and perhaps in a circle
    return report.split.reasons[of].code == ReasonCode::pattern_failed;
  };
  if (names_others(node)) return chain;
  while (report.model.graph.nodes().contains(at) && chain.size() < kLongestChain) {
    chain.push_back(at);
    if (names_others(at)) break;
    at = report.split.reasons[at].because;
  }
  return chain;
}

std::string_view origin_name(TimeOrigin origin) {
  switch (origin) {
    case TimeOrigin::measured:
      return "measured";
    case TimeOrigin::calibrated:
      return "calibrated";
    case TimeOrigin::estimated:
      return "estimated";
    case TimeOrigin::unknown:
      break;
  }
  return "not known";
}

std::string time_text(const DeviceTimes& times, NodeId node) {
  const auto us = times.of(node);
  const std::string origin(origin_name(times.origins[node]));
  return us ? duration_text(*us) + " (" + origin + ")" : origin;
}

// "on the CPU 210 us (measured), on the accelerator 20 us (estimated)"
std::string times_of_node(const Report& report, NodeId node) {
  const TargetTimes& times = report.time->basis.times;
  return "on the CPU " + time_text(times.cpu, node) + ", on the accelerator " +
         time_text(times.acc, node);
}

std::string signature(const Graph& graph, NodeId node) {
  std::string text = escaped(graph.op(node)) + '(';
  bool first = true;
  for (const Operand& operand : graph.operands(node)) {
    const Value& value = graph.value(operand.value);
    if (!first) text += ", ";
    first = false;
    text += value.is_tensor() ? dtype_name(value.dtype) : value_type_name(value.type);
  }
  return text + ')';
}

// "  why:  the text"; further lines are aligned with the text.
std::string labelled(std::string_view label, const std::string& text) {
  constexpr std::size_t kLabel = 8;
  std::string lines = wrapped(text, kLabel, kLabel);
  lines.replace(2, label.size(), label);
  return lines;
}

}  // namespace

std::string explain_text(const Report& report, const std::vector<NodeId>& nodes) {
  const Graph& graph = report.model.graph;
  const ReasonContext context = reason_context(report);
  if (nodes.empty()) return "no node is on the CPU\n";
  std::string text;
  for (const NodeId node : nodes) {
    text += escaped_in_quotes(graph.node(node).name) + "  " + signature(graph, node) + '\n';
    if (is_constant(graph, node)) {
      text += "  in:   every partition that reads it\n";
    } else {
      const PartId part = report.split.partition.part_of[node];
      text += "  in:   " + escaped(report.split.partition.name(part)) +
              (on_acc(report, node) ? " (accelerator)\n" : " (CPU)\n");
    }
    text += labelled("why:", detail_of(report, node));
    const bool has_time = report.time != nullptr && has_times(*report.time);
    if (has_time && !is_constant(graph, node)) {
      text += labelled("time:", times_of_node(report, node));
    }
    if (is_constant(graph, node) || on_acc(report, node)) continue;
    for (const NodeId blamed : blame_chain(report, node)) {
      const Reason& reason = report.split.reasons[blamed];
      if (reason.code == ReasonCode::none) continue;
      text += labelled("", escaped_in_quotes(graph.node(blamed).name) + ": " +
                               reason_text(context, blamed, reason));
    }
  }
  return text;
}

namespace {

// The match that contains the node; null when none does.
nlohmann::ordered_json pattern_json(const Report& report, NodeId node) {
  const PatternMatches& matches = report.split.support.patterns;
  const auto match = matches.match_of(node);
  if (!match) return {};
  const SupportList& list = report.lists[matches.matches[*match].list];
  const Pattern& pattern = list.patterns[matches.matches[*match].pattern];
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (const NodeId one : matches.nodes_of(*match)) {
    nodes.push_back(report.model.graph.node(one).name);
  }
  return {{"name", pattern.name},
          {"file", list.path},
          {"line", pattern.line},
          {"nodes", std::move(nodes)}};
}

}  // namespace

std::string explain_json(const Report& report, const std::vector<NodeId>& nodes) {
  using Json = nlohmann::ordered_json;
  const Graph& graph = report.model.graph;
  Json list = Json::array();
  for (const NodeId node : nodes) {
    Json entry;
    entry["node"] = graph.node(node).name;
    entry["op"] = graph.op(node);
    entry["domain"] = graph.domain(node);
    const bool constant = is_constant(graph, node);
    const bool acc = !constant && on_acc(report, node);
    entry["partition"] =
        constant ? Json() : Json(report.split.partition.name(report.split.partition.part_of[node]));
    entry["is_acc"] = constant ? Json() : Json(acc);
    const Reason reason = constant ? Reason{} : report.split.reasons[node];
    entry["code"] = reason.code == ReasonCode::none ? Json() : Json(reason_code_name(reason.code));
    entry["detail"] = detail_of(report, node);
    if (auto pattern = pattern_json(report, node); !pattern.is_null()) {
      entry["pattern"] = std::move(pattern);
    }
    entry["because"] =
        reason.because == kNone<NodeId> ? Json() : Json(graph.node(reason.because).name);
    if (report.time != nullptr && !constant) {
      const auto json_of = [](const std::optional<double>& us) { return us ? Json(*us) : Json(); };
      entry["cpu_us"] = json_of(report.time->basis.times.cpu.of(node));
      entry["acc_us"] = json_of(report.time->basis.times.acc.of(node));
    }
    list.push_back(std::move(entry));
  }
  const Json document = {{"format", "cleave.explain"}, {"version", 1}, {"nodes", std::move(list)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace cleave
