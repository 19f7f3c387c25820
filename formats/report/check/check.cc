// Checks a model against a baseline and gates.
#include "formats/report/check/check.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "core/measures/check.h"
#include "core/split/split.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/lists/options.h"
#include "formats/lists/support_file.h"
#include "formats/models/models.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"

namespace cleave {

// ---- checked node ----

namespace {

// Reasons may blame each other in a circle; no chain of a real model is as long.
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
  Measures measures = measure(report.split.partition, report.preview, report.targets);
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
    const std::string text =
        joined(targets, ", ", [&](const Target& target) { return target.name; });
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
    const auto found = std::ranges::find(before, is.name, &Target::name);
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
  std::ranges::stable_sort(
      groups, [](const MoveGroup& a, const MoveGroup& b) { return a.change < b.change; });
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
    if (bindings.state.is_off) place("state") = "off";
    for (const auto& [input, output] : bindings.state.pairs) place("state " + input) = output;
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

// ---- check words ----

namespace {

std::uint64_t whole(double number) { return static_cast<std::uint64_t>(number); }

// "95%", "94.97%": with as many digits as it takes to tell the share from the others.
std::string share_text(double share, std::initializer_list<double> others) {
  constexpr int kMostDigits = 12;
  for (int digits = 0; digits < kMostDigits; ++digits) {
    const auto look = [&](double number) {
      return digits < 2 ? percent_text(number) : fixed_text(number * 100, digits) + "%";
    };
    const bool is_told = std::ranges::all_of(
        others, [&](double other) { return other == share || look(other) != look(share); });
    if (is_told) return look(share);
  }
  return percent_text(share);
}

std::string share_of(const Gate& gate, double share) {
  const double actual = gate.actual.value_or(share);
  return share_text(share, {actual, gate.limit, gate.baseline.value_or(actual)});
}

bool is_regression(GateKind kind) { return kind >= GateKind::node_coverage_regression; }

std::string regression_words(const Gate& gate) {
  if (gate.kind == GateKind::qps_regression) {
    return rate_text(*gate.actual) + " QPS" +
           (gate.baseline ? ", was " + rate_text(*gate.baseline) : ", was not bounded");
  }
  if (gate.kind == GateKind::latency_regression) {
    return duration_text(*gate.actual) + ", was " + duration_text(*gate.baseline);
  }
  return share_of(gate, *gate.actual) + ", was " + share_of(gate, *gate.baseline);
}

}  // namespace

std::string gate_name(const Gate& gate) {
  const std::string name(row_of(gate.kind).name);
  return gate.subject.empty() ? name : name + " " + gate.subject;
}

namespace {

// What all of the accelerators have, or one of several targets.
const Coverage& coverage_of(const CheckRun& run, const Gate& gate) {
  const auto choose = [&](const auto& of) -> const Coverage& {
    return gate.kind == GateKind::min_node_coverage    ? of.nodes
           : gate.kind == GateKind::min_flops_coverage ? of.flops
                                                       : of.parameter_bytes;
  };
  for (const TargetMeasures& target : run.now.targets) {
    if (target.name == gate.subject) return choose(target);
  }
  return choose(run.now);
}

std::string coverage_words(const CheckRun& run, const Gate& gate) {
  const std::string share = share_of(gate, *gate.actual);
  const Coverage& coverage = coverage_of(run, gate);
  if (gate.kind == GateKind::min_node_coverage) {
    return share + " (" + count_text(whole(coverage.acc)) + " of " +
           counted(whole(coverage.total), "node") + ")";
  }
  if (gate.kind == GateKind::min_flops_coverage) {
    return share + (run.now.flops.unknown > 0 ? " of the known " : " of ") +
           flops_text(coverage.total);
  }
  return share + " of " + bytes_text(whole(coverage.total));
}

// "npu" of the requirement "npu:Conv"; "" for any accelerator.
std::string required_target(const CheckRun& run, const Gate& gate) {
  for (const TargetMeasures& target : run.now.targets) {
    if (gate.subject.starts_with(target.name + ":")) return target.name;
  }
  return {};
}

}  // namespace

std::string gate_title(const Gate& gate) {
  const std::string title(row_of(gate.kind).title);
  if (gate.kind == GateKind::require) {
    return title + " " + fitted(escaped_in_quotes(gate.subject), 60);
  }
  return title + (gate.subject.empty() ? "" : " of " + gate.subject);
}

std::string gate_actual(const CheckRun& run, const Gate& gate) {
  if (gate.kind == GateKind::require) {
    if (!gate.actual) return "no such node";
    const std::string target = required_target(run, gate);
    if (gate.passed()) return target.empty() ? "on the accelerator" : "on " + target;
    return counted(whole(*gate.actual), "node") +
           (target.empty() ? " on the CPU" : " not on " + target);
  }
  if (!gate.actual) {
    if (gate.verdict == GateVerdict::not_known) return "not known";
    const bool was_bounded =
        gate.kind == GateKind::qps_regression && run.before && run.before->is_boundary_known;
    return was_bounded ? "not bounded" : "not known of the baseline";
  }
  if (is_regression(gate.kind)) return regression_words(gate);
  switch (gate.kind) {
    case GateKind::min_node_coverage:
    case GateKind::min_flops_coverage:
    case GateKind::min_parameter_coverage:
      return coverage_words(run, gate);
    case GateKind::max_boundary_bytes:
      return (run.now.is_boundary_known ? "" : "more than ") + bytes_text(whole(*gate.actual));
    case GateKind::min_qps:
      return (run.now.is_boundary_known ? "" : "below ") + rate_text(*gate.actual) +
             " QPS (full duplex)";
    case GateKind::faster_than_cpu:
      if (run.now.acc_subgraphs == 0) return "all of it on the CPU";
      return duration_text(*gate.actual);
    case GateKind::max_latency:
      return duration_text(*gate.actual);
    default:
      return count_text(whole(*gate.actual));
  }
}

std::string gate_limit(const CheckRun& run, const Gate& gate) {
  if (gate.kind == GateKind::require) {
    const std::string target = required_target(run, gate);
    return target.empty() ? "on the accelerator" : "on " + target;
  }
  if (gate.kind == GateKind::faster_than_cpu) {
    return gate.limit > 0 ? "below " + duration_text(gate.limit) : "below that of the CPU";
  }
  if (is_regression(gate.kind) && !gate.baseline) return {};
  const GateRow& row = row_of(gate.kind);
  return (row.side == GateSide::least ? "at least " : "at most ") +
         (row.unit == GateUnit::share   ? share_of(gate, gate.limit)
          : row.unit == GateUnit::rate  ? rate_text(gate.limit)
          : row.unit == GateUnit::time  ? duration_text(gate.limit)
          : row.unit == GateUnit::bytes ? bytes_text(whole(gate.limit))
                                        : count_text(whole(gate.limit)));
}

std::string gate_outcome(const CheckRun& run, const Gate& gate) {
  const std::string limit = gate.kind == GateKind::require ? "" : gate_limit(run, gate);
  return gate_actual(run, gate) + (limit.empty() ? "" : ", must be " + limit);
}

std::string gate_sentence(const CheckRun& run, const CheckedGate& checked) {
  return gate_title(checked.gate) + ": " + gate_outcome(run, checked.gate) +
         (checked.detail.empty() ? "" : "; " + checked.detail);
}

std::string_view gate_mark(const Gate& gate) { return gate.passed() ? "ok" : "FAIL"; }

std::string run_title(const CheckRun& run) {
  return escaped(run.model) + " with " + escaped(run.list);
}

std::string verdict_text(const Check& check) {
  std::size_t gates = 0;
  std::size_t failed = 0;
  for (const CheckRun& run : check.runs) {
    gates += run.gates.size();
    failed += static_cast<std::size_t>(std::ranges::count_if(
        run.gates, [](const CheckedGate& checked) { return !checked.gate.passed(); }));
  }
  const std::string errors =
      check.errors.empty() ? "" : counted(check.errors.size(), "model") + " not checked";
  if (gates == 0) return errors.empty() ? "baseline written; nothing was checked" : errors;
  const std::string held = failed > 0
                               ? (gates == 1 ? "the gate fails"
                                             : count_text(failed) + " of " + count_text(gates) +
                                                   (failed == 1 ? " gates fails" : " gates fail"))
                           : gates == 1 ? "the gate holds"
                                        : "all " + count_text(gates) + " gates hold";
  return errors.empty() ? held : errors + "; " + held;
}

namespace {

constexpr std::size_t kMostGroups = 20;

std::string names_of(const MoveGroup& group, std::size_t columns) {
  return some_of(group.moves, columns, [](const CheckedMove* move) {
    return escaped(move->node.name) + (move->from == Place::absent ? " (new)" : "");
  });
}

// On an accelerator now: the reason is of the time when it was on the CPU.
bool is_past(const CheckedMove& move) { return is_on_acc(move.to) && move.node.target.empty(); }

// The nodes of one cause, and why they are, or were, on the CPU.
std::string group_text(const MoveGroup& group) {
  constexpr std::size_t kIndent = 6;
  const std::string names = names_of(group, kTextColumns - kIndent);
  if (group.cause.empty()) return as_line(names, kIndent);
  const std::string was = is_past(*group.moves.front()) ? "it was on the CPU: " : "";
  if (group.moves.size() == 1) {
    return as_line(names + ": " + was + group.moves.front()->node.detail, kIndent);
  }
  return as_line(names, kIndent) +
         as_line((was.empty() ? "" : "they were on the CPU: ") + group.cause, kIndent + 2);
}

}  // namespace

std::string change_text(Change change, const std::vector<std::string>& settings) {
  switch (change) {
    case Change::model:
      return "the model changed";
    case Change::list:
      return "the support list changed";
    case Change::settings: {
      std::string text = "the settings changed";
      for (std::size_t i = 0; i < settings.size(); ++i) {
        text += (i == 0 ? ": " : "; ") + settings[i];
      }
      return text;
    }
    case Change::model_or_list:
      return "the model or the support list changed";
    case Change::program:
      return "another version of cleave made the baseline";
  }
  return {};
}

std::vector<MovesBetween> moves_between(const std::vector<CheckedMove>& moves,
                                        const std::vector<std::string>& names) {
  std::map<std::pair<Place, Place>, std::vector<CheckedMove>> by_places;
  for (const CheckedMove& move : moves) by_places[{move.from, move.to}].push_back(move);
  const auto name = [&](Place place) {
    return place == Place::cpu ? "the CPU" : std::string(place_name(place, names));
  };
  std::vector<MovesBetween> all;
  for (auto& [places, moved] : by_places) {
    const auto [from, to] = places;
    all.push_back({from, to, "from " + name(from) + " to " + name(to), std::move(moved)});
  }
  return all;
}

std::string moves_text(const std::vector<CheckedMove>& moves, std::string_view what,
                       const std::vector<std::string>& settings) {
  if (moves.empty()) return {};
  std::string text = "\n  " + counted(moves.size(), "node") + " " + std::string(what) + "\n";
  const std::vector<MoveGroup> groups = group_moves(moves);
  CappedList list(kMostGroups);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!list.shows_next()) continue;
    if (i == 0 || groups[i - 1].change != groups[i].change) {
      text += as_line(change_text(groups[i].change, settings), 4);
    }
    text += group_text(groups[i]);
  }
  return text + list.rest("    ... and # more cause (see --json)\n",
                          "    ... and # more causes (see --json)\n");
}

