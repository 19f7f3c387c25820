#include "formats/report/check/checked_node.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "core/base/number_text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/report/words/cost_words.h"
#include "formats/report/words/reason_text.h"

namespace cleave {
namespace {

constexpr std::size_t kLongestChain = 10'000;

// The rule that caused the reason, found by following the nodes to blame.
FilePlace root_of_reason(const Report& report, NodeId node, const PerNode<Reason>& reasons,
                         FilePlace list_place) {
  for (std::size_t i = 0; i < kLongestChain && report.graph.nodes().contains(node); ++i) {
    const Reason& reason = reasons[node];
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
  return list_place;
}

// The first list of one of several targets as a whole.
FilePlace place_of_list(const Report& report, TargetId target) {
  const Target& own = report.targets[index(target)];
  if (own.first_list == own.end_list) return place_of_list(report);
  FilePlace place;
  place.file = report.lists[own.first_list].path;
  return place;
}

// Of the place of a move, if it is one of the report's targets.
TargetId target_at(const Report& report, Place place) {
  if (!is_on_acc(place)) return kNone<TargetId>;
  const auto target = static_cast<std::size_t>(place) - static_cast<std::size_t>(Place::acc);
  return target < report.targets.size() ? id_at<TargetId>(target) : kNone<TargetId>;
}

}  // namespace

FilePlace place_of_list(const Report& report) {
  FilePlace place;
  if (!report.lists.empty()) place.file = report.lists.front().path;
  return place;
}

Measures measures_of(const Report& report) {
  Measures measures = measure(report.graph, report.split.partition, report.split.boundaries,
                              report.preview, report.targets);
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

CheckedNode checked_node(const Report& report, NodeId node, TargetId asked) {
  const Graph& graph = report.graph;
  const Partition& partition = report.split.partition;
  const PartId part = partition.part_of[node];
  const bool is_of_one = asked != kNone<TargetId>;
  CheckedNode checked;
  checked.name = graph.node(node).name;
  checked.op = graph.op(node);
  if (!report.targets.empty() && partition.is_acc(part)) {
    checked.runs_on = device_name(report, part);
  }
  if (partition.is_acc(part) && !is_of_one) {
    checked.place = place_of_list(report);
    return checked;
  }
  const ReasonContext context = is_of_one ? reason_context(report, asked) : reason_context(report);
  const PerNode<Reason>& reasons =
      is_of_one ? report.split.targets[index(asked)].reasons : report.split.reasons;
  const Reason& reason = reasons[node];
  std::string whose;
  if (is_of_one) {
    checked.target = report.targets[index(asked)].name;
    whose = checked.target + ": ";
  }
  checked.code = reason.code;
  checked.cause = whose + cause_text(context, node, reason);
  checked.detail = whose + reason_text(context, node, reason);
  if (reason.because != kNone<NodeId>) checked.because = graph.node(reason.because).name;
  checked.place = root_of_reason(report, node, reasons,
                                 is_of_one ? place_of_list(report, asked) : place_of_list(report));
  return checked;
}

CheckedMove checked_move(const Report& report, const Move& move, const ComparedTargets& targets) {
  const TargetId left = targets.names.empty() ? kNone<TargetId> : target_at(report, move.from);
  const bool says_why =
      left != kNone<TargetId> &&
      report.split.targets[index(left)].reasons[move.node].code != ReasonCode::none;
  return {checked_node(report, move.node, says_why ? left : kNone<TargetId>), move.from, move.to,
          move.cause};
}

std::vector<std::string> target_names(std::span<const Target> targets) {
  std::vector<std::string> names;
  for (const Target& target : targets) names.push_back(target.name);
  return names;
}

std::vector<std::string> changed_targets(std::span<const Target> before,
                                         const SplitOptions& before_numbers, const Report& now) {
  const SplitOptions& numbers = now.options;
  if (before.empty() && now.targets.empty()) {
    return changed_numbers(before_numbers.machine, numbers.machine);
  }
  std::vector<std::string> changes;
  const auto names_of = [](std::span<const Target> targets) {
    std::string text;
    for (const Target& target : targets) text += (text.empty() ? "" : ", ") + target.name;
    return text.empty() ? std::string("one") : text;
  };
  const auto compare = [&](const std::string& name, const std::string& was, const std::string& is) {
    if (was != is) changes.push_back(name + ": " + is + ", was " + was);
  };
  compare("targets", names_of(before), names_of(now.targets));
  const auto limit = [](std::size_t most) {
    return most == SplitOptions::kUnlimited ? std::string("unlimited") : count_text(most);
  };
  const auto bandwidth = [](const Link& link) {
    return rate_text(link.bytes_per_second / 1e9) + " GB/s";
  };
  const auto machine_of = [](const SplitOptions& of, std::size_t target) {
    return target == 0 ? of.machine : of.later[target - 1];
  };
  for (std::size_t i = 0; i < now.targets.size(); ++i) {
    const Target& is = now.targets[i];
    const auto found = std::find_if(before.begin(), before.end(),
                                    [&](const Target& was) { return was.name == is.name; });
    if (found == before.end()) continue;
    const auto was_at = static_cast<std::size_t>(found - before.begin());
    compare(is.name + ": min-acc-module-size", count_text(found->min_acc_size),
            count_text(is.min_acc_size));
    compare(is.name + ": keep-acc-subgraphs", limit(found->most_kept), limit(is.most_kept));
    compare(is.name + ": link", bandwidth(found->link), bandwidth(is.link));
    for (const std::string& change :
         changed_numbers(machine_of(before_numbers, was_at), machine_of(numbers, i))) {
      const bool is_of_cpu = change.starts_with("target cpu");
      if (!is_of_cpu || i == 0) changes.push_back(is_of_cpu ? change : is.name + ": " + change);
    }
  }
  return changes;
}

std::string changed_link(std::span<const Target> before, double bytes_per_second_before,
                         const Report& now) {
  if (!before.empty() || !now.targets.empty()) return {};
  const auto text_of = [](double bytes_per_second) {
    return rate_text(bytes_per_second / 1e9) + " GB/s";
  };
  const std::string was = text_of(bytes_per_second_before);
  const std::string is = text_of(now.preview.link.bytes_per_second);
  return was == is ? std::string() : "pcie-bw: " + is + ", was " + was;
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
