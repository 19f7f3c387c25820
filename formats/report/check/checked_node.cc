#include "formats/report/check/checked_node.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "formats/base/text/diagnostic.h"
#include "formats/report/words/reason_text.h"

namespace cleave {
namespace {

constexpr std::size_t kLongestChain = 10'000;

// The rule that caused the reason, found by following the nodes to blame.
FilePlace root_of_reason(const Report& report, NodeId node) {
  for (std::size_t i = 0; i < kLongestChain && report.graph.nodes().contains(node); ++i) {
    const Reason& reason = report.split.reasons[node];
    const bool is_denied = reason.code == ReasonCode::denied;
    const bool has_rule = is_denied || reason.code == ReasonCode::rule_failed;
    if (has_rule && reason.because == kNone<NodeId>) {
      const SupportList& list = report.lists[reason.list];
      const Rule& rule = (is_denied ? list.deny : list.allow)[reason.rule];
      return {list.path, rule.line, rule.column};
    }
    if (reason.code == ReasonCode::pattern_failed) {
      const SupportList& list = report.lists[reason.list];
      const Pattern& pattern = list.patterns[reason.rule];
      return {list.path, pattern.line, pattern.column};
    }
    if (has_rule || reason.because == kNone<NodeId>) break;
    node = reason.because;
  }
  return place_of_list(report);
}

}  // namespace

FilePlace place_of_list(const Report& report) {
  FilePlace place;
  if (!report.lists.empty()) place.file = report.lists.front().path;
  return place;
}

Measures measures_of(const Report& report) {
  Measures measures =
      measure(report.graph, report.split.partition, report.split.boundaries, report.preview);
  if (report.time != nullptr) {
    measures.latency_us = report.time->asked().total_us;
    measures.all_cpu_us = report.time->asked().all_cpu_us;
    measures.cpu_unmatched_us = report.time->basis.cpu_unmatched.us;
    measures.acc_unmatched_us = report.time->basis.acc_unmatched.us;
  }
  return measures;
}

const TargetTimes* times_of(const Report& report) {
  return report.time == nullptr ? nullptr : &report.time->basis.times;
}

CheckedNode checked_node(const Report& report, NodeId node) {
  const Graph& graph = report.graph;
  const Partition& partition = report.split.partition;
  CheckedNode checked;
  checked.name = graph.node(node).name;
  checked.op = graph.op(node);
  if (partition.is_acc(partition.part_of[node])) {
    checked.place = place_of_list(report);
    return checked;
  }
  const ReasonContext context = reason_context(report);
  const Reason& reason = report.split.reasons[node];
  checked.code = reason.code;
  checked.cause = cause_text(context, node, reason);
  checked.detail = reason_text(context, node, reason);
  if (reason.because != kNone<NodeId>) checked.because = graph.node(reason.because).name;
  checked.place = root_of_reason(report, node);
  return checked;
}

std::vector<MoveGroup> group_moves(const std::vector<CheckedMove>& moves) {
  std::vector<MoveGroup> groups;
  std::map<std::pair<Change, std::string>, std::size_t> places;
  for (const CheckedMove& move : moves) {
    const auto [place, is_new] = places.try_emplace({move.change, move.node.cause}, groups.size());
    if (is_new) groups.push_back({move.change, move.node.cause, {}});
    groups[place->second].moves.push_back(&move);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const MoveGroup& a, const MoveGroup& b) { return a.change < b.change; });
  return groups;
}

std::vector<std::string> changed_bindings(const ShapeBindings& before, const ShapeBindings& now) {
  std::vector<std::string> changes;
  // By name: the value given before and the value given now; empty: not given.
  std::map<std::string, std::pair<std::string, std::string>> given;
  const auto note = [&](const ShapeBindings& bindings, bool is_now) {
    const auto place = [&](const std::string& name) -> std::string& {
      return is_now ? given[name].second : given[name].first;
    };
    for (const auto& dim : bindings.dims) place("dim " + dim.first) = std::to_string(dim.second);
    for (const auto& input : bindings.inputs) {
      std::string& text = place("input-shape " + input.first);
      for (const std::int64_t size : input.second) {
        text += (text.empty() ? "" : ",") + (size < 0 ? "?" : std::to_string(size));
      }
      if (text.empty()) text = "()";
    }
    for (const auto& value : bindings.values) place("set-input " + value.first) = value.second;
    if (!bindings.signature.empty()) place("signature") = escaped_in_quotes(bindings.signature);
    place("fold") = folding_name(bindings.folding);
    place("infer") = shape_inference_name(bindings.inference);
  };
  note(before, false);
  note(now, true);
  for (const auto& [name, texts] : given) {
    if (texts.first == texts.second) continue;
    changes.push_back(escaped(name) + ": " + (texts.second.empty() ? "not given" : texts.second) +
                      ", was " + (texts.first.empty() ? "not given" : texts.first));
  }
  return changes;
}

}  // namespace cleave