// ---- baseline file ----

namespace {

using Json = nlohmann::json;

// Where a value is: the keys and places in lists that lead to it.
using JsonPath = std::vector<std::string>;

// The first fault of the file; empty while there is none. After a fault, reading continues with
// zeros and empty lists, and its result is not used.
struct FirstFault {
  std::string text = {};
  JsonPath at = {};
};

// A value and its path in the file, for messages. Reading a missing or wrong value notes a fault.
class Field {
 public:
  Field(const Json& json, JsonPath path, FirstFault& fault)
      : json_(json), path_(std::move(path)), fault_(fault) {}

  const Json& json() const { return json_; }
  bool has(const char* name) const { return json_.is_object() && json_.contains(name); }

  Field operator[](const char* name) const {
    if (!json_.is_object()) return missing("is not an object");
    const auto found = json_.find(name);
    if (found == json_.end()) return missing("has no " + escaped_in_quotes(name));
    return {*found, below(name), fault_};
  }
  Field at(const std::string& key) const { return (*this)[key.c_str()]; }

  double number() const {
    if (!json_.is_number()) return refused("is not a number", 0.0);
    return json_.get<double>();
  }
  std::uint64_t count() const {
    if (!json_.is_number_unsigned())
      return refused("is not a whole number of 0 or more", std::uint64_t{0});
    return json_.get<std::uint64_t>();
  }
  bool flag() const {
    if (!json_.is_boolean()) return refused("is neither true nor false", false);
    return json_.get<bool>();
  }
  const std::string& text() const {
    static const std::string kNone;
    if (!json_.is_string()) refuse("is not a string");
    return json_.is_string() ? json_.get_ref<const std::string&>() : kNone;
  }
  const Json& list() const {
    if (!json_.is_array()) refuse("is not a list");
    return json_.is_array() ? json_ : nothing();
  }
  const Json& object() const {
    if (!json_.is_object()) refuse("is not an object");
    return json_.is_object() ? json_ : nothing();
  }
  template <class Take>
  void each(Take take) const {
    for (std::size_t i = 0; i < list().size(); ++i) {
      take(Field(json_[i], below(std::to_string(i)), fault_));
    }
  }

  void refuse(const std::string& why) const {
    if (!fault_.text.empty()) return;
    std::string place;
    for (const std::string& key : path_)
      place += (place.empty() ? "" : " / ") + escaped_in_quotes(key);
    fault_ = {(place.empty() ? "the baseline" : place) + " " + why, path_};
  }

 private:
  template <class T>
  T refused(const char* why, T instead) const {
    refuse(why);
    return instead;
  }
  // Has no items, whether it is read as a list or as an object.
  static const Json& nothing() {
    static const Json kNull;
    return kNull;
  }
  Field missing(const std::string& why) const {
    refuse(why);
    return {nothing(), path_, fault_};
  }
  JsonPath below(std::string key) const {
    JsonPath path = path_;
    path.push_back(std::move(key));
    return path;
  }

  const Json& json_;
  JsonPath path_;
  FirstFault& fault_;
};

void require_version(const Field& document, std::string_view kind) {
  constexpr std::uint64_t kNewest = 1;
  if (document["version"].count() > kNewest) {
    document["version"].refuse("is " + std::to_string(document["version"].count()) +
                               ": this program reads " + std::string(kind) + " version 1");
  }
}

Coverage take_coverage(const Field& share) {
  const Coverage coverage{.acc = share["acc"].number(), .total = share["total"].number()};
  if (!(coverage.acc >= 0 && coverage.total >= 0)) share.refuse("is below 0");
  return coverage;
}

// A report does not state how many nodes have known FLOPs. It gives a ratio only where they are enough: then as many
// are taken as FlopsCoverage::are_known() asks for.
FlopsCoverage take_flops(const Field& share) {
  FlopsCoverage coverage{take_coverage(share)};
  if (!share.has("unknown_nodes")) return coverage;
  coverage.unknown = share["unknown_nodes"].count();
  const bool has_ratio = !share.has("ratio") || !share["ratio"].json().is_null();
  if (has_ratio && coverage.total > 0) coverage.computing = coverage.unknown;
  return coverage;
}

// Adds the tensors of a boundary; null as a tensor's bytes means unknown.
void add_boundary(const Field& values, Measures& measures) {
  values.each([&](const Field& value) {
    if (value["type"].text() == "tensor" && value["bytes"].json().is_null()) {
      measures.is_boundary_known = false;
    }
  });
}

std::optional<double> take_amount(const Field& value) {
  return value.json().is_null() ? std::nullopt : std::optional(value.number());
}

// Where a partition of a split for several targets runs.
Place take_place(const Field& part, const std::vector<Target>& targets) {
  const std::string& name = part["target"].text();
  const auto found = std::ranges::find(targets, name, &Target::name);
  if (found == targets.end()) part["target"].refuse("is none of the targets");
  return static_cast<Place>(static_cast<std::size_t>(Place::acc) +
                            static_cast<std::size_t>(found - targets.begin()));
}

NamedPlaces take_places(const Field& report, const std::vector<Target>& targets,
                        Measures& measures) {
  std::unordered_map<std::string, Place> parts;
  report["partitions"].each([&](const Field& part) {
    const bool is_acc = part["is_acc"].flag();
    parts[part["name"].text()] = !is_acc           ? Place::cpu
                                 : targets.empty() ? Place::acc
                                                   : take_place(part, targets);
    if (!is_acc) return;
    ++measures.acc_subgraphs;
    measures.boundary_bytes += part["input_bytes"].count() + part["output_bytes"].count();
    add_boundary(part["inputs"], measures);
    add_boundary(part["outputs"], measures);
  });
  NamedPlaces places;
  const Field map = report["node_map"];
  for (const auto& [node, part] : map.object().items()) {
    const auto found = parts.find(map.at(node).text());
    if (found == parts.end()) {
      map.refuse("puts " + escaped_in_quotes(node) + " into no partition");
      continue;
    }
    if (found->second == Place::cpu) ++measures.cpu_nodes;
    places.emplace(node, found->second);
  }
  return places;
}

// ---- settings ----

void take_device(const Field& value, DeviceNumbers& device) {
  device.flops_per_second = take_amount(value["flops"]);
  device.bytes_per_second = take_amount(value["bandwidth"]);
  device.node_us = value["node_us"].number();
}

void take_machine(const Field& value, Machine& machine) {
  take_device(value["cpu"], machine.cpu);
  if (value["cpu"].has("launch_us")) machine.cpu_launch_us = value["cpu"]["launch_us"].number();
  const Field acc = value["acc"];
  take_device(acc, machine.acc);
  machine.launch_us = take_amount(acc["launch_us"]);
  if (!acc["memory"].json().is_null()) machine.acc_memory = acc["memory"].count();
  if (!acc["max_subgraphs"].json().is_null()) machine.most_acc_parts = acc["max_subgraphs"].count();
  machine.duplex = acc["duplex"].text() == "full" ? Duplex::full : Duplex::half;
}

// A size of a shape, or a value, as the command line has it.
std::string word_of(const Json& value) {
  if (value.is_null()) return "?";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// What the option was given: {"N": 8} is N=8, {"x": [1, null]} is x=1,?.
std::vector<SettingValue> given_to(const Field& value) {
  const Json& json = value.json();
  if (json.is_null()) return {nullptr};
  if (json.is_boolean()) return {value.flag()};
  if (json.is_string()) return {value.text()};
  if (!json.is_object()) return {static_cast<std::int64_t>(value.count())};
  std::vector<SettingValue> all;
  for (const auto& [name, of_name] : json.items()) {
    std::string text;
    if (!of_name.is_array()) text = word_of(of_name);
    for (std::size_t i = 0; of_name.is_array() && i < of_name.size(); ++i) {
      text += (i == 0 ? "" : ",") + word_of(of_name[i]);
    }
    all.emplace_back(name + "=" + text);
  }
  return all;
}

// Gives the options again what they were given. A report calls them as the library does; those that bind names to
// values in the plural: "dims".
void replay_settings(const Field& settings, EarlierResult& result) {
  SplitRequest request;
  for (const auto& [name, value] : settings.object().items()) {
    const Option* const option =
        find_request_option(value.is_object() ? name.substr(0, name.size() - 1) : name);
    if (option == nullptr) {
      result.other_settings.push_back(name);
      continue;
    }
    for (const SettingValue& given : given_to(settings.at(name))) {
      const auto set = set_in_request(request, *option, given);
      if (!set) settings.at(name).refuse("is refused: " + set.error().message);
    }
  }
  result.options = std::move(request.options);
  result.bindings = std::move(request.model.bindings);
}

// ---- reports ----

void take_fingerprint(const Field& model, EarlierResult& result) {
  if (!model.has("fingerprint")) return;
  const std::string& text = model["fingerprint"].text();
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (text.size() != 16 || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
    model["fingerprint"].refuse("is not a number of 16 hexadecimal digits");
  }
  result.fingerprint = number;
}

void take_lists(const Field& support, EarlierResult& result) {
  if (!support.has("contents")) return;
  if (support["contents"].list().size() > kMostSupportLists) {
    support["contents"].refuse("has more support lists than can be read at once");
  }
  result.lists.emplace();
  result.all_of = support.has("all_of") && support["all_of"].flag();
  if (support.has("as")) {
    result.as = parse_graph_view(support["as"].text());
    if (!result.as) support["as"].refuse("is not model or onnxruntime");
  }
  support["contents"].each([&](const Field& text) { result.lists->push_back(text.text()); });
}

// ---- several targets ----

double take_rate(const Field& value) {
  if (value.number() > 0) return value.number();
  value.refuse("is not above 0");
  return 1;
}

// Its lists, by their places among all, are one after the other.
void take_target_lists(const Field& lists, std::size_t count, Target& target) {
  target.first_list = target.end_list = 0;
  lists.each([&](const Field& list) {
    const std::uint64_t at = list.count();
    const bool is_first = target.first_list == target.end_list;
    if (is_first) target.first_list = target.end_list = static_cast<std::size_t>(at);
    if (at != target.end_list || at >= count) list.refuse("is not the next of the lists");
    ++target.end_list;
  });
}

void take_target(const Field& field, std::size_t lists, EarlierResult& result) {
  const bool is_first = result.targets.empty();
  Target& target = result.targets.emplace_back();
  target.name = field["name"].text();
  take_target_lists(field["lists"], lists, target);
  if (field.has("min_acc_module_size")) target.min_acc_size = field["min_acc_module_size"].count();
  if (field.has("keep_acc_subgraphs") && !field["keep_acc_subgraphs"].json().is_null()) {
    target.most_kept = field["keep_acc_subgraphs"].count();
  }
  Machine& machine = is_first ? result.options.machine : result.options.later.emplace_back();
  if (field.has("machine")) take_machine(field["machine"], machine);
  if (field.has("bandwidth")) {
    target.link.bytes_per_second = machine.link_bytes_per_second = take_rate(field["bandwidth"]);
  }
  TargetMeasures measures;
  measures.name = target.name;
  const Measures& all = result.measures;
  measures.nodes = {field["nodes"].number(), all.nodes.total};
  const bool is_known = !field["flops"].json().is_null();
  measures.flops = {is_known ? field["flops"].number() : 0, all.flops.total};
  measures.parameter_bytes = {field["parameter_bytes"].number(), all.parameter_bytes.total};
  measures.parts = field["partitions"].count();
  result.measures.targets.push_back(std::move(measures));
}

void take_direct_links(const Field& links, EarlierResult& result) {
  const auto index_of = [&](const Field& name) {
    const auto& targets = result.targets;
    const auto found =
        std::ranges::find_if(targets, [&](const auto& one) { return one.name == name.text(); });
    if (found == targets.end()) name.refuse("is none of the targets");
    return static_cast<DeviceIndex>(found - targets.begin());
  };
  links.each([&](const Field& link) {
    const bool is_shared = link["bandwidth"].json().is_null();
    result.options.links.push_back({index_of(link["from"]), index_of(link["to"]),
                                    is_shared ? 0 : 1e6 / take_rate(link["bandwidth"])});
  });
}

// The last is the CPU.
void take_targets(const Field& report, EarlierResult& result) {
  const Field targets = report["targets"];
  const Field support = report["support"];
  const std::size_t lists = support[support.has("contents") ? "contents" : "files"].list().size();
  const std::size_t count = targets.list().size();
  if (count < 3 || count > kMostTargets + 1) {
    return targets.refuse("are not several and the CPU");
  }
  std::size_t at = 0;
  targets.each([&](const Field& target) {
    if (++at < count) take_target(target, lists, result);
  });
  if (report.has("direct_links")) take_direct_links(report["direct_links"], result);
}

EarlierResult take_report(const Field& report) {
  if (report["format"].text() != "cleave.report")
    report["format"].refuse("is not a \"cleave.report\"");
  require_version(report, "cleave.report");
  EarlierResult result;
  replay_settings(report["settings"], result);
  const Field coverage = report["coverage"];
  Measures& measures = result.measures;
  measures.nodes = take_coverage(coverage["nodes"]);
  measures.flops = take_flops(coverage["flops"]);
  measures.parameter_bytes = take_coverage(coverage["parameter_bytes"]);
  if (!report["link"].json().is_null()) {
    measures.qps = report["link"]["shared_qps"].number();
    result.link_bandwidth = report["link"]["bandwidth"].number();
  }
  if (report.has("machine")) take_machine(report["machine"], result.options.machine);
  if (report.has("latency")) {
    measures.latency_us = take_amount(report["latency"]["total_us"]);
    measures.all_cpu_us = take_amount(report["latency"]["all_cpu_us"]);
  }
  if (report.has("targets")) {
    take_targets(report, result);
    report["targets"].each([&](const Field& target) {
      if (!target.has("qps")) return;  // the CPU
      const auto qps = take_amount(target["qps"]);
      if (qps) measures.qps = std::min(*qps, measures.qps.value_or(*qps));
    });
  }
  result.places = take_places(report, result.targets, measures);
  take_fingerprint(report["model"], result);
  take_lists(report["support"], result);
  return result;
}

Baseline take_baseline(const Field& document) {
  Baseline baseline;
  const std::string& format = document["format"].text();
  if (format == "cleave.report") {
    baseline.is_single = true;
    baseline.results.emplace(std::pair<std::string, std::string>(), take_report(document));
    return baseline;
  }
  if (format != "cleave.baseline") {
    document["format"].refuse("is " + escaped_in_quotes(format) +
                              ": a baseline is \"cleave.baseline\" or \"cleave.report\"");
  }
  require_version(document, "cleave.baseline");
  const Field reports = document["reports"];
  for (const auto& [model, lists] : reports.object().items()) {
    const Field of_model = reports.at(model);
    for (const auto& [list, report] : of_model.object().items()) {
      baseline.results.emplace(std::pair(plain_path(model), plain_path(list)),
                               take_report(of_model.at(list)));
    }
  }
  return baseline;
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: the message" -> the message
std::string without_prefix(std::string_view what) {
  const std::size_t at = what.find("column ");
  const std::size_t colon = at == what.npos ? what.npos : what.find(": ", at);
  return std::string(colon == what.npos ? what : what.substr(colon + 2));
}

// Where the value is that the path leads to, or what is left of it where the rest is not there.
std::uint64_t place_of(std::string_view bytes, const JsonPath& path) {
  const PaddedJson padded(bytes);
  JsonCursor cursor(padded.text());
  cursor.type();
  for (const std::string& key : path) {
    const bool is_list = cursor.type() == JsonType::list;
    cursor.enter();
    if (is_list) {
      for (std::size_t left = std::stoul(key); cursor.next_item() && left > 0; --left)
        cursor.skip();
      continue;
    }
    for (auto found = cursor.next_key(); found && unescaped(*found) != key;
         found = cursor.next_key()) {
      cursor.skip();
    }
  }
  return cursor.offset();
}

}  // namespace

NamedPlaces EarlierResult::places_as(const TargetPlaces& others) const {
  NamedPlaces named = places;
  for (auto& [node, place] : named) {
    if (!is_on_acc(place)) continue;
    const auto own = static_cast<std::size_t>(place) - static_cast<std::size_t>(Place::acc);
    place = others.empty() ? Place::acc : others[own];
  }
  return named;
}

const EarlierResult* Baseline::find(const std::string& model, const std::string& list) const {
  if (is_single) return &results.begin()->second;
  const auto found = results.find({plain_path(model), plain_path(list)});
  return found == results.end() ? nullptr : &found->second;
}

Loaded<Baseline> parse_baseline(const std::string& path, std::string_view bytes) {
  const auto refuse = [&](Diagnostic fault) {
    fault.notes.emplace_back("cleave check -o FILE writes a new one");
    return Diagnostics{std::move(fault)};
  };
  if (is_gzipped(bytes)) {
    const auto text = ungzipped(bytes, kMostSideBytes);
    if (text && !is_gzipped(*text)) return parse_baseline(path, *text);
    return refuse(diagnostic_of(path, "the compressed baseline is damaged, or has more than " +
                                          bytes_text(kMostSideBytes)));
  }
  try {
    const Json json = Json::parse(bytes);
    FirstFault fault;
    Baseline baseline = take_baseline(Field(json, {}, fault));
    if (!fault.text.empty()) {
      return refuse(diagnostic_at(path, bytes, place_of(bytes, fault.at), fault.text));
    }
    baseline.path = path;
    return baseline;
  } catch (const Json::parse_error& error) {
    return refuse(diagnostic_at(path, bytes, error.byte == 0 ? 0 : error.byte - 1,
                                "the baseline is not JSON: " + without_prefix(error.what())));
  } catch (const Json::out_of_range& error) {  // "[...] number overflow parsing '1e999'"
    const std::string_view what = error.what();
    const std::string_view number = what.substr(std::min(what.find('\''), what.size()));
    const std::size_t at =
        bytes.find(number.substr(1, std::max<std::size_t>(number.size(), 2) - 2));
    return refuse(
        diagnostic_at(path, bytes, std::min(at, bytes.size()),
                      "the baseline has a number that is too large: " + std::string(number)));
  }
}

Loaded<Baseline> read_baseline_file(const std::string& path) {
  const auto source = open_side_file(path);
  if (source) return parse_baseline(source->path(), source->bytes());
  Diagnostics faults = source.error();
  faults.front().notes.emplace_back("cleave check -o FILE writes a new one");
  return faults;
}

std::string baseline_bytes(const std::string& path, const std::vector<BaselineItem>& items) {
  std::string text = baseline_json(items);
  return path.ends_with(".gz") ? gzipped(text) : text;
}

std::string baseline_json(const std::vector<BaselineItem>& items) {
  std::vector<std::pair<std::string_view, std::vector<const BaselineItem*>>> models;
  std::map<std::string_view, std::size_t> places;
  for (const BaselineItem& item : items) {
    const auto [place, is_new] = places.try_emplace(item.model, models.size());
    if (is_new) models.push_back({item.model, {}});
    models[place->second].second.push_back(&item);
  }
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.baseline");
  json.number("version", 1);
  json.begin_object("reports");
  for (const auto& [model, own] : models) {
    json.key(model);
    json.begin_object();
    for (const BaselineItem* const item : own) {
      json.key(item->list);
      json.document(item->report);
    }
    json.end_object();
  }
  json.end_object();
  json.end_object();
  return std::move(json).finish();
}

// ---- check ----
//
// Makes a check's data from a report: gates, what moved since the baseline and why, then the nodes
// on the CPU with the rules to blame.

namespace {

class CheckMaker {
 public:
  CheckMaker(const Report& report, const CheckRequest& request, const EarlierResult* before)
      : report_(report),
        graph_(report.graph),
        partition_(report.split.partition),
        request_(request),
        before_(before) {}

  CheckRun make() {
    run_.list_place = place_of_list(report_);
    run_.state = state_text(report_.graph);
    if (const std::string kept = kept_state_text(report_); !kept.empty()) run_.state += ", " + kept;
    run_.now = measures_of(report_);
    if (!open_inputs(graph_).empty()) {
      // No sizes are sought: a fleet takes no longer for them.
      run_.open_sizes = dim_options(graph_, [](ValueId, std::size_t) { return std::nullopt; });
    }
    run_.opsets = opsets_text(graph_);
    run_.unmeasured = unmeasured_nodes(graph_, report_.split, report_.lists, report_.facts);
    if (before_ != nullptr) compare_with_baseline();
    hold_against_limits();
    hold_against_requirements();
    list_cpu_nodes();
    return std::move(run_);
  }

 private:
  bool on_cpu(NodeId node) const { return !partition_.is_acc(partition_.part_of[node]); }

  // ---- the baseline ----

  // What is not the same for all targets, of those that the baseline has.
  void take_targets(Origin& origin) const {
    origin.targets = before_->targets;
    origin.places = compared_.before;
    std::vector<Machine>& later = origin.options.later;
    const std::vector<Machine>& later_now = report_.options.later;
    for (std::size_t i = 0; i < std::min(later.size(), later_now.size()); ++i) {
      later[i].cpu.calibrated = later_now[i].cpu.calibrated;
      later[i].acc.calibrated = later_now[i].acc.calibrated;
    }
  }

  Origin origin(const LoadedModel* earlier) const {
    Origin origin{.options = before_->options};
    // Settings that the baseline does not state are taken from the present run.
    origin.link = report_.preview.link;
    if (before_->link_bandwidth) origin.link.bytes_per_second = *before_->link_bandwidth;
    origin.options.host_flops = report_.options.host_flops;
    origin.options.host_bandwidth = report_.options.host_bandwidth;
    Machine& machine = origin.options.machine;
    machine.cpu.calibrated = report_.options.machine.cpu.calibrated;
    machine.acc.calibrated = report_.options.machine.acc.calibrated;
    take_targets(origin);
    if (earlier != nullptr) origin.graph = &earlier->graph;
    if (before_->fingerprint) {
      const Graph& graph = earlier != nullptr ? earlier->graph : graph_;
      origin.is_same_model = *before_->fingerprint == fingerprint(graph);
    }
    if (!before_->lists) return origin;
    origin.are_same_lists = std::equal(
        before_->lists->begin(), before_->lists->end(), report_.lists.begin(), report_.lists.end(),
        [](const std::string& text, const SupportList& list) { return text == list.text; });
    origin.are_same_lists = origin.are_same_lists && before_->all_of == are_all_of(report_.lists) &&
                            before_->as == given_view(report_.lists);
    std::vector<SupportList> lists;
    for (const std::string& text : *before_->lists) {
      auto list = parse_support("baseline", text);
      if (!list) return origin;  // from a version that could read more
      ListRole& role = list->list.role;
      if (before_->all_of && role == ListRole::any_of) role = ListRole::all_of;
      if (before_->as) list->list.view = *before_->as;
      lists.push_back(std::move(list->list));
    }
    origin.lists = std::move(lists);
    return origin;
  }

  void compare_with_baseline() {
    run_.before = before_->measures;
    compared_ = compare_targets(target_names(before_->targets), target_names(report_.targets));
    run_.targets = compared_.names;
    std::optional<LoadedModel> earlier;  // the model with the baseline's shapes
    const auto bindings = changed_bindings(before_->bindings, report_.model.bindings);
    if (!bindings.empty()) earlier = read_again(report_.model, before_->bindings);
    const std::vector<Step> trail =
        make_trail({graph_, report_.facts, report_.lists, report_.options, partition_,
                    report_.preview.link, times_of(report_), report_.targets, compared_.now},
                   origin(earlier ? &*earlier : nullptr));
    const Comparison comparison = compare(graph_, before_->places_as(compared_.before), trail);
    run_.removed = comparison.removed.size();
    for (const Move& move : comparison.moves) {
      if (is_on_acc(move.to) && move.from == Place::absent)
        continue;  // new on the accelerator: neither loss nor gain
      auto& moves = move.to == Place::cpu     ? run_.regressions
                    : move.from == Place::cpu ? run_.improvements
                                              : run_.moved;
      moves.push_back(checked_move(report_, move, compared_));
    }
    run_.settings = changed_settings(before_->options, report_.options, report_.targets.size() > 1);
    const std::vector<std::string> numbers =
        changed_targets(before_->targets, before_->options, report_);
    run_.settings.insert(run_.settings.end(), numbers.begin(), numbers.end());
    note_link();
    note_times();
    run_.settings.insert(run_.settings.end(), bindings.begin(), bindings.end());
    for (const std::string& name : before_->other_settings) {
      run_.settings.push_back(escaped(name) + ": not known to this version");
    }
  }

  void note_link() {
    if (!before_->link_bandwidth) return;
    std::string link = changed_link(before_->targets, *before_->link_bandwidth, report_);
    if (!link.empty()) run_.settings.push_back(std::move(link));
  }

  // The baseline has no times of nodes, but their sum.
  void note_times() {
    std::string times = changed_times(before_->measures.all_cpu_us, run_.now.all_cpu_us);
    if (!times.empty()) run_.settings.push_back(std::move(times));
  }

  // ---- gates ----

  void hold_against_limits() {
    const std::vector<ValueId> unknown = values_of_unknown_shape(graph_);
    const std::vector<Gate> gates =
        evaluate_gates(request_.limits, {.now = run_.now,
                                         .unknown_shapes = unknown.size(),
                                         .unchecked = report_.split.support.unchecked.size(),
                                         .before = run_.before,
                                         .new_cpu_nodes = run_.regressions.size()});
    for (const Gate& gate : gates) run_.gates.push_back({gate, detail_of(gate, unknown)});
  }

  static bool is_of_time(GateKind kind) {
    return kind == GateKind::max_latency || kind == GateKind::faster_than_cpu ||
           kind == GateKind::latency_regression;
  }

  std::string detail_of(const Gate& gate, const std::vector<ValueId>& unknown_shapes) const {
    if (gate.passed()) return {};
    if (gate.kind == GateKind::no_unknown_shapes) return shapes_text(unknown_shapes);
    if (gate.verdict == GateVerdict::not_known) {
      if (is_of_time(gate.kind)) {
        if (gate.actual && report_.time != nullptr) {
          return "the faster one is not known: " + unmatched_time_text(*report_.time);
        }
        return report_.time == nullptr ? std::string() : missing_number_text(graph_, *report_.time);
      }
      if (gate.kind == GateKind::min_qps && !run_.now.has_link) {
        return "the list says that its device has no link of its own: --pcie-bw states one";
      }
      const std::string dims = size_options_text(report_.model, graph_);
      const std::string mend = dims.empty() ? "" : "; give " + dims;
      if (gate.kind == GateKind::min_flops_coverage) {
        return (run_.now.flops.total > 0
                    ? "the FLOPs of " + counted(run_.now.flops.unknown, "node") +
                          (run_.now.flops.inside > 0
                               ? ", and of " + count_text(run_.now.flops.inside) + " in bodies,"
                               : "") +
                          " are not known, more than are"
                    : "no node's FLOPs are known") +
               mend;
      }
      if (gate.kind == GateKind::flops_coverage_regression) {
        return "FLOPs that the baseline knows are not known now" + mend;
      }
      return "the sizes of some tensors that cross the link are not known" +
             (dims.empty() ? ": see cleave preview" : mend);
    }
    if (gate.kind == GateKind::max_new_cpu_nodes) return names_text(run_.regressions);
    const bool is_of_coverage =
        gate.kind == GateKind::min_node_coverage || gate.kind == GateKind::min_flops_coverage ||
        gate.kind == GateKind::min_parameter_coverage || gate.kind == GateKind::max_acc_subgraphs;
    if (is_of_coverage && !gate.subject.empty()) return causes_of_target(gate.subject);
    if (is_of_coverage) return causes_text(reason_context(report_), report_.split.reasons);
    if (gate.kind != GateKind::max_cpu_nodes) return {};
    std::vector<NodeId> nodes;
    for (const NodeId node : graph_.nodes()) {
      if (on_cpu(node)) nodes.push_back(node);
    }
    return names_text(nodes);
  }

  // `12 nodes: the list does not have op "Foo" (conv1, conv2 and 10 more); ...`: the most frequent causes.
  std::string causes_text(const ReasonContext& context, const PerNode<Reason>& reasons) const {
    const std::vector<Cause> causes = group_by_cause(context, reasons);
    constexpr std::size_t kMostCauses = 3;
    constexpr std::size_t kColumns = 60;
    std::string text;
    CappedList list(kMostCauses);
    for (const Cause& cause : causes) {
      if (!list.shows_next()) continue;
      const auto name = [&](NodeId node) { return escaped(name_of(node)); };
      text += (text.empty() ? "" : "; ") + counted(cause.nodes.size(), "node") + ": " + cause.text +
              " (" + some_of(cause.nodes, kColumns, name) + ")";
    }
    return text + list.rest("; and # more cause", "; and # more causes");
  }

  std::string causes_of_target(const std::string& name) const {
    for (std::size_t i = 0; i < report_.targets.size(); ++i) {
      if (report_.targets[i].name != name) continue;
      const auto target = id_at<TargetId>(i);
      return causes_text(reason_context(report_, target), report_.split.targets[i].reasons);
    }
    return {};
  }

  std::string shapes_text(const std::vector<ValueId>& values) const {
    const auto name = [&](ValueId value) {
      return escaped(graph_.value(value).name) + " " + type_text(graph_, value);
    };
    const std::string mend = size_options_text(report_.model, graph_);
    return some_of(values, kNamesColumns, name) + (mend.empty() ? "" : "; give " + mend);
  }

  static std::string name_of(const CheckedMove& move) { return move.node.name; }
  std::string name_of(NodeId node) const { return std::string(graph_.node(node).name); }

  template <class Items>
  std::string names_text(const Items& items) const {
    return some_of(items, kNamesColumns, [&](const auto& item) { return escaped(name_of(item)); });
  }

  void hold_against_requirements() {
    const RequiredNodes required(graph_);
    for (const std::string& pattern : request_.require) {
      const TargetId target = required_target(pattern);
      const bool is_of_one = target != kNone<TargetId>;
      const std::vector<NodeId> nodes =
          required.of(is_of_one ? pattern.substr(pattern.find(':') + 1) : pattern);
      std::vector<NodeId> refused;
      std::ranges::copy_if(nodes, std::back_inserter(refused), [&](NodeId node) {
        return is_of_one ? partition_.target(partition_.part_of[node]) != target : on_cpu(node);
      });
      for (const NodeId node : refused) required_.insert(index(node));
      run_.gates.push_back({require_gate(pattern, nodes.size(), refused.size()),
                            refused.empty() ? std::string() : names_text(refused)});
    }
  }

  // The target of "npu:Conv"; kNone where the text names none before a colon.
  TargetId required_target(const std::string& pattern) const {
    for (std::size_t i = 0; i < report_.targets.size(); ++i) {
      if (pattern.starts_with(report_.targets[i].name + ":")) return id_at<TargetId>(i);
    }
    return kNone<TargetId>;
  }

  // ---- nodes on the CPU ----

  void list_cpu_nodes() {
    const std::unordered_set<std::string_view> breaking = new_where_not_allowed();
    CappedList list(kMostCpuNodes);
    const std::vector<TargetId> wanting = targets_of_failed_gates();
    std::size_t rows = 0;
    for (const bool first : {true, false}) {
      for (const NodeId node : graph_.nodes()) {
        const bool breaks =
            breaking.count(graph_.node(node).name) != 0 || required_.count(index(node)) != 0;
        if (breaks != first) continue;
        for (const TargetId target : rows_of(node, wanting)) {
          ++rows;
          if (!list.shows_next()) continue;
          run_.cpu_nodes.push_back(checked_node(report_, node, target));
          run_.cpu_nodes.back().breaks_gate = breaks;
        }
      }
    }
    run_.cpu_nodes_left_out = rows - run_.cpu_nodes.size();
  }

  // Targets that must take more of the model than they do.
  std::vector<TargetId> targets_of_failed_gates() const {
    std::vector<TargetId> targets;
    for (std::size_t i = 0; i < report_.targets.size(); ++i) {
      const bool fails = std::ranges::any_of(run_.gates, [&](const CheckedGate& checked) {
        return checked.gate.kind != GateKind::require && !checked.gate.passed() &&
               checked.gate.subject == report_.targets[i].name;
      });
      if (fails) targets.push_back(id_at<TargetId>(i));
    }
    return targets;
  }

  // The targets whose reasons the node is listed with; kNone: the reason that it is on the CPU.
  std::vector<TargetId> rows_of(NodeId node, const std::vector<TargetId>& wanting) const {
    std::vector<TargetId> rows;
    for (std::size_t i = 0; i < report_.targets.size(); ++i) {
      const auto target = id_at<TargetId>(i);
      if (report_.split.targets[i].reasons[node].code == ReasonCode::none) continue;
      const bool is_wanted = contains(wanting, target);
      const bool is_required = required_.count(index(node)) != 0;
      if (on_cpu(node) || is_wanted || is_required) rows.push_back(target);
    }
    if (rows.empty() && on_cpu(node)) rows.push_back(kNone<TargetId>);
    return rows;
  }

  std::unordered_set<std::string_view> new_where_not_allowed() const {
    std::unordered_set<std::string_view> nodes;
    const bool are_too_many = std::ranges::any_of(run_.gates, [](const CheckedGate& checked) {
      return checked.gate.kind == GateKind::max_new_cpu_nodes && !checked.gate.passed();
    });
    if (!are_too_many) return nodes;
    for (const CheckedMove& move : run_.regressions) nodes.insert(move.node.name);
    return nodes;
  }

  static constexpr std::size_t kNamesColumns = 160;

  const Report& report_;
  const Graph& graph_;
  const Partition& partition_;
  const CheckRequest& request_;
  const EarlierResult* before_;
  std::unordered_set<std::uint32_t> required_;  // on the CPU, though a `require` asks for them
  ComparedTargets compared_;
  CheckRun run_;
};

}  // namespace

bool CheckRun::passed() const {
  return std::ranges::all_of(gates,
                             [](const CheckedGate& checked) { return checked.gate.passed(); });
}

bool Check::passed() const {
  return errors.empty() &&
         std::ranges::all_of(runs, [](const CheckRun& run) { return run.passed(); });
}

void fail_vain_requirements(Check& check) {
  std::set<std::string> met;
  const auto each = [&](const auto& visit) {
    for (CheckRun& run : check.runs) {
      for (CheckedGate& checked : run.gates) {
        if (checked.gate.kind == GateKind::require) visit(checked);
      }
    }
  };
  each([&](const CheckedGate& checked) {
    if (checked.gate.verdict != GateVerdict::not_applicable) met.insert(checked.gate.subject);
  });
  each([&](CheckedGate& checked) {
    if (met.count(checked.gate.subject) != 0) return;
    checked.gate.verdict = GateVerdict::not_known;
    checked.detail = "no model has a node or op of that name";
  });
}

CheckRun check_report(const Report& report, const CheckRequest& request,
                      const EarlierResult* before) {
  return CheckMaker(report, request, before).make();
}

}  // namespace cleave
